"""Traces, repeats, backends and modes on a GPU, where CUPTI writes what the interpreter cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton.profiler as proton
from sample_kernels import BLOCK, add, plain, told, told_kernel, triton_kernels

import protonlab
from protonlab import ProtonLabError, Session, Trace
from protonlab.capture import _proton
from protonlab.capture._privileges import why_no_sampling

pytestmark = pytest.mark.gpu

PHASES = _proton.require().has_phases


def test_trace_has_every_launch_in_its_stream_and_order() -> None:
    add()
    with Session("timeline", data="trace") as session:
        for _ in range(5):
            add()
            plain()
    assert session.problem is None, session.problem
    trace = session.trace
    assert isinstance(trace, Trace)
    assert session.result is trace
    counts = trace.kernels.set_index("name")["count"]
    assert counts["add_kernel [n=128]"] == 5, trace.kernels
    assert counts["plain_kernel"] == 5, trace.kernels
    kernels = trace.events[trace.events["kind"] == "kernel"]
    own = kernels[kernels["name"].isin(["add_kernel [n=128]", "plain_kernel"])]
    in_order = own.sort_values("start_ns")["name"].astype(str).tolist()
    assert in_order == ["add_kernel [n=128]", "plain_kernel"] * 5, own
    assert (own["duration_ns"] > 0).all()
    assert own["lane"].nunique() == 1
    ends = (own["start_ns"] + own["duration_ns"]).sort_values().to_numpy()
    assert (own["start_ns"].sort_values().to_numpy()[1:] >= ends[:-1]).all(), "launches overlap"
    assert trace.info.gpu == torch.cuda.get_device_name()
    if PHASES:  # Triton 3.6 writes neither scopes, metrics nor the base time
        assert trace.base_time_ns is not None
        assert trace.kernels.set_index("name").loc["add_kernel [n=128]", "n_tokens"] == 40
    with pytest.raises(protonlab.CaptureError, match=r"there is session\.trace"):
        session.profile  # noqa: B018


def test_trace_of_two_streams_has_two_lanes(tmp_path: Path) -> None:
    add()
    side = torch.cuda.Stream()
    with Session(data="trace") as session:
        add()
        with torch.cuda.stream(side):
            add()
    trace = session.trace
    own = trace.events[trace.events["name"] == "add_kernel [n=128]"]
    assert len(own[own["kind"] == "kernel"]) == 2
    assert own.loc[own["kind"] == "kernel", "lane"].nunique() == 2, trace.lanes
    trace.save(tmp_path / "t.json")
    again = protonlab.load(tmp_path / "t.json")
    assert isinstance(again, Trace)
    assert again.events.equals(trace.events)


def test_empty_trace() -> None:
    with Session(data="trace") as session:
        pass
    assert session.problem is None, session.problem
    assert session.trace.kernels.empty


def test_trace_beside_a_tree() -> None:
    with Session() as tree, Session(data="trace") as trace:
        add()
    assert (triton_kernels(tree)["count"] == 1).all()
    assert "add_kernel [n=128]" in set(trace.trace.kernels["name"])


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_repeats_on_a_gpu(context: str) -> None:
    with Session(context=context) as session:  # type: ignore[arg-type]
        for _ in session.repeats(20, warmup=3):
            add(1 << 20)
            plain()
    assert session.problem is None, session.problem
    profile = session.profile
    found = profile.distribution("time/us").set_index("kernel").loc["add_kernel"]
    assert found["n"] == 20, profile.repeats and profile.repeats.values
    assert 0 < found["min"] <= found["median"] <= found["max"]
    assert found["low"] <= found["estimate"] <= found["high"]
    counts = profile.distribution("count").set_index("kernel").loc["add_kernel"]
    assert (counts["min"], counts["max"]) == (1, 1), "a launch came under another repeat"
    rows = triton_kernels(session).set_index("kernel")
    assert rows.loc["add_kernel", "count"] == 20, rows
    assert rows.loc["add_kernel", "time_ns"] == pytest.approx(20 * 1000 * found["estimate"])
    assert not profile.frames["name"].astype(str).str.contains("protonlab_repeat").any()


def test_graph_replays_are_filed_under_their_repeat() -> None:
    x = torch.zeros(BLOCK, device="cuda")
    told(launches=1)
    with Session(exclude="told") as session:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            told_kernel[(1,)](x, BLOCK)
        for _ in session.repeats(4):
            graph.replay()
            graph.replay()
    assert session.problem is None, session.problem
    assert x[0] == 8
    launches = session.profile.distribution("count")
    replayed = launches[launches["name"].astype(str).str.startswith("told_kernel")]
    whole = session.profile.frames.to_string()
    if PHASES:  # Triton 3.6 files replays under the scopes of the capture
        assert replayed["n"].tolist() == [4], whole
        assert (replayed["min"].tolist(), replayed["max"].tolist()) == ([2], [2]), whole
    kernels = session.profile.kernels
    names = kernels["name"].astype(str).str.startswith("told_kernel")
    assert int(kernels.loc[names, "count"].sum()) == 8, whole


def run_alone(code: str) -> tuple[str, str]:
    """Run code in a process of its own, which it may take down; its output, and all about it."""
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    what = f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr[-3000:]}"
    assert ran.returncode == 0, what
    return ran.stdout, what


def test_pc_sampling_samples_or_says_what_permission_it_lacks() -> None:
    out, what = run_alone(
        "from sample_kernels import add\n"
        "from protonlab import Session\n"
        "with Session(mode='pcsampling:interval=1000') as session:\n"
        "    for _ in range(200): add(1 << 22)\n"
        "print('PROBLEM', session.problem)\n"
        "if session.problem is None:\n"
        "    print('COLUMNS', *[c.column for c in session.profile.columns])\n"
    )
    if reason := why_no_sampling():
        assert f"PROBLEM {reason}" in out, what
    elif "PROBLEM None" in out:
        assert "num_samples" in out, what
    else:
        assert "error 35" in out, what


@pytest.mark.skipif(not PHASES, reason="Triton before 3.7 has no mode that a GPU always permits")
def test_two_modes_at_once_name_the_session_that_is_open() -> None:
    with Session("first") as first:
        add()
        with Session("second", mode="periodic_flushing") as second:
            add()
    assert second.problem == (
        "Proton measures in one mode at a time: this session asks for mode=periodic_flushing, and "
        "session 'first' (no mode) is still open; stop that one first, or give both the same mode"
    )
    assert first.problem is None
    assert triton_kernels(first)["count"].tolist() == [2]


@pytest.mark.skipif(not PHASES, reason="periodic_flushing came with Triton 3.7")
def test_periodic_flushing_loses_nothing() -> None:
    with Session(mode="periodic_flushing") as session:
        add()
        proton.data.advance_phase(session._recording.id)  # type: ignore[union-attr]
        add()
        plain()
    assert session.problem is None, session.problem
    rows = triton_kernels(session).set_index("kernel")["count"]
    assert rows.to_dict() == {"add_kernel": 2, "plain_kernel": 1}
    assert session.profile.info.mode == "periodic_flushing"


@pytest.mark.skipif(PHASES, reason="Triton from 3.7 on has periodic_flushing")
def test_periodic_flushing_needs_a_newer_triton() -> None:
    with Session(mode="periodic_flushing") as session:
        add()
    assert session.problem is not None
    assert "mode=periodic_flushing needs Triton 3.7 or later" in session.problem


def test_backend_of_another_vendor() -> None:
    with Session(backend="roctracer") as session:
        add()
    assert session.problem is not None
    assert session.problem.startswith(
        "backend=roctracer does not exist for a cuda GPU under Triton"
    )
    assert "use cupti or instrumentation, or leave it out" in session.problem


def test_backend_by_name() -> None:
    with Session(backend="cupti") as session:
        add()
    assert session.problem is None, session.problem
    assert session.profile.info.backend == "cupti"
    assert triton_kernels(session)["count"].tolist() == [1]


def test_instrumentation_leaves_nothing_on() -> None:
    """Kernels without scopes inside have nothing to record; starting and stopping must work."""
    out, what = run_alone(
        "from sample_kernels import plain\n"
        "from protonlab import Session\n"
        "from triton.profiler.flags import flags\n"
        "with Session(backend='instrumentation', data='trace') as session:\n"
        "    x = plain()\n"
        "print('PROBLEM', session.problem, x[1].item())\n"
        "print('BACKEND', session.trace.info.backend, len(session.trace.events))\n"
        "print('ON', getattr(flags, 'instrumentation_on', False), flags.profiling_on)\n"
        "with Session() as after: plain()\n"
        "print('AFTER', after.problem, after.profile.info.launches)\n"
    )
    assert "PROBLEM None 2.0" in out, what
    assert "BACKEND instrumentation 0" in out, what
    assert "ON False False" in out, what
    assert "AFTER None {'plain_kernel': (1, 1)}" in out, what


def test_repeat_beside_a_trace_is_refused() -> None:
    with Session(data="trace") as session, pytest.raises(ProtonLabError, match="beside data=trace"):
        session.repeats(3)
