"""Sessions: what they leave, what they say when Proton cannot record, and how they combine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import triton.profiler as proton
from sample_kernels import add, plain, triton_kernels
from triton import knobs
from triton.profiler.flags import flags

from protonlab import CaptureError, LaunchHook, ProtonLabError, Session
from protonlab.capture import _proton
from protonlab.capture.clocks import nvml_problem


def names(session: Session) -> list[str]:
    return sorted(triton_kernels(session)["name"])


def test_profile_and_its_info() -> None:
    with Session("first", include="add.*", exclude="plain") as session:
        add()
        plain()
    assert session.problem is None
    info = session.profile.info
    assert (info.name, info.context, info.include, info.exclude) == (
        "first", "shadow", "add.*", "plain",
    )  # fmt: skip
    assert info.backend == ("interpreter, CPU" if knobs.runtime.interpret else "cupti")
    assert {"triton", "torch", "python"} <= info.versions.keys()
    on_gpu = not knobs.runtime.interpret and nvml_problem() is None
    assert ("driver" in info.versions) == on_gpu
    assert info.when.count(":") >= 3  # a time with its zone
    assert info.launches == {"add_kernel": (1, 1), "plain_kernel": (1, 0)}
    assert names(session) == ["add_kernel [n=128]", "plain_kernel"]
    assert (triton_kernels(session)["count"] == 1).all()
    assert (triton_kernels(session)["time_ns"] > 0).all()


def test_start_and_stop_across_cells() -> None:
    session = Session()
    assert repr(session) == "<Session 'proton': not started>"
    with pytest.raises(CaptureError, match="has not been started"):
        session.profile  # noqa: B018
    assert session.start() is session
    with pytest.raises(CaptureError, match="is still recording; its profile is there after stop"):
        session.profile  # noqa: B018
    add()
    session.stop()
    session.stop()
    assert names(session) == ["add_kernel [n=128]"]
    with pytest.raises(ProtonLabError, match="make another Session"):
        session.start()


def test_stop_before_start_does_nothing() -> None:
    session = Session()
    session.stop()
    with pytest.raises(ProtonLabError, match="make another Session"):
        session.start()


def test_empty_session() -> None:
    with Session() as session:
        pass
    assert names(session) == []


def test_empty_sessions_share_nothing() -> None:
    first, second = (Session(name).start() for name in ("first", "second"))
    second.stop()
    first.stop()
    first.profile.frames["mine"] = 1
    assert "mine" not in second.profile.frames
    with Session("third") as third:
        pass
    assert list(third.profile.frames) == list(second.profile.frames)
    assert (second.profile.info.name, third.profile.info.name) == ("second", "third")


def test_paused() -> None:
    with Session() as session:
        with session.paused():
            add()
        plain()
        with pytest.raises(ZeroDivisionError), session.paused():
            1 / 0  # noqa: B018
        plain()
    assert names(session) == ["plain_kernel"]
    assert session.profile.info.launches == {"plain_kernel": (2, 2)}


def test_stop_while_paused() -> None:
    session = Session().start()
    with session.paused():
        session.stop()
        add()
    assert names(session) == []


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(2)])
def test_error_in_the_body_reaches_the_user_and_leaves_the_profile(error: BaseException) -> None:
    session = Session()

    def body() -> None:
        with session:
            add()
            raise error

    with pytest.raises(type(error)):
        body()
    assert names(session) == ["add_kernel [n=128]"]


def test_session_inside_a_session() -> None:
    with Session("outer") as outer:
        add()
        with Session("inner") as inner:
            plain()
        assert flags.profiling_on
        add()
    assert names(inner) == ["plain_kernel"]
    assert names(outer) == ["add_kernel [n=128]", "plain_kernel"]


def test_overlapping_sessions() -> None:
    first = Session("first").start()
    add()
    second = Session("second").start()
    first.stop()
    with proton.scope("layer"):
        plain()
    second.stop()
    assert names(first) == ["add_kernel [n=128]"]
    frames = second.profile.frames.set_index("name")
    assert frames.index[frames.loc["plain_kernel", "parent_id"]] == "layer"


def test_scope_with_metrics() -> None:
    with Session() as session:
        for loss in (1.0, 0.5):
            with proton.scope("layer", metrics={"loss": loss, "n": 3}):
                add()
    frames = session.profile.frames.set_index("name")
    assert frames.loc["layer", "loss"] == 1.5
    assert frames.loc["layer", "n"] == 6
    assert frames.index[frames.loc["add_kernel [n=128]", "parent_id"]] == "layer"


def test_python_context() -> None:
    with Session(context="python") as session:
        add()
    frames = session.profile.frames
    mine = [name for name in frames["name"] if name.startswith(f"{__file__}:")]
    assert any(name.endswith("@test_python_context") for name in mine)
    assert names(session) == ["add_kernel [n=128]"]


def test_hook_of_ones_own_in_two_sessions_counts_each_apart() -> None:
    hook = LaunchHook(include="add")
    with Session(hook=hook) as first:
        add()
    with Session(hook=hook) as second:
        add()
        add()
        plain()
    assert first.profile.info.launches == {"add_kernel": (1, 1)}
    assert second.profile.info.launches == {"add_kernel": (2, 2), "plain_kernel": (1, 0)}
    assert second.profile.info.include == "add"


@pytest.mark.parametrize("option", ["include", "exclude", "record"])
def test_hook_with_a_filter_beside_it(option: str) -> None:
    with pytest.raises(ProtonLabError, match=f"so it excludes {option}; give them to the hook"):
        Session(hook=LaunchHook(), **{option: "add"})  # type: ignore[arg-type]


@pytest.mark.parametrize("hook", ["triton", object(), LaunchHook])
def test_hook_of_the_wrong_type(hook: Any) -> None:
    with pytest.raises(ProtonLabError, match=r"it must be a protonlab\.LaunchHook"):
        Session(hook=hook)


@pytest.mark.parametrize(
    "options", [{"include": "("}, {"exclude": b"a"}, {"context": "stack"}, {"record": 3}]
)
def test_illegal_option(options: dict[str, Any]) -> None:
    with pytest.raises(ProtonLabError):
        Session(**options)


def test_a_session_of_the_users_own_stays() -> None:
    user = proton.start("user", context="shadow") if not knobs.runtime.interpret else None
    if user is None:
        user = _proton.require().libproton.start(
            "user", "shadow", "tree", "instrumentation", "cuda"
        )
        flags.profiling_on = True
    try:
        with Session() as session:
            add()
        assert flags.profiling_on is True
        assert names(session) == ["add_kernel [n=128]"]
    finally:
        proton.finalize(user)
        flags.profiling_on = False
    Path("user.hatchet").unlink()


def test_a_session_that_the_body_starts_keeps_profiling_on() -> None:
    with Session():
        flags.profiling_on = True  # what proton.start does
    assert flags.profiling_on is True
    flags.profiling_on = False
