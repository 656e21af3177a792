"""The command line, in a folder of its own: what a shell sees of it, and each command in here."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbformat.v4 import new_code_cell, new_notebook, new_output

import protonlab
from protonlab import recorded
from protonlab.cli import main

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


def call(folder: Path, *arguments: str) -> Result:
    """Run a command in this process, which has imported what it needs."""
    with contextlib.chdir(folder):
        return CliRunner(catch_exceptions=False).invoke(main, arguments, terminal_width=80)


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"protonlab {protonlab.__version__}\n"


def test_an_interpreter_runs_it_by_the_package_s_name(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "protonlab", "nothing"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: python -m protonlab [OPTIONS] COMMAND")


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_fits_a_terminal(command: str | None) -> None:
    arguments = [command] if command else []
    result, short = (
        CliRunner().invoke(main, [*arguments, option], terminal_width=80)
        for option in ("--help", "-h")
    )
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert short.stdout == result.stdout


def test_help_documents_exit_codes_and_completion(tmp_path: Path) -> None:
    text = run(tmp_path, "--help").stdout
    assert "0 all went well, 1 something failed, 2 typed wrongly, 130 Ctrl-C" in text
    command = re.search(r'eval "\$\((\w+)=(\w+) protonlab\)"', text)
    assert command is not None
    script = run(tmp_path, **{command[1]: command[2]}).stdout
    assert "complete -o nosort -F _protonlab_completion protonlab" in script
    offered = run(
        tmp_path, **{command[1]: "bash_complete", "COMP_WORDS": "protonlab re", "COMP_CWORD": "1"}
    )
    assert offered.stdout == "plain,report\n"


def test_wrong_command_exits_with_2(tmp_path: Path) -> None:
    result = run(tmp_path, "dmeo")
    assert result.returncode == 2
    assert "No such command 'dmeo'" in result.stderr


def test_expected_error_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    result = call(tmp_path, "demo", "--output", "missing/page.html")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "Error: cannot write the page missing/page.html: no folder missing; make it, or name "
        "another page\n"
    )


def test_output_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    recorded.graph_exclude().save(tmp_path / "p.hatchet")
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [str(COMMAND), "view", "p.hatchet"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr == "Error: standard output: No space left on device\n"
    plain = run(tmp_path, "view", "p.hatchet", PYTHONIOENCODING="ascii")
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "?? replays" in plain.stdout  # where lines would be drawn


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
    assert re.search(r"cell \[2\] raised ImportError: no torch today; the page", result.stderr)
    assert "Traceback" not in result.stderr
    assert "no torch today" in (tmp_path / "protonlab-demo.html").read_text()


PROFILES = Path(__file__).parent / "profiles"


def test_convert_writes_what_the_name_says(tmp_path: Path) -> None:
    source = str(PROFILES / "tree_scopes_3.9.0.hatchet")
    result = call(tmp_path, "convert", source, "p.folded")
    assert (result.exit_code, result.stderr) == (0, "")
    size = (tmp_path / "p.folded").stat().st_size
    assert result.stdout == f"p.folded: {size:,} bytes\n"
    times = [int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "p.folded").open()]
    profile = protonlab.load(source)
    assert isinstance(profile, protonlab.Profile)
    assert sum(times) == profile.inclusive["time_ns"].iloc[0]
    assert call(tmp_path, "convert", source, "p.hatchet.gz").exit_code == 0
    again = protonlab.load(tmp_path / "p.hatchet.gz")
    assert isinstance(again, protonlab.Profile)
    assert again.frames.equals(profile.frames)


def test_convert_into_a_pipe_tells_no_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.folded")
    reader = os.open(tmp_path / "p.folded", os.O_RDONLY | os.O_NONBLOCK)
    try:
        result = call(tmp_path, "convert", str(PROFILES / "tree_scopes_3.9.0.hatchet"), "p.folded")
        assert (result.exit_code, result.output) == (0, "")
        assert b"ROOT" in os.read(reader, 1 << 16)
    finally:
        os.close(reader)


def test_convert_lists_the_formats_line_by_line(tmp_path: Path) -> None:
    lines = [
        line.split()[0] for line in call(tmp_path, "convert", "-h").stdout.splitlines() if line
    ]
    expected = [".hatchet", ".parquet", ".speedscope.json", ".folded", ".csv", ".chrome_trace"]
    assert [line for line in lines if line.startswith(".")] == expected


def test_convert_writes_traces_too(tmp_path: Path) -> None:
    source = str(PROFILES / "gpt_trace_3.9.0.chrome_trace.gz")
    assert call(tmp_path, "convert", source, "t.json").exit_code == 0
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
    result = call(tmp_path, "convert", str(PROFILES / source), target)
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.search(message, result.stderr)
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_convert_of_a_file_that_is_not_there_exits_with_2(tmp_path: Path) -> None:
    result = call(tmp_path, "convert", "nowhere.hatchet", "p.csv")
    assert result.exit_code == 2
    assert "nowhere.hatchet" in result.stderr


def test_convert_takes_a_profile_out_of_a_report(tmp_path: Path) -> None:
    outputs = [
        new_output("display_data", protonlab.table(profile)._repr_mimebundle_())
        for profile in (recorded.moe_sweep(), recorded.gpt_train())
    ]
    nbformat.write(new_notebook(cells=[new_code_cell(outputs=outputs)]), tmp_path / "a.ipynb")
    page = str(protonlab.export_report(tmp_path / "a.ipynb"))
    target = str(tmp_path / "p.hatchet")
    result = call(tmp_path, "convert", page, target)
    assert result.exit_code == 1
    assert "several profiles; choose with --name: 'moe_sweep', 'gpt_train'" in result.output
    result = call(tmp_path, "convert", page, target, "--name", "gpt")
    assert "--name gpt" in result.output
    assert not Path(target).exists()
    assert call(tmp_path, "convert", page, target, "--name", "gpt_train").exit_code == 0
    assert repr(protonlab.load(target)) == repr(recorded.gpt_train())
    unnamed = call(tmp_path, "diff", page, target)
    assert "several profiles; choose with --name-a: 'moe_sweep', 'gpt_train'" in unnamed.output
    names = ("--name-a", "moe_sweep", "--name-b", "gpt_train")
    both = call(tmp_path, "diff", page, page, *names)
    assert both.exit_code == 0
    assert both.stdout.startswith("time 9.38 ms before, 48.7 ms after")


def test_a_page_of_a_difference_leaves_that_of_the_profile_alone(tmp_path: Path) -> None:
    before, after = (str(PROFILES / f"ddp_rank{rank}_3.9.0.hatchet") for rank in (0, 1))
    call(tmp_path, "view", after, "--flame")
    page = (tmp_path / "ddp_rank1_3.9.0.html").read_text()
    result = call(tmp_path, "diff", before, after, "--flame")
    assert result.stdout == f"Page: {tmp_path / 'ddp_rank0_3.9.0_vs_ddp_rank1_3.9.0.html'}\n"
    assert (tmp_path / "ddp_rank1_3.9.0.html").read_text() == page
    assert len([*tmp_path.iterdir()]) == 2


def test_report_says_what_it_wrote_and_how_it_went(tmp_path: Path) -> None:
    error = new_output("error", ename="KeyError", evalue="'x'", traceback=["KeyError: 'x'"])
    cells = [new_code_cell("secret", outputs=[error])]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    result = call(tmp_path, "report", "a.ipynb")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        result.stderr == "Error: a.ipynb: a cell raised KeyError: 'x'; the page shows it: a.html\n"
    )
    options = ("-o", "b.html", "--allow-errors", "--no-code", "--strip-data", "--title", "<T>")
    result = call(tmp_path, "report", "a.ipynb", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.fullmatch(r"b\.html: \d\d kB\n", result.stdout)
    text = (tmp_path / "b.html").read_text()
    assert "<title>&lt;T&gt;</title>" in text
    assert "secret" not in text


def test_where_nobody_watches_nothing_is_drawn_though_colours_are_forced(tmp_path: Path) -> None:
    # As in the shell cells of a notebook, and in the logs of many CI services.
    cells = [new_code_cell(source) for source in "123"]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    result = run(tmp_path, "report", "a.ipynb", "--execute", FORCE_COLOR="1")
    assert re.fullmatch(r"a\.html: \d\d kB\n", result.stdout)
    assert result.stderr == ""
    saved = tmp_path / "moe.hatchet"
    recorded.moe_sweep().save(saved)
    tree = run(tmp_path, "view", "moe.hatchet", FORCE_COLOR="1")
    assert "\x1b[1;31m" in tree.stdout
    assert "stg3" in tree.stdout  # the end of a long name
    assert "…" not in tree.stdout


def test_report_runs_with_parameters(tmp_path: Path) -> None:
    nbformat.write(new_notebook(cells=[new_code_cell("print(6 * n)")]), tmp_path / "a.ipynb")
    result = call(tmp_path, "report", "a.ipynb", "-p", "n=7")
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: No cell is tagged 'parameters'")
    assert '<pre class="output">42</pre>' in (tmp_path / "a.html").read_text()
    result = call(tmp_path, "report", "a.ipynb", "-p", "n", "--timeout", "0")
    assert result.exit_code == 2  # the time-out comes first


def test_report_of_a_notebook_that_was_not_run_says_so(tmp_path: Path) -> None:
    nbformat.write(new_notebook(cells=[new_code_cell("6 * 7")]), tmp_path / "a.ipynb")
    result = call(tmp_path, "report", "a.ipynb")
    assert result.exit_code == 0
    assert result.stderr == (
        "Note: The notebook holds no output, so neither does the page; --execute runs it first.\n"
    )
    assert call(tmp_path, "report", "a.ipynb", "--execute").stderr == ""
    wrong = call(tmp_path, "report", "a.ipynb", "-p", "n")
    assert wrong.exit_code == 2
    assert "-p n: a parameter is NAME=VALUE" in wrong.stderr


def test_notebooks_are_copied_and_never_overwritten(tmp_path: Path) -> None:
    gallery = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
    (tmp_path / "01_first_profile.ipynb").write_text("mine")
    result = call(tmp_path, "notebooks")
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(tmp_path.iterdir()) == [tmp_path / path.name for path in gallery]
    assert (tmp_path / "01_first_profile.ipynb").read_text() == "mine"
    assert result.stdout.splitlines()[:2] == [
        "01_first_profile.ipynb exists already; left as it is", gallery[1].name,
    ]  # fmt: skip
    for path in gallery[1:]:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    result = call(tmp_path, "notebooks", "new/folder")
    assert result.exit_code == 0
    assert len(list((tmp_path / "new" / "folder").iterdir())) == len(gallery)
    result = call(tmp_path, "notebooks", "01_first_profile.ipynb/x")
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: cannot copy to .*: Not a directory\n", result.stderr)
