"""Traces on a GPU: marked by the session's own hook, free of what another session recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sample_kernels import add, plain

import protonlab
from protonlab import Session, Trace
from protonlab.capture import _proton

pytestmark = pytest.mark.gpu

METRICS = _proton.require().has_phases  # Triton 3.6 writes no metrics into a trace


def hooks(trace: Trace) -> dict[str, str]:
    """Kernel -> what the session's hook did with it."""
    return dict(zip(trace.kernels["name"], trace.kernels["hook"], strict=True))


def test_launches_are_marked_as_the_hook_saw_them(tmp_path: Path) -> None:
    with Session(data="trace", exclude="plain") as session:
        add()
        plain()
        torch.ones(1000, device="cuda").sum().item()
    trace = session.trace
    found = hooks(trace)
    assert found["add_kernel [n=128]"] == "kept"
    assert found["plain_kernel"] == "filtered"
    others = {state for name, state in found.items() if "add_k" not in name and "plain" not in name}
    assert others == {"unseen"}, found
    launch = trace.events[trace.events["name"] == "add_kernel [n=128]"].iloc[0]
    assert launch["kernel"] == "add_kernel"
    assert "1 kept, 1 filtered" in trace.summary
    trace.save(tmp_path / "t.json.gz")
    again = protonlab.load(tmp_path / "t.json.gz")
    assert isinstance(again, Trace)
    assert again.events.equals(trace.events)


def test_another_sessions_metrics_stay_out() -> None:
    add()
    with Session("everything"), Session("mine", data="trace", include="plain") as mine:
        add()
        plain()
    trace = mine.trace
    launches = trace.events[trace.events["kind"] == "kernel"]
    added = launches[launches["name"].astype(str).str.startswith("add_kernel")]
    assert len(added) == 1, trace.kernels
    for metric in ("bytes", "n_tokens"):
        assert metric not in trace.events or added[metric].isna().all(), added.T
    assert hooks(trace)["plain_kernel"] == "kept"


@pytest.mark.skipif(not METRICS, reason="Triton 3.6 writes no metrics into a trace")
def test_own_metrics_stay() -> None:
    with Session("mine", data="trace", record="bytes") as mine, Session("everything"):
        add()
    trace = mine.trace
    assert trace.kernels.set_index("name").loc["add_kernel [n=128]", "bytes"] == 12 * 128
    assert "n_tokens" not in trace.kernels


def test_timeline_and_gaps_of_a_session() -> None:
    pytest.importorskip("plotly")  # a machine that only records has none
    add()
    with Session("t", data="trace") as session:
        add()
        torch.cuda._sleep(1_000_000)  # type: ignore[no-untyped-call]
        add()
    trace = session.trace
    device = trace.idle.iloc[0]
    assert device["name"] == "GPU"
    assert device["launches"] >= 3
    assert 0 < device["busy_ns"] <= device["window_ns"]
    figure = protonlab.timeline(trace)
    assert f"GPU idle {100 * device['idle']:.1f} %" in figure.layout.title.text or (
        device["idle"] > 0.9995
    )
