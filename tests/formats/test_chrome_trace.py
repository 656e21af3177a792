"""Chrome traces: by hand to the nanosecond, recorded ones against the JSON itself, and bad ones."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from sample_traces import PROFILES, RECORDED, by_hand, event, loaded

import protonlab
from protonlab import ProfileFormatError, Trace
from protonlab.model import ProfileInfo
from protonlab.model.trace import Lane


def test_by_hand() -> None:
    trace = loaded(by_hand())
    assert trace.base_time_ns == 1795965398339817054
    assert trace.unit == "ns"
    assert trace.lanes == (Lane("CPU Thread 0", 0, 0), Lane("GPU Stream 7", 0, 200007, 9))
    events = trace.to_dataframe()
    assert events["name"].tolist() == (
        ["step", "step", "matmul", "launch->kernel", "matmul", "copy"]
    )
    assert events["kind"].tolist() == ["scope", "scope", "kernel", "flow", "kernel", "metadata"]
    assert events["lane"].tolist() == ["CPU Thread 0"] * 2 + ["GPU Stream 7", "CPU Thread 0"] + (
        ["GPU Stream 7"] * 2
    )
    assert events["start_ns"].tolist() == [0, 40_000, 10_001, 250, 20_002, 30_000]
    assert events["duration_ns"].tolist() == [37_500, 1_000, 2_500, 9_751, 3_500, 9_000]
    assert events["path"][2] == ("ROOT", "step", "matmul")
    assert events["to_lane"][3] == "GPU Stream 7"
    assert events["flow_id"][3] == 3
    assert events["bytes"].tolist() == [pd.NA, pd.NA, 100, pd.NA, 7, pd.NA]
    assert events["n"][1] == 4
    assert events["scope_id"][0] == 82


def test_kernels_by_hand() -> None:
    (row,) = loaded(by_hand()).kernels.to_dict("records")
    assert row == {
        "name": "matmul", "label": "matmul", "count": 2, "time_ns": 6000, "min_ns": 2500,
        "median_ns": 3000.0, "max_ns": 3500, "bytes": 107, "flops16": 8.5,
    }  # fmt: skip
    (scope,) = loaded(by_hand()).scopes.to_dict("records")
    assert (scope["count"], scope["time_ns"], scope["n"]) == (2, 38_500, 4)
    assert repr(loaded(by_hand())) == (
        "<Trace: 2 launches of 1 kernel, 2 scopes in 2 lanes over 41.0 µs>"
    )


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_trace_has_the_times_of_its_json(path: Path) -> None:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    document = json.loads(text, parse_float=Decimal)
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    assert trace.base_time_ns == document.get("baseTimeNanoseconds")
    expected = [(each["ts"], each["dur"]) for each in document["traceEvents"] if each["ph"] == "X"]
    timed = trace.events[trace.events["kind"] != "flow"]
    found = zip(timed[trace.start].tolist(), timed[trace.duration].tolist(), strict=True)
    assert [(1000 * start, 1000 * length) for start, length in expected] == list(found)
    kernels = [each for each in document["traceEvents"] if each.get("cat") == "kernel"]
    own = [each for each in kernels if "__proton_launch_metadata" not in each["args"]["call_stack"]]
    assert int(trace.kernels["count"].sum()) == len(own)
    assert int(trace.kernels["time_ns" if trace.unit == "ns" else "time_cycles"].sum()) == sum(
        1000 * each["dur"] for each in own
    )
    arrows = sum(each["ph"] == "s" for each in document["traceEvents"])
    assert (trace.events["kind"] == "flow").sum() == arrows


def test_instrumentation_stays_in_cycles() -> None:
    trace = protonlab.load(PROFILES / "instrumentation_3.9.0.chrome_trace.gz")
    assert isinstance(trace, Trace)
    assert trace.unit == "cycles"
    assert trace.kernels.empty
    assert trace.scopes["name"].tolist() == ["compute", "load", "store"]
    first = trace.to_dataframe().iloc[0]
    assert (first["start_cycles"], first["duration_cycles"]) == (46, 124)
    assert first["lane"] == "kern Core0 CTA44, warp 0 (line 0)"
    assert first["Init Time_ns"] == 1795966973202841344


def test_cycles_follow_the_frequency_that_the_file_states() -> None:
    warp = {"pid": "k Core0 CTA0", "tid": "warp 0 (line 3)"}
    more = {"cat": "k", "place": warp, "args": {"Frequency (MHz)": 1980.0}}
    trace = loaded({"traceEvents": [event("load", 0.5, 0.25, ["k"], **more)]})
    assert trace.events[["start_cycles", "duration_cycles"]].iloc[0].tolist() == [990, 495]


def test_hook_marks_kernels_and_drops_metrics_of_other_hooks(tmp_path: Path) -> None:
    trace = loaded(by_hand()).with_hook(
        {"matmul": "matmul_bf16"}, {"matmul_bf16": {"bytes"}}, {"copy"}, {"matmul_bf16": {"bytes"}}
    )
    events = trace.events
    assert events["kernel"].astype(object).where(events["kernel"].notna(), None).tolist() == (
        [None, None, "matmul_bf16", None, "matmul_bf16", None]
    )
    assert events["hook"][[2, 4]].tolist() == ["kept", "kept"]
    assert events["hook"].notna().sum() == 2  # not the scopes, nor what profiling launched
    assert events["bytes"].tolist() == [pd.NA, pd.NA, 100, pd.NA, 7, pd.NA]
    assert events["flops16"].isna().all()
    assert events["n"][1] == 4  # a scope's metric is nobody's hook's
    assert trace.kernels["hook"].tolist() == ["kept"]
    assert trace.summary == ("2 launches of 1 kernel (1 kept), 2 scopes in 2 lanes over 41.0 µs")
    trace.save(tmp_path / "t.json")
    again = protonlab.load(tmp_path / "t.json")
    assert isinstance(again, Trace)
    pd.testing.assert_frame_equal(again.kernels.drop(columns="flops16", errors="ignore"),
                                  trace.kernels)  # fmt: skip
    assert again.events["hook"].equals(trace.events["hook"])
    assert again.events["kernel"].equals(trace.events["kernel"])


def test_filtered_and_unseen_kernels_are_told_apart() -> None:
    document = by_hand()
    document["traceEvents"].append(event("gemm", 50.0, 1.0, ["gemm"]))
    trace = loaded(document).with_hook({}, set(), {"matmul"})
    assert dict(zip(trace.kernels["name"], trace.kernels["hook"], strict=True)) == {
        "matmul": "filtered", "gemm": "unseen",
    }  # fmt: skip
    assert trace.events["bytes"].isna().all()
    joined = Trace.joined([trace, trace], ProfileInfo(name="both"))
    assert joined.kernels["hook"].tolist() == ["filtered", "unseen"]
    assert joined.summary.startswith("6 launches of 2 kernels (1 filtered, 1 unseen)")


def test_torch_profilers_trace() -> None:
    """Fields as torch.profiler writes them: processes are devices, copies have their category."""
    gpu = {"pid": 0, "tid": 7}
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 11, "tid": 12, "ts": 5.5,
         "dur": 3.25, "args": {"External id": 1, "Input Dims": [[2, 2]]}},
        {"ph": "X", "cat": "kernel", "name": "gemm", **gpu, "ts": 9.125, "dur": 4.0,
         "args": {"device": 0, "stream": 7, "correlation": 3, "grid": [1, 1, 1]}},
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 3, "pid": 11, "tid": 12, "ts": 6.0},
        {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 3, "pid": 11, "tid": 12, "ts": 6.5},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 3, **gpu, "ts": 9.125, "bp": "e"},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH", **gpu, "ts": 14.0, "dur": 1.0},
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 20.0},
        {"ph": "M", "name": "thread_name", **gpu, "args": {"name": "stream 7 "}},
    ]  # fmt: skip
    trace = loaded({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events,
                    "baseTimeNanoseconds": 17})  # fmt: skip
    table = trace.to_dataframe()
    assert table["kind"].tolist() == ["scope", "kernel", "flow", "flow", "copy"]
    assert table["start_ns"].tolist() == [5500, 9125, 6000, 6500, 14_000]
    assert table["duration_ns"].tolist() == [3250, 4000, 3125, pd.NA, 1000]
    assert table["lane"].tolist() == ["Thread 12", "stream 7 ", "Thread 12", "Thread 12",
                                      "stream 7 "]  # fmt: skip
    assert table["correlation"][1] == 3
    assert [trace.lanes[lane].name for lane in trace.gpu_lanes] == ["stream 7 "]


def test_trace_without_events() -> None:
    trace = loaded({"traceEvents": []})
    assert repr(trace) == "<Trace: no event>"
    assert trace.kernels.empty
    assert trace.to_dataframe().empty


def test_joined_by_base_time() -> None:
    first, second = loaded(by_hand()), loaded(
        by_hand() | {"baseTimeNanoseconds": 1795965398339817054 + 1_000_000}
    )  # fmt: skip
    joined = Trace.joined([first, second], ProfileInfo(name="both"))
    assert joined.lanes == first.lanes
    assert joined.kernels["count"].tolist() == [4]
    starts = joined.events.loc[joined.events["kind"] == "kernel", "start_ns"]
    assert starts.tolist() == [10_001, 20_002, 1_010_001, 1_020_002]
    assert Trace.joined([], ProfileInfo(name="none")).events.empty


def test_gzipped_tree() -> None:
    tree = (PROFILES / "tree_scopes_3.9.0.hatchet").read_bytes()
    profile = protonlab.load(gzip.compress(tree))
    assert isinstance(profile, protonlab.Profile)
    assert profile.frames.equals(protonlab.load(tree).frames)  # type: ignore[union-attr]


def test_gzipped_in_several_members() -> None:
    """As bgzip writes files, and as `cat` puts gzipped ones together."""
    tree = (PROFILES / "tree_scopes_3.9.0.hatchet").read_bytes()
    members = [gzip.compress(tree[:1000]), gzip.compress(tree[1000:])]
    found = protonlab.load(b"".join(members), max_bytes=len(tree))
    assert found.frames.equals(protonlab.load(tree).frames)  # type: ignore[union-attr]
    with pytest.raises(ProfileFormatError, match="more than max_bytes"):
        protonlab.load(b"".join(members), max_bytes=len(tree) - 1)
    with pytest.raises(ProfileFormatError, match="not whole gzip; the file may be cut off"):
        protonlab.load(members[0] + members[1][:-9])


def test_documents_behind_each_other_are_one_trace() -> None:
    """Triton 3.6 writes one document a stream."""
    whole = json.loads((PROFILES / "trace_3.6.0.chrome_trace").read_text())
    events = whole["traceEvents"]
    parts = [{**whole, "traceEvents": part} for part in (events[:20], events[20:])]
    text = "\n".join(map(json.dumps, parts))
    together = protonlab.load(text.encode())
    assert isinstance(together, Trace)
    pd.testing.assert_frame_equal(together.events, loaded(whole).events)
    with pytest.raises(ProfileFormatError, match="not whole JSON"):
        protonlab.load(text[:-9].encode())
