"""What a rank records, step by step, and leaves in its folder: kernels run for real."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
import triton.profiler as proton
from torch.optim import optimizer as optimizers
from triton.profiler.flags import flags
from triton.profiler.hooks.hook import HookManager

from protonlab import Profile, RankSession, device, load, load_run
from protonlab.capture import _proton, enable_interpreter
from protonlab.capture.rest_watch import RestWatch
from protonlab.capture.salvage import complete_parts
from protonlab.errors import CaptureError
from protonlab.model.manifest import RankManifest
from protonlab.runs import _recording_steps
from protonlab.runs._recording_steps import Steps

enable_interpreter()  # without a GPU
PHASES = _proton.require().has_phases
apart = pytest.mark.skipif(not PHASES, reason="steps are told apart from Triton 3.7 on")


@triton.jit
def _scale(x_ptr: Any, n: Any, BLOCK: tl.constexpr) -> None:
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0.5 * tl.load(x_ptr + at, at < n), at < n)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    yield
    assert not any(HookManager.session_hooks.values())
    assert flags.profiling_on is False
    assert not optimizers._global_optimizer_post_hooks
    assert vars(sys.modules["triton.profiler.scope"])["libproton"] is _proton.require().libproton


def launch(times: int = 1) -> None:
    x = torch.ones(16, device=device())
    for _ in range(times):
        _scale[(1,)](x, 16, BLOCK=16)


def train(steps: int, *, optimizer: Any = None, each: Callable[[int], None] | None = None) -> None:
    """Step k launches k + 1 times."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = optimizer or torch.optim.SGD([weight], lr=0.1)
    for step in range(steps):
        if each is not None:
            each(step)
        launch(step + 1)
        weight.grad = torch.ones(2)
        optimizer.step()


def by_step(profile: Profile) -> list[int]:
    """Count the launches of each step that is told apart."""
    number = profile.info.repeats
    return [int(profile.repeat(each).kernels["count"].sum()) for each in range(number)]


def launches(profile: Profile) -> int:
    return int(profile.kernels["count"].sum())


def windowed(folder: Path, first: int, end: int | None, scope: str | None = None) -> RankSession:
    session = RankSession(folder)
    session.steps = Steps(session, first, end, scope)
    session.announce()
    return session


def manifest(folder: Path, name: str = "rank-00000.json") -> RankManifest:
    return RankManifest.parse((folder / name).read_bytes())


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


def test_error_in_the_script_keeps_the_profile_and_is_told(tmp_path: Path) -> None:
    def each(step: int) -> None:
        if step == 2:
            raise ValueError("the loss is nan\nand more")

    with pytest.raises(ValueError, match="the loss is nan"), RankSession(tmp_path):
        train(4, each=each)
    told = manifest(tmp_path)
    assert (told.state, told.error) == ("failed", "ValueError: the loss is nan")
    assert told.files == ("rank-00000.hatchet",)
    run = load_run(tmp_path)
    assert launches(run.profiles[0]) == 3
    assert "the loss is nan" in run.warnings[0]


def test_window_that_was_not_reached_is_told(tmp_path: Path) -> None:
    session = windowed(tmp_path, 10, 20)
    assert session.steps is not None
    session.steps.watch()
    train(3)
    session.end()
    told = manifest(tmp_path)
    assert (told.state, told.files) == ("failed", ())
    assert told.error is not None
    assert "ended after 3 steps" in told.error
    assert "step 10" in told.error


def test_rank_that_ends_within_its_window_keeps_whole_steps(tmp_path: Path) -> None:
    session = windowed(tmp_path, 2, 8)
    assert session.steps is not None
    session.steps.watch()
    train(5)
    launch(50)
    session.end()
    told = manifest(tmp_path)
    profile = load(tmp_path / told.files[0])
    assert by_step(profile) == ([3, 4, 5] if PHASES else [])
    assert told.steps == 3
    if PHASES:
        assert launches(profile) == 12
        assert "the last repeat did not end; 50 launches of it left out" in profile.info.notes


