"""``protonlab run``: what it refuses, what it passes on, and what it says at the end."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from builders import document, kernel
from click.testing import CliRunner

from protonlab.cli import main
from protonlab.formats import read_profile
from protonlab.model import ProfileInfo
from protonlab.model.manifest import RankManifest, manifest_name
from protonlab.runs import Recorded

STARTED = "2026-11-30T07:30:00+00:00"


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["run", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "Missing argument 'COMMAND...'"),
        ("--steps 20:10 -- true", "steps=20:10 holds no step"),
        ("--steps 10 -- true", "steps=10; give FIRST:END"),
        ("--steps a:b -- true", "for example steps=10:20"),
        ("--include ( -- true", "include is not a regular expression"),
        ("--data graph -- true", "data='graph'; use tree or trace"),
        ("--scope s --data trace -- true", "scopes do not cut a trace"),
        ("--step 1:2 -- python train.py", "No such option"),
        ("--join -- python train.py", "--join without -o: name the folder of the job's other"),
        ("-- nosuchprogram train.py", "nosuchprogram: no such program; give what starts the job"),
        ("-- train.py", "train.py is a script; run it with Python: protonlab run -- python train"),
        ("-o /proc/run -- true", "/proc/run: no run can be written there"),
        ("-o file -- true", "file: no run can be written there"),
        ("-o old -- true", "old holds a run already (1 manifest of ranks); give another folder"),
    ],
)
def test_what_is_wrong_is_said_before_the_job_starts(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / manifest_name(0)).write_text("{}")
    done = run(*shlex.split(words))
    assert done.exit_code == 2
    assert message in " ".join(click.unstyle(done.output).split())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "old"]  # and no folder


@pytest.mark.parametrize(
    ("command", "code"), [("true", 0), ("sh -c 'exit 3'", 3), ("sh -c 'kill -9 $$'", 137)]
)
def test_exit_code_is_the_jobs_and_what_is_no_rank_is_said(
    command: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(command))
    assert done.exit_code == code
    assert "no rank recorded anything. A rank is a Python process" in done.output
    assert (f"ended with exit code {code}\n" in done.output) is (code != 0)
    assert not any(tmp_path.iterdir())  # the folder that nobody wrote to


def test_a_program_that_cannot_be_run_is_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "program"
    program.write_text("no machine's code")
    program.chmod(0o755)
    done = run("-o", "a/b", "--", "./program")
    assert done.exit_code == 2
    assert "./program cannot be run: Exec format error" in done.output
    assert [each.name for each in tmp_path.iterdir()] == ["program"]


def test_only_folders_that_were_made_for_a_run_go_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "empty").mkdir(parents=True)
    for folder in ("a/b/c", "mine/a/b", "mine/empty"):
        assert run("-o", folder, "true").exit_code == 0
    assert [each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*")] == [
        "mine",
        "mine/empty",
    ]
    kept = run("-o", "mine/a/b", "--", "sh", "-c", "touch mine/a/file")
    assert kept.exit_code == 0
    assert sorted(each.name for each in (tmp_path / "mine").rglob("*")) == ["a", "empty", "file"]


def test_words_behind_the_command_are_its_own(tmp_path: Path) -> None:
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]))"
    told = tmp_path / "told"
    words = [sys.executable, "-c", code, str(told), "--steps", "x", "-o", "y", "--", "--include"]
    assert run("-o", str(tmp_path / "r"), *words).exit_code == 0
    assert told.read_text() == repr(["--steps", "x", "-o", "y", "--", "--include"])


def test_trace_without_an_end_is_said_to_grow(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    assert "kept in memory" in run("-o", folder, "--data", "trace", "true").output
    assert (
        "kept in memory"
        not in run("-o", folder, "--data", "trace", "--steps", "1:2", "true").output
    )


def test_other_hosts_join_the_folder(tmp_path: Path) -> None:
    leave(tmp_path, 0, world_size=2, state="failed", error="E: \x1b[2J", files=("p.hatchet",))
    done = run("-o", str(tmp_path), "--join", "true")
    assert done.exit_code == 0
    assert "0 of 2 ranks complete, 1 as far as it came" in done.output
    assert "rank 1 left no manifest" in done.output
    assert "failed: E: " in done.output
    assert "\x1b" not in done.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_reaches_the_job_whose_end_is_waited_for(number: int, tmp_path: Path) -> None:
    job = "import time\ntry: print('ready', flush=True); time.sleep(60)\nfinally: print('tidy')"
    if number == signal.SIGTERM:
        job = f"import signal, sys; signal.signal(15, lambda *_: sys.exit(5))\n{job}"
    entry = "from protonlab.cli import main; main()"
    words = ["run", "-o", str(tmp_path / "run"), "--", sys.executable, "-c", job]
    process = subprocess.Popen(
        [sys.executable, "-c", entry, *words],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(timeout=120) == {signal.SIGINT: 130, signal.SIGTERM: 5}[number]
        assert process.stdout.read() == "tidy\n"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def leave(folder: Path, rank: int, *, again: int = 0, **values: Any) -> None:
    values = {"world_size": 4, "state": "complete", "started": STARTED} | values
    text = json.dumps(RankManifest(rank=rank, **values).to_dict())
    (folder / manifest_name(rank, again)).write_text(text)


def test_end_says_which_ranks_are_missing_and_what_recording_cost(tmp_path: Path) -> None:
    steps = {"steps": 10, "first_step": 10, "step_s": 0.011, "files": ("p.hatchet",)}
    leave(tmp_path, 0, **steps, overhead_s=0.001)
    leave(tmp_path, 1, state="recording")
    leave(tmp_path, 2, state="recording")
    leave(tmp_path, 2, again=1, **steps, state="failed", error="ValueError", overhead_s=0.003)
    leave(tmp_path, 3, again=0, **steps, overhead_s=0.001)
    leave(tmp_path, 3, again=1, state="recording")
    (tmp_path / manifest_name(7)).write_text("{")
    assert Recorded.of(tmp_path).lines == [
        f"{tmp_path}: 2 of 4 ranks complete, 1 as far as it came",
        "  rank 1 did not end recording: killed, or still at work",
        "  rank 2 failed: ValueError",
        "Steps 10 to 19, 11.0 ms each (median)",
        "Recording cost +1.00 ms a step (+10.0 %), against steps without; most in rank 2, +3.00 ms",
        f"Next: protonlab view {tmp_path}",
    ]


def test_end_of_a_run_without_a_step_that_ran_unrecorded(tmp_path: Path) -> None:
    leave(tmp_path, 0, world_size=1, steps=4, first_step=1, step_s=0.011, files=("p.hatchet",))
    assert Recorded.of(tmp_path).lines[1:] == [
        "Steps 1 to 4, 11.0 ms each (median)",
        "What recording cost is not known: fewer than three steps ran without (the first two do "
        "not count); give --steps FIRST:END with FIRST from 6 on",
        f"Next: protonlab view {tmp_path}",
    ]


def test_a_cost_below_nothing_is_said_to_be_less_than_steps_differ(tmp_path: Path) -> None:
    steps = {"steps": 6, "first_step": 4, "step_s": 0.03, "files": ("p.hatchet",)}
    leave(tmp_path, 0, world_size=1, **steps, overhead_s=-0.01)
    assert Recorded.of(tmp_path).lines[2] == (
        "Recording cost -10.0 ms a step (-25.0 %), against steps without: less than steps differ "
        "by themselves"
    )


def test_end_says_why_a_filter_let_nothing_through(tmp_path: Path) -> None:
    info = ProfileInfo(include="atmul", launches={"matmul": (5, 0)})
    profile = replace(read_profile(document(kernel("matmul", 100))), info=info)
    profile.with_hook({}, set(), {"matmul"}).save(tmp_path / "p.hatchet")
    for rank in range(4):
        leave(tmp_path, rank, files=("p.hatchet",), include="atmul")
    lines = Recorded.of(tmp_path).lines
    assert lines[1].startswith("  rank 0: No kernel passed include=atmul. Patterns are anchored")
    assert [line.startswith("Next: protonlab view") for line in lines] == [False, False, True]


def test_failure_is_shown_in_one_line(tmp_path: Path) -> None:
    for rank in range(4):
        leave(tmp_path, rank, state="failed", error="RuntimeError: " + "peer " * 100, files=("p",))
    lines = Recorded.of(tmp_path).lines
    assert lines[0].endswith("0 of 4 ranks complete, 4 as far as they came")
    assert lines[1].startswith("  ranks 0 to 3 failed: RuntimeError: peer peer")
    assert lines[1].endswith("peer [...]")
    assert len(lines[1]) < 160


def test_help_names_an_example_for_torchrun() -> None:
    assert "-- torchrun --nproc-per-node 4 train.py" in run("--help").output
