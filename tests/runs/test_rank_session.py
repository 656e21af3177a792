"""What a rank leaves in its folder, however it ends: kernels run for real."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
import torch
from training import PHASES, apart, by_step, launch, launches, manifest, train, windowed
from triton.profiler.flags import flags

from protonlab import RankSession, device, load, load_run
from protonlab.capture import _proton
from protonlab.capture.rest_watch import RestWatch
from protonlab.capture.salvage import complete_parts
from protonlab.errors import CaptureError

pytestmark = pytest.mark.usefixtures("nothing_left")


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
    if device() == "cuda":
        torch.cuda.synchronize()
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
