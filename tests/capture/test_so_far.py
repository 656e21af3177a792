"""Reading a session while it records: nothing is lost, nothing piles up, nothing is cut."""

from __future__ import annotations

import os
import threading
import time

import pandas as pd
import pytest
import torch
import triton.profiler as proton
from sample_kernels import add, answers, plain, told

from protonlab import Profile, Session
from protonlab.capture import _proton
from protonlab.capture._between_launches import BetweenLaunches
from protonlab.capture._phases import BUFFER_VARIABLE
from protonlab.errors import CaptureError

HAS_PHASES = _proton.require().has_phases
needs_phases = pytest.mark.skipif(not HAS_PHASES, reason="Triton before 3.7 has no phases")


def step() -> None:
    with proton.scope("step"):
        add()
        with proton.scope("inner"):
            plain()


def untimed(profile: Profile) -> pd.DataFrame:
    """The frame table without times, and without an order of categories."""
    frames = profile.frames.drop(columns="time_ns")
    text = frames.select_dtypes("category").columns
    return frames.astype(dict.fromkeys(text, object))


def launches(profile: Profile) -> int:
    kernels = profile.kernels
    return int(kernels.loc[kernels["hook"].isin(["kept", "filtered"]), "count"].sum())


@needs_phases
def test_profile_is_that_of_a_session_nobody_read() -> None:
    with Session(exclude="plain") as quiet:
        for _ in range(30):
            step()
    with Session(exclude="plain") as read:
        seen = []
        for index in range(30):
            step()
            if index % 4 == 3:
                seen.append(read.so_far())
    if not torch.cuda.is_available():  # a GPU is asynchronous
        assert [launches(profile) for profile in seen] == [8, 16, 24, 32, 40, 48, 56]
        shown = seen[2]
        assert shown.kernels.set_index("name")["hook"].to_dict() == {
            "add_kernel [n=128]": "kept",
            "plain_kernel": "filtered",
        }
        pd.testing.assert_frame_equal(untimed(read.profile), untimed(quiet.profile))
    assert launches(read.profile) == launches(quiet.profile) == 60
    assert read.profile.columns == quiet.profile.columns
    assert read.profile.info.launches == quiet.profile.info.launches
    assert read.profile.frames["time_ns"].sum() > 0


@needs_phases
def test_a_thread_reads_while_launches_go_on() -> None:
    seen: list[int] = []
    first: list[int] = []
    done = threading.Event()

    with Session() as session:

        def read() -> None:
            while not done.wait(0.01):
                seen.append(launches(session.so_far()))
                first.append(session._recording.first_phase if session._recording else -1)

        reader = threading.Thread(target=read)
        reader.start()
        steps = 0
        while steps < 150 or (len(seen) < 3 and steps < 100_000):  # a GPU is soon done with 150
            step()
            steps += 1
        done.set()
        reader.join()
    assert launches(session.profile) == 2 * steps
    assert seen == sorted(seen)
    assert len(seen) > 2
    if not torch.cuda.is_available():
        assert 0 < seen[-1] <= 2 * steps
        assert first[-1] >= len(first) - 2  # each phase that was read is gone


@needs_phases
def test_a_launch_that_runs_is_not_cut() -> None:
    """Phases change between launches only: libproton aborts when a cleared one is written to."""
    with Session() as session:

        def slow() -> dict[str, int]:
            reader = threading.Thread(target=session.so_far)
            reader.start()
            reader.join()
            session.so_far()
            return {"n": 1}

        told(slow, slow, slow)
        after = session.so_far()
    frames = session.profile.frames
    (row,) = frames[frames["name"] == "told_kernel"].to_dict("records")
    assert (row["count"], row["n"]) == (3, 3)
    assert row["time_ns"] > 0
    if not torch.cuda.is_available():
        assert launches(after) == 3
    assert not answers.queue


@needs_phases
def test_a_scope_that_stays_open_keeps_its_metrics() -> None:
    with Session() as session:
        with proton.scope("epoch", metrics={"loss": 0.5}):
            step()
            session.so_far()
            step()
        session.so_far()
        with proton.scope("epoch", metrics={"loss": 0.25}):
            step()
    frames = session.profile.frames
    epochs = frames[frames["name"] == "epoch"]
    assert epochs["loss"].tolist() == [0.75]
    assert launches(session.profile) == 6


@needs_phases
def test_nothing_recorded_is_an_empty_profile() -> None:
    with Session() as session:
        assert session.so_far().kernels.empty
        assert session.so_far().kernels.empty
    assert session.profile.kernels.empty


@needs_phases
def test_repeats_are_read_at_the_end() -> None:
    with Session() as session:
        for index in session.repeats(3):
            step()
            if index == 1:
                with pytest.raises(CaptureError, match="repeats are read at the end; the profile"):
                    session.so_far()
    assert launches(session.profile) == 6


@pytest.mark.skipif(HAS_PHASES, reason="this Triton has phases")
def test_before_phases_the_reason_is_said_and_the_session_goes_on() -> None:
    with Session() as session:
        step()
        with pytest.raises(CaptureError, match=r"needs Triton 3\.7 or later, and this is 3\.6"):
            session.so_far()
        step()
    assert launches(session.profile) == 4


def test_a_session_that_does_not_record_has_nothing_so_far() -> None:
    session = Session()
    with pytest.raises(CaptureError, match="does not record"):
        session.so_far()
    with session:
        add()
    with pytest.raises(CaptureError, match="does not record"):
        session.so_far()


def test_watched_sessions_leave_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    session = Session().start(watched=True)
    assert BUFFER_VARIABLE in os.environ
    session.stop()
    assert dict(os.environ) == before


def test_action_waits_for_launches_that_run() -> None:
    done: list[str] = []
    between = BetweenLaunches()
    between.do(lambda: done.append("at once"))
    assert done == ["at once"]
    with between:
        with between:
            between.do(lambda: done.append("later"))
        assert done == ["at once"]
    assert done == ["at once", "later"]


@pytest.mark.gpu
@needs_phases
def test_on_a_gpu_launches_appear_while_the_session_records() -> None:
    """The GPU keeps up with 12 s of launches: phases come in, are read, and are cleared."""
    add()
    session = Session().start(watched=True)
    seen: list[int] = []
    first: list[int] = []
    began, count = time.monotonic(), 0
    next_reading = began + 0.25
    while time.monotonic() - began < 14:
        add()
        count += 1
        if time.monotonic() > next_reading:
            torch.cuda.synchronize()
            next_reading = time.monotonic() + 0.25
            seen.append(launches(session.so_far()))
            assert session._recording is not None
            first.append(session._recording.first_phase)
    session.stop()
    assert session.problem is None, session.problem
    total = launches(session.profile)
    assert total == count, f"{count} launches were made and {total} came back"
    assert seen == sorted(seen), f"launches disappeared between readings: {seen}"
    assert seen[-1] > 0, f"no launch appeared while the session recorded; readings: {seen}"
    assert seen[-1] > count / 2, f"readings lag far behind: {seen[-1]} of {count}"
    assert first[-1] > 0, f"no phase was cleared in {len(first)} readings, so memory grows"


@pytest.mark.gpu
@needs_phases
def test_on_a_gpu_reading_does_not_break_a_graph_capture() -> None:
    x = torch.zeros(64, device="cuda")
    with Session() as session:
        session.so_far()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x += 1
            reader = threading.Thread(target=session.so_far)
            reader.start()
            reader.join()
            x += 1
        for _ in range(3):
            graph.replay()
            session.so_far()
    assert x[0] == 6
    assert session.problem is None, session.problem
