"""Chrome traces for tests: recorded ones, and one small enough to work its numbers out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

import protonlab
from protonlab import Trace

PROFILES = Path(__file__).parent.parent / "profiles"
RECORDED = sorted(PROFILES.glob("*.chrome_trace*"))
CPU, GPU = {"pid": 0, "tid": 0}, {"pid": 0, "tid": 200007}


def event(name: str, start: float, duration: float, path: list[str], **more: Any) -> dict[str, Any]:
    args = {"call_stack": ["ROOT", *path], **more.pop("args", {})}
    place = more.pop("place", GPU)
    cat = more.pop("cat", "kernel")
    times = {"ts": start, "dur": duration}
    return {"ph": "X", "cat": cat, "name": name, "args": args, **times, **place}


def by_hand() -> dict[str, Any]:
    return {
        "baseTimeNanoseconds": 1795965398339817054,
        "displayTimeUnit": "us",
        "traceEvents": [
            {"ph": "M", "name": "thread_name", "args": {"name": "CPU Thread 0"}, **CPU},
            {"ph": "M", "name": "thread_name", "args": {"name": "GPU Stream 7"}, **GPU},
            {"ph": "M", "name": "thread_sort_index", "args": {"sort_index": 9}, **GPU},
            event("step", 0.0, 37.5, ["step"], cat="scope", place=CPU, args={"scope_id": 82}),
            event("step: <n, 4>", 40.0, 1.0, ["step"], cat="metric", place=CPU,
                  args={"metrics": {"n": "4"}}),
            event("matmul", 10.001, 2.5, ["step", "matmul"],
                  args={"metrics": {"bytes": "100", "flops16": "8.500000"}}),
            {"ph": "s", "cat": "flow", "name": "launch->kernel", "id": 3, "ts": 0.25, **CPU},
            {"ph": "f", "cat": "flow", "name": "launch->kernel", "id": 3, "ts": 10.001, **GPU},
            event("matmul", 20.002, 3.5, ["step", "matmul"], args={"metrics": {"bytes": "7"}}),
            event("copy", 30.0, 9.0, ["step", "__proton_launch_metadata", "matmul", "copy"]),
        ],
    }  # fmt: skip


def loaded(document: Any) -> Trace:
    trace = protonlab.load(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    return trace


def same(left: Trace, right: Trace) -> bool:
    pd.testing.assert_frame_equal(left.events, right.events)
    assert left.lanes == right.lanes
    assert left.columns == right.columns
    assert (left.unit, left.base_time_ns, left.info) == (right.unit, right.base_time_ns, right.info)
    return True
