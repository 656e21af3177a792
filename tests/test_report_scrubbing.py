"""Folders and host names are taken out of a report, and nothing else is."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from cells import code, display_data
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import protonlab
from protonlab.formats import load
from protonlab.page._outputs import outputs_of
from protonlab.report import ReportOptions
from protonlab.report._scrubbing import Scrubber

PROFILES = Path(__file__).parent / "profiles"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open('/home/ann/secret/x.csv')", "open('…/x.csv')"),
        ("File ~/secret/x.py:3, in f()", "File …/x.py:3, in f()"),
        ("/scratch/ann/run/", "…/run/"),
        ("cd /home/ann, then /home/ann/", "cd ~, then ~"),
        ("/home/ann/my%20work/~old/x.csv", "…/x.csv"),
        (r'{"text": "a\n/home/ann/secret/x.py"}', r'{"text": "a\n…/x.py"}'),  # JSON's escape
        ("a=/data/ann/x b", "a=…/x b"),
        (
            "/opt/env/lib/python3.11/site-packages/torch/nn/module.py:7@forward",
            "…/torch/nn/module.py:7@forward",
        ),
        ("/usr/lib/python3.11/asyncio/base.py", "…/asyncio/base.py"),
        ("file:///home/ann/x.html", "file://…/x.html"),
        (r"C:\Users\Ann\secret\x.py", "…/x.py"),
        ("ann@gpu-node-17:~/work$ ls", "user@host:~/work$ ls"),
        ("scp ann@box:/home/ann/x.csv .", "scp user@host:…/x.csv ."),
        ("http://gpu17:8888/lab", "http://host:8888/lab"),
        ("tcp://10.0.3.7:1234", "tcp://host:1234"),
        ("ip-10-0-3-27.ec2.internal is up", "host is up"),
        ("node-4.cluster.local", "host"),
        # IPython's own tracebacks, and a path whose folder and file differ in colour.
        (
            "\x1b[36mFile \x1b[39m\x1b[32m/data/ann/src/mymod.py:2\x1b[39m, in \x1b[36mf\x1b[39m",
            "File …/mymod.py:2, in f",
        ),
        ("\x1b[0;32m/data/ann/\x1b[1mmymod.py\x1b[0m:\x1b[33m2", "…/mymod.py:2"),
        ("\x1b[32m~/secret/x.py\x1b[0m", "…/x.py"),
        ("\x1b[32mann\x1b[0m@\x1b[36mbox\x1b[0m:\x1b[34m~/x\x1b[0m", "user@host:~/x"),
        ("\x1b[32mhttp://gpu17:8888/lab", "http://host:8888/lab"),
        ("\x1b[31mip-10-0-3-27.ec2.internal\x1b[0m", "host"),
        ("\x1b[31mnode-4.cluster.local\x1b[0m", "host"),
        ("\x1b]8;;file://gpu17/data/ann/x.py\x1b\\/data/ann/x.py\x1b]8;;\x1b\\", "…/x.py"),
        (r"print('\x1b[32m/data/ann/x.py')", r"print('\x1b[32m…/x.py')"),
        (r'["\u001b[31mnode-4.cluster.local"]', r'["\u001b[31mhost"]'),
        ("file://gpu17/data/ann/x.py", "file://host…/x.py"),
        ("gcc x.c -I/home/ann/env/include", "gcc x.c -I…/include"),
        # Letters that JSON spells out, in JSON within JSON, too.
        (json.dumps("/home/jörg/Größe/x.py:1@f"), '"…/x.py:1@f"'),
        (json.dumps(json.dumps("/data/名前/secret/x.py")), r'"\"…/x.py\""'),
        (json.dumps("in /home/jörg"), '"in ~"'),
        (r'"/data/ann/x.py\u003cbr>"', r'"…/x.py\u003cbr>"'),
        # Behind an escape of JSON, which stays one.
        (r'"a\nann@box:~/x"', r'"a\nuser@host:~/x"'),
        ("öner@box:~/x, Ann@box:~/x", "user@host:~/x, user@host:~/x"),
        (r'"j\u00f6rg@box:~/x, \u00f6ner@box:~/x"', '"user@host:~/x, user@host:~/x"'),
        (r'"a\nhttp://gpu17:8888/lab"', r'"a\nhttp://host:8888/lab"'),
        (r'"a\nip-10-0-3-27.ec2.internal"', r'"a\nhost"'),
        (r'"a\nnode-4.cluster.local"', r'"a\nhost"'),
    ],
)  # fmt: skip
def test_is_taken_out(text: str, expected: str, tmp_path: Path) -> None:
    scrubber = Scrubber(tmp_path)
    assert scrubber.text(text) == expected
    assert len(scrubber.paths) + len(scrubber.hosts) in (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "time/us, gbyte/s and bytes/n_tokens, time/%",
        "https://github.com/triton-lang/triton/pull/9279",
        "https://docs.example.org/a/b.html",
        "http://localhost:8888/lab http://127.0.0.1:80/x",
        "x = a / b / c; y = a/b/c; z = (m*k)/n/2",
        "<b>bold</b><br/><i>x</i></td></tr>",
        "<img src='data:image/png;base64,/9j/4AAQ/abc/DEF+g=='>",
        "![p](data:image/png;base64,iVBO/ab/cd==)",
        "cuBLAS 12.8.4.1, cuRAND 10.3.9.90, driver 580.159.04",
        "threading.local and asyncio.internal",
        "y = x@w; @triton.jit; train.py:12@forward",
        "include=.*/attention/.* on 2026/11/30",
        "notebooks/02_launch_hook.ipynb ../data/x.csv ./a/b",
        "//  comment // in C",
        r"print('\x1b[32mtime/us')",
    ],
)
def test_is_left_alone(text: str, tmp_path: Path) -> None:
    scrubber = Scrubber(tmp_path)
    assert scrubber.text(text) == text
    assert "this one held none" in scrubber.note


def test_own_host_name_goes_unless_it_is_a_plain_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "gpu-17.lab.example")
    assert Scrubber(tmp_path).text("on gpu-17, not gpu-170; gpu-17.lab.example") == (
        "on host, not gpu-170; host"
    )
    assert Scrubber(tmp_path).text(r'"\x1b[31mgpu-17'[1:] + r"\ngpu-17") == r"\x1b[31mhost\nhost"
    monkeypatch.setattr(socket, "gethostname", lambda: "triton")
    assert Scrubber(tmp_path).text("import triton") == "import triton"


@pytest.mark.parametrize("name", ["my secret work", "O'Neil", "größe (2)", "x[1]"])
def test_folder_with_odd_marks_goes_whole(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert Scrubber(folder).text(f"read {folder}/x.csv") == "read …/x.csv"
    assert Scrubber(folder).text(json.dumps(f"{folder}/x.csv")) == '"…/x.csv"'


PIECES = ["1-", "a", "a1", "/", "a/", "/a/", "~/", "a.", "a1.local", "x:\\\\", "a@", "data:a;b",
          "\r", "é", "\\", "\\n", "\x1b[", "\x1b]8;;", r"\x1b[3", "file://a", r"/\u00e9",
          r"\\u00e9/a"]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_text(piece: str, tmp_path: Path) -> None:
    scrubber = Scrubber(tmp_path)
    start = time.process_time()
    cell = code(new_output("stream", text=scrubber.text(piece * 100_000)))
    list(outputs_of(cell))
    assert time.process_time() - start < 2  # one that grows with its square takes minutes


def test_traceback_through_a_module_of_one_s_own_names_no_folder(tmp_path: Path) -> None:
    """Run for real: IPython colours tracebacks, and the kernel is what sends them."""
    folder = tmp_path / "acme_secret"
    folder.mkdir()
    (folder / "mymod.py").write_text("def helper(x):\n    raise ValueError(x)\n")
    notebook = tmp_path / "a.ipynb"
    source = f"import sys; sys.path.insert(0, {str(folder)!r}); import mymod; mymod.helper(3)"
    nbformat.write(new_notebook(cells=[new_code_cell(source)]), notebook)
    allowed = ReportOptions(allow_errors=True)
    page = protonlab.export_report(notebook, execute=True, options=allowed).read_text()
    assert "\nFile …/mymod.py:2, in helper(x)\n" in page
    assert "acme_secret/" not in page
    assert str(tmp_path) not in page


def test_path_that_a_stream_wrote_in_pieces_goes(tmp_path: Path) -> None:
    streams = [
        new_output("stream", text=text, name=name)
        for text, name in (
            ("wrote /data/ann/acme_se", "stdout"), ("cret/x.csv\n", "stdout"), ("/x", "stderr"),
        )
    ]  # fmt: skip
    notebook = tmp_path / "a.ipynb"
    nbformat.write(new_notebook(cells=[code(*streams)]), notebook)
    page = protonlab.export_report(notebook).read_text()
    assert ">wrote …/x.csv\n/x<" in page


def outputs(profile: Any) -> list[Any]:
    return [
        new_output("stream", text="wrote /home/ann/secret/x.csv\n"),
        new_output(
            "error", ename="OSError", evalue="/home/ann/secret/x", traceback=["/home/ann/secret/x"]
        ),
        display_data(text_html="<table><tr><td>/home/ann/secret/x</table>"),
        new_output("display_data", protonlab.flame(profile)._repr_mimebundle_()),
        new_output("display_data", protonlab.table(profile)._repr_mimebundle_()),
    ]


def test_every_part_of_a_report_is_scrubbed(tmp_path: Path) -> None:
    source = (PROFILES / "gpt_python_context_3.9.0.hatchet").read_text()
    (library,) = set(re.findall(r'"(/home/[^"]*/functional\.py):2935@', source))
    tree = source.replace(library, "/home/ann/secret/train.py")
    profile = load(tree.encode())
    cells = [
        new_markdown_cell("# In /home/ann/secret/work"),
        new_code_cell("open('/home/ann/secret/y')"),
        code(*outputs(profile)),
    ]
    notebook = tmp_path / "a.ipynb"
    nbformat.write(new_notebook(cells=cells), notebook)
    before = notebook.read_bytes()
    allowed = ReportOptions(allow_errors=True)
    page = protonlab.export_report(notebook, options=allowed)
    assert "secret/" not in page.read_text()  # plotly.js may say the word
    assert "Folders and host names were taken out of this report" in page.read_text()
    assert notebook.read_bytes() == before
    (held,) = load(page).values()  # type: ignore[union-attr]
    assert isinstance(profile, protonlab.Profile)
    names = held.frames["name"].astype(str)
    assert "…/train.py:2935@layer_norm" in set(names)
    assert not names.str.contains("/home/|/opt/|/root/|/usr/").any()
    assert held.frames["time_ns"].equals(profile.frames["time_ns"])

    kept = ReportOptions(allow_errors=True, keep_paths=True)
    page = protonlab.export_report(notebook, options=kept)
    assert page.read_text().count("/home/ann/secret/") >= 8
    assert "taken out" not in page.read_text()
    (held,) = load(page).values()  # type: ignore[union-attr]
    pd.testing.assert_frame_equal(held.frames, profile.frames, check_categorical=False)
