"""When a GPU was at work: by hand, and on recorded traces against a slow count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import protonlab
from protonlab import Trace
from protonlab.model.occupancy import stretches

PROFILES = Path(__file__).parent.parent / "profiles"


def trace_of(events: list[dict[str, Any]]) -> Trace:
    trace = protonlab.load(json.dumps({"traceEvents": events}).encode())
    assert isinstance(trace, Trace)
    return trace


def launch(name: str, start: float, duration: float, stream: int = 7, device: int = 0) -> Any:
    times = {"ts": start, "dur": duration}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, **times}


def test_stretches_unite_what_overlaps_or_touches() -> None:
    starts = np.array([30, 0, 5, 10, 50, 52], dtype=np.int64)
    ends = np.array([40, 8, 10, 12, 60, 55], dtype=np.int64)
    begins, stops = stretches(starts, ends)
    assert (begins.tolist(), stops.tolist()) == ([0, 30, 50], [12, 40, 60])
    assert not len(stretches(starts[:0], ends[:0])[0])


def test_idle_share_of_gpu_and_streams_by_hand() -> None:
    trace = trace_of(
        [
            launch("a", 10, 10),
            launch("b", 15, 10, stream=9),  # overlaps a: the GPU is busy from 10 to 25
            launch("c", 60, 5),
            launch("d", 100, 10, stream=9),
            {"ph": "X", "cat": "scope", "name": "step", "pid": 0, "tid": 0, "ts": 0, "dur": 500},
        ]
    )
    assert trace.idle.columns.tolist() == [
        "name", "kind", "launches", "busy_ns", "window_ns", "idle",
    ]  # fmt: skip
    assert trace.idle.to_numpy().tolist() == [
        ["GPU", "gpu", 4, 30_000, 100_000, 0.7],
        ["GPU Stream 7", "stream", 2, 15_000, 100_000, 0.85],
        ["GPU Stream 9", "stream", 2, 20_000, 100_000, 0.8],
    ]
    assert trace.gaps.to_dict("records") == [
        {"name": "GPU", "start_ns": 25_000, "duration_ns": 35_000, "before": "b", "after": "c"},
        {"name": "GPU", "start_ns": 65_000, "duration_ns": 35_000, "before": "c", "after": "d"},
    ]


def test_gpus_of_one_process_are_kept_apart() -> None:
    trace = trace_of([launch("a", 0, 10), launch("b", 90, 10), launch("c", 40, 10, device=1)])
    assert trace.idle[["name", "idle"]].to_numpy().tolist() == [
        ["GPU 0", 0.8], ["GPU Stream 7", 0.8], ["GPU 1", 0.0], ["GPU Stream 7", 0.0],
    ]  # fmt: skip
    assert trace.gaps["duration_ns"].tolist() == [80_000]


def test_neighbours_of_a_gap_ran_on_its_own_gpu() -> None:
    both = [launch("a", 0, 10), launch("b", 40, 10)]
    other = [launch("c", 5, 5, device=1), launch("d", 40, 5, device=1)]
    gaps = trace_of([*both, *other]).gaps
    assert gaps[["name", "before", "after"]].to_numpy().tolist() == [
        ["GPU 0", "a", "b"], ["GPU 1", "c", "d"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path", sorted(PROFILES.glob("*trace*.chrome_trace*")), ids=lambda path: path.name
)
def test_recorded_trace_by_a_slow_count(path: Path) -> None:
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    events = trace.events[trace.events["lane"].isin(trace.gpu_lanes)]
    events = events[events["kind"] != "flow"].sort_values("start_ns")
    busy = reached = 0
    for start, duration in zip(events["start_ns"], events["duration_ns"], strict=True):
        busy += max(0, start + duration - max(start, reached))
        reached = max(reached, start + duration)
    device = trace.idle.iloc[0]
    window = reached - int(events["start_ns"].min())
    assert (device["busy_ns"], device["window_ns"]) == (busy, window)
    assert device["idle"] == pytest.approx(1 - busy / window)
    assert trace.gaps["duration_ns"].sum() == window - busy
    assert trace.gaps["duration_ns"].is_monotonic_decreasing


@pytest.mark.parametrize("events", [[], [{"ph": "X", "name": "x", "ts": 1, "dur": 2, "tid": 1}]])
def test_without_a_gpu_there_is_nothing_to_say(events: list[dict[str, Any]]) -> None:
    trace = trace_of(events)
    assert trace.idle.empty
    assert trace.gaps.empty
    assert pd.api.types.is_float_dtype(trace.idle["idle"])


def test_one_launch_without_duration_has_no_share() -> None:
    (row,) = trace_of([launch("a", 1, 0)]).idle[:1].to_dict("records")
    assert (row["busy_ns"], row["window_ns"]) == (0, 0)
    assert np.isnan(row["idle"])
