"""Ctrl-C in the middle of a sweep: what was measured is kept, and what was not is named once."""

from __future__ import annotations

import dataclasses
import functools
import signal
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from sweep_command import CASES, sweep_of_three
from triton.profiler.hooks.hook import HookManager

from protonlab import load
from protonlab.epilogue import EpilogueWeights, _sweep, _sweep_run, sweep_epilogue
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="runs on the interpreter")


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Measure on the interpreter, where a sweep would refuse to; then look what is left behind."""
    monkeypatch.setattr(_sweep, "gpu_problem", lambda: None)
    monkeypatch.setattr(_sweep, "copy_gbyte_s", lambda: 1.0)
    monkeypatch.setattr(
        _sweep_run, "EpilogueWeights", functools.partial(EpilogueWeights, device="cpu")
    )
    yield
    assert not any(HookManager.session_hooks.values())
    assert not HookManager.active_hooks


def interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C in the third launch of a case's first variant, from 1."""
    seen: list[EpilogueCase] = []
    prepared = EpilogueWeights.calls

    def calls(self: EpilogueWeights, case: EpilogueCase, **options: Any) -> Any:
        found = prepared(self, case, **options)
        seen.append(case)
        launches = 0

        def make() -> Mapping[str, Callable[[], torch.Tensor]]:
            made = found.make()

            def pressed() -> torch.Tensor:
                nonlocal launches
                launches += 1
                if len(seen) == number and launches == 3:
                    signal.raise_signal(signal.SIGINT)
                return made["overlap"]()

            return {**made, "overlap": pressed}

        return dataclasses.replace(found, make=make)

    monkeypatch.setattr(EpilogueWeights, "calls", calls)


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


def test_command_says_that_it_was_stopped_and_the_same_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        interrupt_at(2, patched)
        result = sweep_of_three(tmp_path, "--budget=0.1")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "s.json holds 1 of 3 cases; the same command goes on.\n\nInterrupted.\n"
    )
    before = load(tmp_path / "s.json")
    assert isinstance(before, EpilogueSweep)
    assert before.cases == CASES[:1]
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    result = sweep_of_three(tmp_path, "--budget=0.1")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == "s.json is there; only what it lacks is measured."
    assert [line[:6] for line in result.stderr.splitlines()[1:3]] == ["2 of 3", "3 of 3"]
    after = load(tmp_path / "s.json")
    assert isinstance(after, EpilogueSweep)
    assert after.cases == CASES
    assert not after.was_interrupted
    assert [each for each in after.left_out if "interrupted" in each] == []
    (first, *_) = CASES
    assert after.comparison(first).pairs.equals(before.comparison(first).pairs)
    assert after.protocol["took_s"] > before.protocol["took_s"]


def test_interrupted_case_gives_its_weights_back(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: list[weakref.ref[torch.Tensor]] = []
    make = EpilogueWeights.make

    def made(self: EpilogueWeights, kernel: str) -> Iterator[float]:
        yield from make(self, kernel)
        assert self._packed is not None
        weights.append(weakref.ref(self._packed.values))

    monkeypatch.setattr(EpilogueWeights, "make", made)
    interrupt_at(1, monkeypatch)
    assert sweep_epilogue(CASES[:1], budget_s=0.1).was_interrupted
    assert [each() for each in weights] == [None]


def test_command_that_measured_nothing_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_at(1, monkeypatch)
    result = sweep_of_three(tmp_path)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.endswith("\nInterrupted.\n")
    assert list(tmp_path.iterdir()) == []
