"""Ctrl-C in the middle of a sweep: what was measured is kept, and what was not is named once."""

from __future__ import annotations

import contextlib
import errno
import functools
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from triton.profiler.hooks.hook import HookManager

from protonlab import load
from protonlab.cli import main
from protonlab.epilogue import EpilogueWeights, _sweep, epilogue_cases, sweep_epilogue
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="runs on the interpreter")
CASES = epilogue_cases((1, 2, 4), ks=(128,), kernels=("ours",), experts=2, n=128)
SMALL = ("--tokens", "1", "--tokens", "2", "--tokens", "4", "--k", "128", "--n", "128")


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Measure on the interpreter, where a sweep would refuse to; then look what is left behind."""
    monkeypatch.setattr(_sweep, "gpu_problem", lambda: None)
    monkeypatch.setattr(_sweep, "copy_gbyte_s", lambda: 1.0)
    monkeypatch.setattr(_sweep, "EpilogueWeights", functools.partial(EpilogueWeights, device="cpu"))
    yield
    assert not any(HookManager.session_hooks.values())
    assert not HookManager.active_hooks


def interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C in the third launch of a case's first variant, from 1."""
    seen: list[EpilogueCase] = []
    make = EpilogueWeights.calls

    def calls(self: EpilogueWeights, case: EpilogueCase, **options: Any) -> Any:
        made = make(self, case, **options)
        seen.append(case)
        launches = 0
        variant = made.variants["overlap"]

        def pressed() -> torch.Tensor:
            nonlocal launches
            launches += 1
            if len(seen) == number and launches == 3:
                signal.raise_signal(signal.SIGINT)
            return variant()

        made.variants["overlap"] = pressed  # type: ignore[index]
        return made

    monkeypatch.setattr(EpilogueWeights, "calls", calls)


def command(folder: Path, *arguments: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner(catch_exceptions=False).invoke(main, ["sweep", "s.json", *arguments])


def test_what_was_measured_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_at(2, monkeypatch)
    sweep = sweep_epilogue(CASES, budget_s=0.1)
    assert sweep.cases == CASES[:1]
    assert sweep.was_interrupted
    interrupted = [each for each in sweep.left_out if each.endswith(": interrupted.")]
    assert interrupted == [f"{case}: interrupted." for case in CASES[1:]]


def test_what_failed_before_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(case: EpilogueCase, number: int, count: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(EpilogueWeights, "calls", fail)
    sweep = sweep_epilogue(CASES, on_case=pressed)
    assert sweep.left_out == (
        f"{CASES[0]}: RuntimeError: no such luck.",
        *(f"{case}: interrupted." for case in CASES[1:]),
    )
    assert "0 cases, 3 left out" in repr(sweep)


def test_interrupt_before_the_first_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed() -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(_sweep, "copy_gbyte_s", pressed)
    sweep = sweep_epilogue(CASES)
    assert sweep.copy_gbyte_s is None
    assert len(sweep.left_out) == 3


def test_command_keeps_what_is_there_and_says_that_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(3, monkeypatch)
    result = command(tmp_path, *SMALL, "--experts", "2", "--budget", "0.1")
    assert result.exit_code == 130
    assert result.stderr.endswith("s.json holds 2 of 3 cases.\n\nInterrupted.\n")
    kept = load(tmp_path / "s.json")
    assert isinstance(kept, EpilogueSweep)
    assert kept.cases == CASES[:2]
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_numbers_are_told_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "s.json")

    monkeypatch.setattr(EpilogueSweep, "save", full)
    result = command(tmp_path, *SMALL, "--experts", "2", "--budget", "0.1")
    assert result.exit_code == 1
    assert "<EpilogueSweep: 3 cases" in result.stdout
    assert result.stderr.endswith("Error: cannot write s.json: No space left on device\n")


def test_command_that_measured_nothing_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(1, monkeypatch)
    (tmp_path / "s.json").write_text("old")
    result = command(tmp_path, *SMALL, "--experts", "2")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.endswith("\nInterrupted.\n")
    assert (tmp_path / "s.json").read_text() == "old"
