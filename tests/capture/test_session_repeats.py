"""``Session.repeats``: each round is told apart, and nothing of it shows in anybody's tree."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest
import torch
import triton.profiler as proton
from sample_kernels import BLOCK, add_kernel, plain_kernel, triton_kernels
from triton.profiler.flags import flags

from protonlab import ProtonLabError, Session
from protonlab.capture import _proton, device

contexts = pytest.mark.parametrize("context", ["shadow", "python"])


@functools.cache
def memory() -> torch.Tensor:
    return torch.zeros(128, device=device())


def add() -> None:
    add_kernel[(2,)](memory(), memory(), memory(), 128, SIZE=BLOCK)


def plain() -> None:
    plain_kernel[(2,)](memory(), 128, SIZE=BLOCK)


@pytest.fixture(scope="module", autouse=True)
def _memory_is_there() -> None:
    """Let torch launch its kernel that fills the memory before a session counts kernels."""
    memory()


def counts(session: Session) -> dict[str, int]:
    kernels = triton_kernels(session)
    return {name: int(count) for name, count in zip(kernels["name"], kernels["count"], strict=True)}


def names(session: Session) -> set[str]:
    return set(session.profile.frames["name"].astype(str))


@contexts
def test_sums_and_repeats(context: Any) -> None:
    with Session(context=context) as session:
        plain()
        rounds = []
        for current in session.repeats(3, warmup=2):
            rounds.append(current)
            add()
            if current == 1:
                add()
    profile = session.profile
    assert rounds == [-2, -1, 0, 1, 2]
    assert counts(session) == {"plain_kernel": 1, "add_kernel [n=128]": 4}
    assert profile.info.launches == {"plain_kernel": (1, 1), "add_kernel": (4, 4)}
    assert (profile.info.repeats, profile.info.warmup) == (3, 2)
    per_repeat = [profile.repeat(number).kernels for number in range(3)]
    assert [
        int(rows.loc[rows["name"] == "add_kernel [n=128]", "count"].sum()) for rows in per_repeat
    ] == [1, 2, 1]
    assert not any("protonlab_repeat" in name for name in names(session))
    found = profile.distribution("count").set_index("name")
    assert found.loc["plain_kernel", "n"] == 0
    times = profile.distribution("time/ns").set_index("name").loc["add_kernel [n=128]"]
    assert times["n"] == 3
    assert 0 < times["min"] <= times["median"] <= times["max"]
    total = triton_kernels(session).set_index("name").loc["add_kernel [n=128]", "time_ns"]
    assert times["estimate"] * 3 == pytest.approx(total)


def test_scopes_of_the_user_stay_above_and_below() -> None:
    with Session() as session, proton.scope("outside"):
        for _ in session.repeats(2):
            with proton.scope("inside"):
                add()
    frames = session.profile.frames
    assert frames["name"].tolist() == ["ROOT", "outside", "inside", "add_kernel [n=128]"]
    assert frames["count"].tolist()[-1] == 2


def test_a_session_around_sees_no_repeat() -> None:
    with Session() as outer:
        add()
        with Session() as inner:
            for _ in inner.repeats(2):
                add()
        add()
    assert counts(outer) == {"add_kernel [n=128]": 4}
    assert len(outer.profile.frames) == 2
    assert outer.profile.repeats is None
    assert counts(inner) == {"add_kernel [n=128]": 2}


def test_two_sessions_repeat_in_each_other() -> None:
    with Session() as outer, Session() as inner:
        for _ in outer.repeats(2):
            for _ in inner.repeats(3):
                add()
    assert [outer.profile.repeats and outer.profile.repeats.number, len(outer.profile.frames)] == (
        [2, 2]
    )
    assert inner.profile.repeats is not None
    assert inner.profile.repeats.number == 6
    assert outer.profile.distribution("count")["median"].tolist() == [3]
    assert inner.profile.distribution("count")["median"].tolist() == [1]


@contexts
def test_round_that_raises_is_left_out_and_said_so(context: Any) -> None:
    session = Session(context=context)

    def body() -> None:
        with session:
            for current in session.repeats(5):
                add()
                if current == 2:
                    plain()
                    raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        body()
    assert counts(session) == {"add_kernel [n=128]": 2}
    assert session.profile.info.repeats == 2
    assert session.profile.info.notes[0] == "the last repeat did not end; 2 launches of it left out"


def test_only_round_that_raises_is_kept_as_it_is() -> None:
    session = Session()

    def body() -> None:
        with session:
            for _ in session.repeats(5):
                add()
                raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        body()
    assert counts(session) == {"add_kernel [n=128]": 1}
    assert session.profile.repeats is None


def test_break_ends_the_rounds_and_recording_goes_on() -> None:
    with Session() as session:
        for current in session.repeats(9):
            if current == 2:
                break
            add()
        plain()
    assert session.profile.info.repeats == 2
    assert counts(session) == {"add_kernel [n=128]": 2, "plain_kernel": 1}


def test_loops_after_each_other_count_on() -> None:
    with Session() as session:
        for _ in session.repeats(2):
            add()
        for _ in session.repeats(1):
            plain()
    assert session.profile.info.repeats == 3
    found = session.profile.distribution("count").set_index("name")["n"]
    assert found.to_dict() == {"add_kernel [n=128]": 2, "plain_kernel": 1}


def test_one_repeat_is_a_distribution_of_one() -> None:
    with Session() as session:
        for _ in session.repeats(1):
            add()
    (row,) = session.profile.distribution("count").to_dict("records")
    assert (row["n"], row["median"]) == (1, 1)
    assert row["low"] != row["low"]  # NaN: one value tells nothing about others


def test_filter_and_metrics_are_those_of_the_session() -> None:
    with Session(include="add") as session:
        for _ in session.repeats(2):
            add()
            plain()
    rows = triton_kernels(session).set_index("name")
    assert rows["hook"].to_dict() == {"add_kernel [n=128]": "kept", "plain_kernel": "filtered"}
    assert rows.loc["add_kernel [n=128]", "n_tokens"] == 2 * 8
    rate = session.profile.distribution("n_tokens").set_index("name")
    assert rate.loc["add_kernel [n=128]", ["n", "min", "max"]].tolist() == [2, 8, 8]


def test_scope_metrics_add_up_over_repeats() -> None:
    with Session() as session:
        for current in session.repeats(3):
            with proton.scope("layer", metrics={"loss": 1 / (1 + current)}):
                add()
    frames = session.profile.frames.set_index("name")
    assert frames.loc["layer", "loss"] == pytest.approx(1 + 1 / 2 + 1 / 3)


def test_launches_of_other_threads_belong_to_the_profile() -> None:
    with Session() as session:
        for _ in session.repeats(2):
            thread = threading.Thread(target=add)
            thread.start()
            thread.join()
    assert counts(session) == {"add_kernel [n=128]": 2}


@contexts
def test_body_that_finalizes_everything_still_runs_to_its_end(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []
    with Session(context=context) as session:
        for current in session.repeats(3):
            ran.append(current)
            add()
            if current == 0:
                proton.finalize(session._recording.id)  # type: ignore[union-attr]
    assert ran == [0, 1, 2]
    assert session.problem is not None
    flags.profiling_on = False


def test_repeats_without_recording_only_run() -> None:
    session = Session()
    assert list(session.repeats(2, warmup=1)) == [-1, 0, 1]


@pytest.mark.parametrize(
    ("number", "warmup", "message"),
    [
        (0, 0, "repeat=0; use a whole number from 1 up"),
        (2, -1, "warmup=-1; use a whole number from 0 up"),
        (2.0, 0, "repeat=2.0"),
    ],
)
def test_illegal_number(number: Any, warmup: int, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        Session().repeats(number, warmup=warmup)


def test_repeats_beside_a_trace_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protonlab.capture.proton_words.interpreting", lambda: False)
    session = Session(data="trace")
    with pytest.raises(ProtonLabError, match="repeat=2 warmup=0 beside data=trace: repeats are"):
        session.repeats(2)
    assert list(session.repeats(1)) == [0]


def test_phases_that_the_body_advances_lose_nothing() -> None:
    libproton = _proton.require().libproton
    if not hasattr(libproton, "advance_data_phase"):
        pytest.skip("Triton before 3.7 has no phases")
    with Session() as session:
        add()
        for _ in session.repeats(2):
            add()
            libproton.advance_data_phase(session._recording.id)  # type: ignore[union-attr]
            plain()
    assert counts(session) == {"add_kernel [n=128]": 3, "plain_kernel": 2}
    assert session.profile.distribution("count")["n"].tolist() == [2, 2]
