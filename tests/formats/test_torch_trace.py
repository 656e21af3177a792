"""A chrome trace that torch.profiler writes here and now, of work on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import protonlab
from protonlab import Trace

# In a process of its own: where torch.profiler ran, Proton may not get CUPTI any more.
CODE = """
import sys, torch
from torch.profiler import ProfilerActivity, profile, record_function
with profile(activities=[ProfilerActivity.CPU]) as recorded, record_function("step"):
    x = torch.randn(64, 64, requires_grad=True)
    (x @ x).relu().sum().backward()
recorded.export_chrome_trace(sys.argv[1])
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("torch") / "trace.json"
    subprocess.run([sys.executable, "-c", CODE, str(path)], check=True, capture_output=True)
    return path


def test_times_and_base_time_are_those_of_the_file(path: Path) -> None:
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    document = json.loads(path.read_text(), parse_float=Decimal)
    assert trace.base_time_ns == document["baseTimeNanoseconds"]
    expected = [(1000 * each["ts"], 1000 * each["dur"])
                for each in document["traceEvents"] if each["ph"] == "X"]  # fmt: skip
    timed = trace.events[trace.events["kind"] != "flow"]
    assert list(zip(timed["start_ns"], timed["duration_ns"], strict=True)) == expected


def test_operators_are_scopes_nested_in_the_step(path: Path) -> None:
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    scopes = trace.events[trace.events["kind"] == "scope"].set_index("name")
    assert {"step", "aten::mm", "aten::relu"} <= set(scopes.index)
    assert trace.idle.empty  # no GPU took part
    boxes = {
        names[0]: row
        for drawn in protonlab.timeline(trace, max_boxes=3000).data
        for names, row in zip(drawn.customdata, drawn.y, strict=True)
    }
    assert boxes["aten::matmul"] > boxes["step"]
    del boxes["PyTorch Profiler (0)"]  # in a lane of its own
    assert boxes["step"] == min(boxes.values())


def test_saved_one_is_the_same(path: Path, tmp_path: Path) -> None:
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    protonlab.export_trace(trace, tmp_path / "t.json.gz")
    again = protonlab.load(tmp_path / "t.json.gz")
    assert isinstance(again, Trace)
    assert again.events.equals(trace.events)
    assert again.base_time_ns == trace.base_time_ns
