"""A session that stops while the user's code is inside of a scope keeps what it recorded."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import triton
import triton.profiler as proton
from sample_kernels import add

from protonlab import Profile, Session, Trace
from protonlab.capture import _proton
from protonlab.capture._scope_metrics import ScopeMetrics

SCOPES_IN_TRACES = _proton.require().has_phases  # Triton 3.6 writes kernels only
# Triton 3.7 writes an empty file where no kernel ran.
SCOPES_ALONE = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 8)


def places(session: Session) -> set[tuple[str, ...]]:
    """Scopes in which kernels were recorded, the outermost first."""
    frames = session.profile.frames

    def above(frame: int) -> tuple[str, ...]:
        parent = int(frames.loc[frame, "parent_id"])
        return (*above(parent), str(frames.loc[parent, "label"])) if parent > 0 else ()

    return {above(int(frame)) for frame in frames.index[frames["kind"] == "kernel"]}


def launches(recorded: Profile | Trace) -> int:
    kernels = recorded.kernels
    return int(kernels.loc[kernels["name"].str.startswith("add_kernel"), "count"].sum())


def test_a_trace_ends_the_scopes_it_saw_open_and_others_keep_them(tmp_path: Path) -> None:
    libproton = _proton.require().libproton
    with Session("tree") as tree, proton.scope("before"):
        before = libproton.record_scope()
        trace = libproton.start(str(tmp_path / "t"), "shadow", "trace", "instrumentation", "cuda")
        with proton.scope("outer"), proton.scope("inner"):
            with proton.scope("ended"):
                pass
            with ScopeMetrics.scopes_ended(since=before):
                libproton.finalize(trace, "chrome_trace")
            add()  # still in both, for the session that goes on
        add()
    (file,) = tmp_path.glob("t.*")
    if SCOPES_ALONE:
        names = {event["name"] for event in json.loads(file.read_text())["traceEvents"]}
        assert names == {"outer", "inner", "ended"}
    assert places(tree) == {("before", "outer", "inner"), ("before",)}


def test_scopes_of_other_threads_and_of_calls_are_told_apart() -> None:
    with Session("tree"):
        library = vars(sys.modules["triton.profiler.scope"])["libproton"]
        proton.enter_scope("by a call")
        with proton.scope("by with"):
            assert [name for _, name in library.open_scopes()] == ["by a call", "by with"]
        proton.exit_scope()
        assert library.open_scopes() == []


@pytest.mark.gpu
def test_a_trace_that_stops_in_a_scope_is_whole() -> None:
    add()
    session = Session(data="trace").start()
    with proton.scope("step"), proton.scope("optimizer"):
        add()
        session.stop()
        add()
    assert session.problem is None
    assert launches(session.trace) == 1
    if SCOPES_IN_TRACES:
        assert {"step", "optimizer"} <= {*session.trace.events["name"]}
    with Session() as again, proton.scope("step"):  # nothing is left open
        add()
    assert launches(again.profile) == 1
