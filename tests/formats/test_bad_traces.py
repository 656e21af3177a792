"""Chrome traces that are refused, with the place and the reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from sample_traces import by_hand

import protonlab
from protonlab import ProfileFormatError


def changed(**fields: Any) -> bytes:
    document = by_hand()
    document["traceEvents"][5] |= fields
    return json.dumps(document).encode()


def with_hooks(codes: list[int], name: str = "kept") -> bytes:
    hooks = {"hook": {"names": [name], "codes": codes}}
    return json.dumps(by_hand() | {"protonlab": {"hooks": hooks}}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(ts=None), r"event 5 \('matmul'\) has no ts or dur; expected microseconds"),
        (changed(dur=-1.0), "has dur -1.0; expected 0 or more"),
        (changed(ts="soon"), r"Expected `float \| null`, got `str`.*traceEvents\[5\]"),
        (changed(args={"call_stack": [1]}), "has a call_stack that is no list of names"),
        (changed(args={"Frequency (MHz)": "x"}), "Frequency .MHz. 'x'; expected a number"),
        (changed(args={"Frequency (MHz)": 0}), "Frequency .MHz. 0; expected a number above 0"),
        (changed(ph=3), "expected a chrome trace that Proton wrote"),
        (b'{"traceEvents": 3}', "expected a chrome trace that Proton wrote"),
        (json.dumps(by_hand()).encode()[:-30], "not whole JSON"),
        (b'{"traceEvents": [], "protonlab": {"version": 99}}', "trace version 99; this one reads"),
        (b'{"traceEvents": [], "protonlab": {"info": 3}}', "expected a chrome trace"),
        (with_hooks([0]), "column 'hook' does not fit its 6 events .it has 1"),
        (with_hooks([7] * 6), "column 'hook' does not fit its 6 events"),
        (with_hooks([0] * 6, "dropped"), "'dropped' is none of kept, filtered, unseen"),
        (b'{"traceEvents": ' + b"[" * 100_000, "traceEvents"),
        (gzip.compress(b"hello", mtime=0), "unknown contents, starting with b'hello'"),
        (gzip.compress(json.dumps(by_hand()).encode(), mtime=0)[:-20], "not whole gzip"),
        (b"\x1f\x8bnothing of the kind", "not whole gzip"),
    ],
)
def test_bad_file_is_refused_with_place_and_reason(
    data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "some.chrome_trace"
    path.write_bytes(data)
    with pytest.raises(ProfileFormatError, match=message) as caught:
        protonlab.load(path)
    assert str(caught.value).startswith(str(path))


def test_bounds() -> None:
    with pytest.raises(ProfileFormatError, match="more than max_frames=9 events; pass a larger"):
        protonlab.load(json.dumps(by_hand()).encode(), max_frames=9)
    bomb = gzip.compress(b" " * 10_000_000)
    with pytest.raises(ProfileFormatError, match="more than max_bytes=1000000 when unzipped"):
        protonlab.load(bomb, max_bytes=1_000_000)


@pytest.mark.parametrize("args", [None, 5, [], "x"])
def test_lane_whose_name_cannot_be_read_goes_by_its_number(args: object) -> None:
    document = by_hand()
    for event in document["traceEvents"]:
        if event["ph"] == "M":
            event["args"] = args
    expected = protonlab.load(json.dumps(by_hand()).encode())
    trace = protonlab.load(json.dumps(document).encode())
    assert [(lane.process, lane.thread) for lane in trace.lanes] == [
        (lane.process, lane.thread) for lane in expected.lanes
    ]
    assert [lane.name for lane in trace.lanes] == [str(lane.thread) for lane in trace.lanes]
