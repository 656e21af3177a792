"""The command line: real commands, in a folder of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import protonlab

COMMAND = Path(sys.executable).with_name("protonlab")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *arguments],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"protonlab {protonlab.__version__}\n"


@pytest.mark.parametrize("command", [(), ("convert",), ("demo",), ("doctor",)], ids=str)
def test_help_fits_a_terminal(tmp_path: Path, command: tuple[str, ...]) -> None:
    result = run(tmp_path, *command, "--help")
    assert result.returncode == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert run(tmp_path, *command, "-h").stdout == result.stdout


def test_wrong_command_exits_with_2(tmp_path: Path) -> None:
    result = run(tmp_path, "dmeo")
    assert result.returncode == 2
    assert "No such command 'dmeo'" in result.stderr


def test_expected_error_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    result = run(tmp_path, "demo", "--output", "missing/page.html")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "Error: cannot write the page missing/page.html: no folder missing\n"


def test_doctor_says_whether_recording_works_by_its_exit_code(tmp_path: Path) -> None:
    result = run(tmp_path, "doctor")
    assert (result.returncode, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert re.search(r"^ok +recording +a session started, recorded", result.stdout, re.MULTILINE)
    result = run(tmp_path, "doctor", TRITON_PROTON_DISABLE="1")
    assert (result.returncode, result.stderr) == (1, "")
    assert re.search(r"^missing +recording +profiling is switched", result.stdout, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_demo_prints_the_kernels_and_writes_one_page(tmp_path: Path) -> None:
    result = run(tmp_path, "demo", "-o", "page.html")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    table, backend, page = result.stdout.rsplit("\n", 3)[:3]
    rows = re.findall(r"^(_\w+ \[.+?\]) +\S", table, re.MULTILINE)
    assert len(rows) == 2
    assert all(row.startswith("_matmul [M=") for row in rows)
    assert "1 kernel filtered out" in table
    assert page == f"Page:   {tmp_path / 'page.html'}"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    if protonlab.device() == "cpu":
        assert backend == "Ran on: interpreter, CPU"
        assert set(rows) == {"_matmul [M=128, N=1024, K=256]", "_matmul [M=128, N=256, K=1024]"}


def test_demo_whose_notebook_fails_says_where_to_look(tmp_path: Path) -> None:
    # A torch that cannot be imported fails the notebook's second cell.
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')")
    result = run(tmp_path, "demo", PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert result.returncode == 1
    assert re.search(r"a cell raised ImportError: no torch today; the page shows it", result.stderr)
    assert "Traceback" not in result.stderr
    assert "no torch today" in (tmp_path / "protonlab-demo.html").read_text()


PROFILES = Path(__file__).parent / "profiles"


def test_convert_writes_what_the_name_says(tmp_path: Path) -> None:
    source = str(PROFILES / "tree_scopes_3.9.0.hatchet")
    result = run(tmp_path, "convert", source, "p.folded")
    assert (result.returncode, result.stderr) == (0, "")
    size = (tmp_path / "p.folded").stat().st_size
    assert result.stdout == f"p.folded: {size:,} bytes\n"
    times = [int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "p.folded").open()]
    profile = protonlab.load(source)
    assert isinstance(profile, protonlab.Profile)
    assert sum(times) == profile.inclusive["time_ns"].iloc[0]
    assert run(tmp_path, "convert", source, "p.hatchet.gz").returncode == 0
    again = protonlab.load(tmp_path / "p.hatchet.gz")
    assert isinstance(again, protonlab.Profile)
    assert again.frames.equals(profile.frames)


def test_convert_lists_the_formats_line_by_line(tmp_path: Path) -> None:
    lines = [line.split()[0] for line in run(tmp_path, "convert", "-h").stdout.splitlines() if line]
    expected = [".hatchet", ".parquet", ".speedscope.json", ".folded", ".csv", ".chrome_trace"]
    assert [line for line in lines if line.startswith(".")] == expected


def test_convert_writes_traces_too(tmp_path: Path) -> None:
    source = str(PROFILES / "gpt_trace_3.9.0.chrome_trace.gz")
    assert run(tmp_path, "convert", source, "t.json").returncode == 0
    assert isinstance(protonlab.load(tmp_path / "t.json"), protonlab.Trace)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("tree_scopes_3.9.0.hatchet", "p.json", r"p\.json: the name of the file says how to save"),
        ("tree_scopes_3.9.0.hatchet", "nowhere/p.csv", r"^Error: nowhere: no such folder$"),
        ("trace_3.9.0.chrome_trace", "t.folded", r"is a trace, not a tree; give the target a na"),
        ("trace_3.9.0.chrome_trace", "t.speedscope.json", r"speedscope\.app open it as it is"),
        ("viewer_values.json", "p.csv", r"a JSON object without traceEvents; expected"),
    ],
)
def test_convert_says_why_it_cannot(source: str, target: str, message: str, tmp_path: Path) -> None:
    result = run(tmp_path, "convert", str(PROFILES / source), target)
    assert (result.returncode, result.stdout) == (1, "")
    assert re.search(message, result.stderr)
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_convert_of_a_file_that_is_not_there_exits_with_2(tmp_path: Path) -> None:
    result = run(tmp_path, "convert", "nowhere.hatchet", "p.csv")
    assert result.returncode == 2
    assert "nowhere.hatchet" in result.stderr
