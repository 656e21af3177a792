"""Running a notebook for a report: parameters, failures, and what ends it early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from cells import code
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import protonlab
from protonlab.errors import ProtonLabError
from protonlab.report import ReportOptions, read_assignments
from protonlab.report._parameters import inject


def write(path: Path, *cells: Any, **metadata: Any) -> Path:
    nbformat.write(new_notebook(cells=list(cells), metadata=metadata), path)
    return path


def tagged(source: str, *tags: str) -> Any:
    return new_code_cell(source, metadata={"tags": list(tags)})


# ---- parameters


def test_assignments_are_read_as_a_shell_types_them() -> None:
    typed = ("n=64", "x=1e-3", "on=True", "off=false", "none=None", "sizes=[1, 2]", "gpu=H200",
             "text='7'", "empty=", "sum=a=b")  # fmt: skip
    assert read_assignments(typed) == {
        "n": 64, "x": 1e-3, "on": True, "off": False, "none": None, "sizes": [1, 2], "gpu": "H200",
        "text": "7", "empty": "", "sum": "a=b",
    }  # fmt: skip


def injected(*cells: Any, **parameters: Any) -> list[str]:
    notebook = new_notebook(cells=list(cells))
    inject(notebook, parameters)
    return [cell.source for cell in notebook.cells]


def test_parameters_go_behind_the_tagged_cell_and_replace_older_ones() -> None:
    before, defaults, after = (
        new_markdown_cell("a"), tagged("n = 1\nsizes: list = []", "parameters"), code()
    )  # fmt: skip
    wanted = {"n": 2, "sizes": (1,)}
    assert injected(before, defaults, after, **wanted) == [
        "a", defaults.source, "# Parameters\nn = 2\nsizes = (1,)", "1",
    ]  # fmt: skip
    older = tagged("n = 7", "injected-parameters")
    assert injected(defaults, older, after, n=2)[1:] == ["# Parameters\nn = 2", "1"]
    assert injected(after, n=float("inf")) == ["# Parameters\nn = float('inf')", "1"]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"m": 1}, "no parameter m; its cell tagged 'parameters' assigns n, size"),
        ({"n o": 1}, "'n o' is not the name of a variable"),
        ({"class": 1}, "'class' is not the name of a variable"),
        ({"n": object()}, "parameter n is a object; give numbers, text"),
        ({"n": [float("nan")]}, "parameter n is a list"),
    ],
)
def test_bad_parameters_are_said_so(parameters: dict[str, Any], says: str) -> None:
    cell = tagged("%matplotlib inline\nn, size = 1, 2", "parameters")
    with pytest.raises(ProtonLabError, match=says):
        inject(new_notebook(cells=[cell]), parameters)


def test_assignment_without_a_value_is_said_so() -> None:
    with pytest.raises(ProtonLabError, match="-p n: a parameter is NAME=VALUE"):
        read_assignments(("n",))


# ---- one run for what a run must do


def test_run_with_parameters_and_allowed_errors(tmp_path: Path) -> None:
    notebook = write(
        tmp_path / "a.ipynb",
        tagged("n = 1", "parameters"),
        new_code_cell("import os\nprint(n, os.listdir('.'))"),
        new_code_cell("1 / 0"),
        new_code_cell("print('after', In[-1])", outputs=[new_output("stream", text="stale")]),
        kernelspec={"name": "a-kernel-that-is-not-here", "display_name": "x"},
    )
    before = notebook.read_bytes()
    allowed = ReportOptions(allow_errors=True, show_code=False)
    page = protonlab.export_report(notebook, parameters={"n": 64}, options=allowed)
    text = page.read_text()
    assert "64 [&#39;a.ipynb&#39;]" in text  # in its own folder, where nothing else is
    assert "ZeroDivisionError" in text
    assert "after print(&#39;after&#39;, In[-1])" in text
    assert "stale" not in text
    assert '<div class="code">' not in text
    assert notebook.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.ipynb"]


def test_stored_failure_is_a_failure_unless_announced(tmp_path: Path) -> None:
    error = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])
    notebook = write(tmp_path / "a.ipynb", code(error))
    with pytest.raises(ProtonLabError, match=r"a cell raised KeyError: 'x'; the page shows it"):
        protonlab.export_report(notebook)
    assert "KeyError" in (tmp_path / "a.html").read_text()
    announced = new_code_cell("1", outputs=[error], metadata={"tags": ["raises-exception"]})
    protonlab.export_report(write(notebook, announced))


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}},
        {"language_info": {"name": "julia"}},
    ],
    ids=["kernelspec", "language_info"],
)
def test_other_languages_are_shown_but_not_run(tmp_path: Path, metadata: dict[str, Any]) -> None:
    notebook = write(tmp_path / "a.ipynb", new_code_cell("1"), **metadata)
    with pytest.raises(ProtonLabError, match="and protonlab runs Python; run it in"):
        protonlab.export_report(notebook, execute=True)
    assert not (tmp_path / "a.html").exists()
    assert protonlab.export_report(notebook).exists()


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_time_out_is_checked(tmp_path: Path, timeout: float) -> None:
    notebook = write(tmp_path / "a.ipynb")
    with pytest.raises(ProtonLabError, match="give seconds, more than 0"):
        protonlab.export_report(notebook, execute=True, timeout=timeout)


def test_interrupt_ends_the_kernel_and_keeps_the_old_page(tmp_path: Path) -> None:
    started = tmp_path / "started"
    source = f"import os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\n"
    # A cell that does not end by itself, nor by an interrupt of its own kernel.
    source += "while True:\n    try:\n        time.sleep(600)\n    except KeyboardInterrupt:\n"
    source += "        pass"
    notebook = write(tmp_path / "a.ipynb", new_code_cell(source))
    (tmp_path / "a.html").write_text("old")
    command = [str(Path(sys.executable).with_name("protonlab")), "report", "--execute", "a.ipynb"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 180
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    kernel = int(started.read_text())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Interrupted." in err
    assert "Traceback" not in err
    assert out == ""
    with pytest.raises(ProcessLookupError):
        os.kill(kernel, 0)
    assert (tmp_path / "a.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.ipynb", "started"]
    assert notebook.exists()