def test_window_without_a_whole_step_has_failed_and_keeps_what_there_is(tmp_path: Path) -> None:
    session = windowed(tmp_path, 2, 8)
    assert session.steps is not None
    session.steps.watch()
    train(2)
    launch(7)
    session.end()
    told = manifest(tmp_path)
    assert (told.state, told.steps) == ("failed", None)
    assert told.error is not None
    assert "ended after 2 steps" in told.error
    assert launches(load(tmp_path / told.files[0])) == 7


def test_gpu_that_does_not_rest_is_waited_for_so_long_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch, peer = RestWatch(), threading.Event()
    assert watch.within(0)  # no GPU is in use
    monkeypatch.setattr("protonlab.capture.rest_watch.gpus_in_use", lambda: [0])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda gpu: peer.wait(60))
    watch.start()
    assert not watch.within(0.05)
    peer.set()
    assert watch.within(60)


def test_folder_that_cannot_be_written_to_is_warned_of_and_the_script_runs(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.warns(RuntimeWarning, match="run folder .* cannot be written to"):
        session = RankSession(tmp_path / "run").start()
    train(2)
    session.end()
    assert session.problem is not None
    with pytest.raises(CaptureError, match="cannot be written to"):
        _ = session.profile


def test_folder_that_is_gone_at_the_end_is_warned_of(tmp_path: Path) -> None:
    session = RankSession(tmp_path / "run").start()
    launch()
    shutil.rmtree(tmp_path / "run")
    with pytest.warns(RuntimeWarning, match="rank 0: the manifest could not be written"):
        session.end()
    assert launches(session.profile) == 1  # which is not lost for the script


def test_what_cannot_be_recorded_is_told_in_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flags, "command_line", True)  # as under Proton's own command
    with RankSession(tmp_path):
        train(2)
    told = manifest(tmp_path)
    assert told.state == "failed"
    assert told.error is not None
    assert "proton" in told.error


def test_rank_of_a_job_says_which_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "TORCHELASTIC_RESTART_COUNT": "1"}
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):
        with RankSession(tmp_path, keep_host=True):
            launch()
    told = manifest(tmp_path, "rank-00003-1.json")
    assert (told.rank, told.world_size, told.local_rank, told.attempt) == (3, 4, 1, 1)
    assert told.host
    assert told.files == ("rank-00003-1.hatchet",)
    assert manifest(tmp_path, "rank-00003.json").complete


def test_repeats_of_ones_own_take_the_place_of_steps(tmp_path: Path) -> None:
    with RankSession(tmp_path) as session:
        for _ in session.repeats(3):
            train(2)
    assert by_step(session.profile) == [3, 3, 3]
    assert manifest(tmp_path).steps is None


def test_what_goes_wrong_while_steps_are_counted_does_not_reach_the_script(tmp_path: Path) -> None:
    session = RankSession(tmp_path).start()

    def broken() -> None:
        raise OSError("no clocks")

    session.read_clocks = broken  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="counts steps no more"):
        train(3)
    session.end()
    assert manifest(tmp_path).complete
    assert launches(session.profile) == 6


@apart
def test_whole_steps_are_read_where_the_gpu_does_not_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _proton.require().libproton
    monkeypatch.setattr(library, "is_data_phase_complete", lambda session, phase: phase < 4)
    session = windowed(tmp_path, 1, None).start()
    train(6)
    recording = session._recording
    assert recording is not None
    session.end_at_work("ended by SIGTERM")
    told = manifest(tmp_path)
    assert (told.state, told.error, told.steps) == ("failed", "ended by SIGTERM", 2)
    profile = load(tmp_path / told.files[0])
    assert by_step(profile) == [2, 3]  # phase 0 is empty, 1 what came before step 1
    assert launches(profile) == 5
    monkeypatch.setattr(library, "is_data_phase_complete", lambda session, phase: False)
    with pytest.raises(CaptureError, match="no step had ended"):
        complete_parts(recording)
    recording.finish()  # the process would have ended
    assert session._seen is not None
    session._seen.stop()
