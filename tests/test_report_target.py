"""Where a page goes: targets that cannot be written, pipes, links, and a disk that is full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

import protonlab


def write(path: Path, text: str = "") -> Path:
    nbformat.write(new_notebook(cells=[new_markdown_cell(text)]), path)
    return path


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            "missing/a.html",
            r"cannot write the page .*/missing/a\.html: no folder .*/missing; make it",
        ),
        ("folder", r"cannot write the page .*/folder: it is a folder; name a file in it$"),
        ("folder/../a.ipynb", r"a\.ipynb is the notebook itself; name another output$"),
    ],
)
def test_target_that_cannot_be_written_is_said_so(tmp_path: Path, output: str, says: str) -> None:
    notebook = write(tmp_path / "a.ipynb")
    before = notebook.read_bytes()
    (tmp_path / "folder").mkdir()
    with pytest.raises(protonlab.ProtonLabError, match=says):
        protonlab.export_report(notebook, tmp_path / output)
    assert notebook.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "folder"]


def test_page_goes_into_a_pipe_and_through_a_link(tmp_path: Path) -> None:
    notebook = write(tmp_path / "a.ipynb")
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(
        target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True
    )
    reader.start()
    protonlab.export_report(notebook, tmp_path / "pipe")
    reader.join(120)
    assert read
    assert read[0].startswith("<!DOCTYPE html>")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link.html").symlink_to("missing/a.html")
    with pytest.raises(protonlab.ProtonLabError, match=r"no folder .*/missing; make it"):
        protonlab.export_report(notebook, tmp_path / "link.html")
    (tmp_path / "missing").mkdir()
    protonlab.export_report(notebook, tmp_path / "link.html")
    assert (tmp_path / "missing" / "a.html").is_file()


def test_old_page_survives_a_full_disk(tmp_path: Path) -> None:
    notebook = write(tmp_path / "a.ipynb", "new " * 1000)
    (tmp_path / "a.html").write_text("old")
    # A limit on the size of files fails a write half-way, as a full disk does.
    program = f"""
import resource, signal, protonlab
from protonlab import report
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    protonlab.export_report({str(notebook)!r})
except protonlab.ProtonLabError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True
    )
    told = f"cannot write the page {tmp_path / 'a.html'}: File too large; an older one is as it was"
    assert result.stdout == f"{told}\n"
    assert (tmp_path / "a.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.ipynb"]


def test_folder_that_is_read_only_is_said_before_the_run(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("protonlab")), "report", "a.ipynb", "--execute"]
    if os.geteuid() == 0:  # root may write everywhere, unless it gives that up
        drop = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", *command]
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up with")
    write(tmp_path / "a.ipynb", "new")
    (tmp_path / "a.html").write_text("old")
    tmp_path.chmod(0o500)
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    tmp_path.chmod(0o700)
    assert result.returncode == 1
    assert "the folder . is not yours to write to; name another page with -o" in result.stderr
    assert (tmp_path / "a.html").read_text() == "old"
