"""Traces that were saved or exported: nothing is lost, and they stay chrome traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from sample_traces import PROFILES, RECORDED, by_hand, loaded, same

import protonlab
from protonlab import Trace
from protonlab.model import ProfileInfo


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_saved_trace_is_the_same_and_a_chrome_trace(path: Path, tmp_path: Path) -> None:
    trace = protonlab.load(path, info=ProfileInfo(name="t", gpu="NVIDIA H200", notes=("a",)))
    assert isinstance(trace, Trace)
    trace.save(tmp_path / "t.json")
    again = protonlab.load(tmp_path / "t.json")
    assert isinstance(again, Trace)
    assert same(trace, again)
    document = json.loads((tmp_path / "t.json").read_text())
    assert {each["ph"] for each in document["traceEvents"]} <= {"M", "X", "s", "f"}
    assert all({"ts", "name"} <= each.keys() for each in document["traceEvents"]
               if each["ph"] != "M")  # fmt: skip


def test_exported_trace_is_one_document_with_its_base_time(tmp_path: Path) -> None:
    whole = json.loads((PROFILES / "trace_3.6.0.chrome_trace").read_text())
    events = whole["traceEvents"]
    base = {"baseTimeNanoseconds": 1795965398339817054}
    parts = [{**whole, **base, "traceEvents": part} for part in (events[:20], events[20:])]
    (tmp_path / "in").write_text("\n".join(map(json.dumps, parts)))
    written = protonlab.export_trace(tmp_path / "in", tmp_path / "t.json.gz")
    data = (tmp_path / "t.json.gz").read_bytes()
    document = json.loads(gzip.decompress(data))
    assert document["baseTimeNanoseconds"] == base["baseTimeNanoseconds"]
    assert sum(each["ph"] == "X" for each in document["traceEvents"]) == len(events)
    again = protonlab.load(tmp_path / "t.json.gz")
    assert isinstance(again, Trace)
    assert same(written, again)
    assert protonlab.export_trace(again, tmp_path / "t.json") is again
    assert json.loads((tmp_path / "t.json").read_text()) == document


def test_export_refuses_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(protonlab.ProtonLabError, match="this is a Profile; record one with data="):
        protonlab.export_trace(PROFILES / "tree_scopes_3.9.0.hatchet", tmp_path / "t.json")
    assert not list(tmp_path.iterdir())


def test_failed_save_leaves_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("older")
    trace = loaded(by_hand())
    unwritable: Any = [object()] * 6
    broken = trace.events.assign(path=unwritable)
    with pytest.raises(TypeError):
        Trace(broken, trace.lanes, trace.columns).save(path)
    assert path.read_text() == "older"
    assert [file.name for file in tmp_path.iterdir()] == ["t.json"]
