"""Which steps a rank records, and how they are told apart: kernels run for real."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import triton.profiler as proton
from training import PHASES, apart, by_step, launch, launches, manifest, train, windowed

from protonlab import RankSession, load, load_run
from protonlab.runs import _recording_steps

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_steps_of_a_with_block_are_told_apart(tmp_path: Path) -> None:
    with RankSession(tmp_path / "run", include="_sc.*") as session:
        train(4)
        launch(5)  # evaluation, which is no step and yet recorded
    told = manifest(tmp_path / "run")
    assert (told.state, told.rank, told.world_size) == ("complete", 0, 1)
    assert (told.steps, told.first_step, told.include) == (3, 1, "_sc.*")
    assert told.overhead_s is None  # no step ran without
    assert told.step_s is not None
    run = load_run(tmp_path / "run")
    assert run.missing == run.warnings == ()
    profile = run.profiles[0]
    assert launches(profile) == 1 + 2 + 3 + 4 + 5 == launches(session.profile)
    assert by_step(profile) == ([2, 3, 4] if PHASES else [])


@pytest.mark.parametrize("first", [0, 1, 2, 5])
def test_window_holds_its_steps_and_nothing_else(first: int, tmp_path: Path) -> None:
    session = windowed(tmp_path, first, 8)
    assert session.steps is not None
    if session.steps.starts_with_process:
        session.start()
    else:
        session.steps.watch()
    launch(100)
    train(12)
    assert session.steps._state == "over"
    before = manifest(tmp_path)
    assert before.state == "complete"  # at the window's end, not the script's
    session.end("ValueError: later")
    told = manifest(tmp_path)
    assert (told.state, told.error, told.ended) == ("complete", None, before.ended)
    whole = range(max(first, 1), 8)
    assert (told.steps, told.first_step) == (len(whole), whole[0])
    assert told.overhead_s is not None  # of the steps behind the window, at least
    profile = load(tmp_path / told.files[0])
    setup = 100 + 1 if first == 0 else 0
    assert launches(profile) == setup + sum(step + 1 for step in whole)
    assert by_step(profile) == ([step + 1 for step in whole] if PHASES else [])


def test_steps_are_those_of_the_optimizer_that_stepped_first(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    other = torch.optim.SGD([weight], lr=0.1)

    def each(step: int) -> None:
        if step:
            other.step()

    with RankSession(tmp_path):
        train(4, each=each)
    assert manifest(tmp_path).steps == 3


@apart
def test_entries_of_a_scope_are_steps(tmp_path: Path) -> None:
    session = windowed(tmp_path, 1, 3, "work")
    session.start()
    for step in range(5):
        launch(10)
        with proton.scope("work"), proton.scope("work"):
            launch(step + 1)
        with proton.scope("other"):
            launch(10)
    session.end()
    told = manifest(tmp_path)
    assert (told.state, told.steps, told.first_step) == ("complete", 2, 1)
    profile = load(tmp_path / told.files[0])
    assert by_step(profile) == [2, 3]
    assert launches(profile) == 5
    assert "work" in set(profile.frames["name"])


@pytest.mark.skipif(PHASES, reason="scopes are told apart from Triton 3.7 on")
def test_scope_is_refused_where_it_cannot_be_told_apart(tmp_path: Path) -> None:
    session = windowed(tmp_path, 0, None, "work")
    session.start()
    launch()
    session.end()
    told = manifest(tmp_path)
    assert told.state == "failed"
    assert told.error == "scope=work needs Triton 3.7 or later; give steps"


@apart
def test_scope_that_is_never_entered_is_said(tmp_path: Path) -> None:
    session = windowed(tmp_path, 0, None, "wrok")
    session.start()
    launch(3)
    session.end()
    told = manifest(tmp_path)
    assert (told.state, told.steps, told.files) == ("failed", None, ())
    assert told.error == "no scope 'wrok' was entered and left, so no step was recorded"


@apart
def test_many_steps_are_summed_from_some_number_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_recording_steps, "APART", 5)
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with RankSession(tmp_path) as session:
        for _ in range(11):
            launch()
            optimizer.step()
    assert by_step(session.profile) == [1] * 5
    assert launches(session.profile) == 11
    assert manifest(tmp_path).steps == 10
