"""Writing a trace as a chrome trace, event by event."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from protonlab.model.document import is_missing
from protonlab.model.writing import compact_json, write_atomically

TRACE_VERSION = 1
FREQUENCY = "Frequency (MHz)"
# Where no frequency is recorded, one cycle is drawn as one nanosecond.
_DRAWN_MHZ = 1000.0


def write_trace(trace: Any, path: Path) -> None:
    """Write a `Trace` atomically: the target is replaced when the whole trace is on disk."""
    write_atomically(_document(trace), path)


def _document(trace: Any) -> Iterator[str]:
    extra = {
        "version": TRACE_VERSION,
        "info": dataclasses.asdict(trace.info),
        "unit": trace.unit,
        "lanes": [dataclasses.astuple(lane) for lane in trace.lanes],
        "columns": [dataclasses.astuple(column) for column in trace.columns],
        "hooks": {
            name: {"names": column.cat.categories.tolist(), "codes": column.cat.codes.tolist()}
            for name in ("kernel", "hook")
            if (column := trace.events[name]).notna().any()
        },
    }
    head: dict[str, Any] = {"displayTimeUnit": "us" if trace.unit == "ns" else "ns"}
    if trace.base_time_ns is not None:
        head["baseTimeNanoseconds"] = trace.base_time_ns
    yield compact_json(head)[:-1] + f',"protonlab":{compact_json(extra)},"traceEvents":['
    events = [*_lane_events(trace), *_events(trace)]
    for position, event in enumerate(events):
        yield f"{',' if position else ''}\n{event}"
    yield "\n]}\n"


def _lane_events(trace: Any) -> Iterator[str]:
    for position, lane in enumerate(trace.lanes):
        place = _place(trace, position)
        yield compact_json({"ph": "M", "name": "thread_name", **place, "args": {"name": lane.name}})
        order = {"sort_index": lane.order}
        yield compact_json({"ph": "M", "name": "thread_sort_index", **place, "args": order})


def _events(trace: Any) -> Iterator[str]:
    events = trace.events
    raw = [(each.raw, each.additive, events[each.column].tolist()) for each in trace.columns]
    rows = zip(
        *(
            events[name].astype(object).tolist()
            for name in (
                *("name", "kind", "lane", trace.start, trace.duration),
                *("path", "to_lane", "flow_id"),
            )
        ),
        strict=True,
    )
    for row, (name, kind, lane, start, duration, path, to_lane, flow) in enumerate(rows):
        place = _place(trace, lane)
        if kind == "flow":
            arrow = {"cat": "flow", "name": name, "id": flow, "bp": "e"}
            yield _at({"ph": "s", **arrow, **place}, start)
            if not pd.isna(duration):
                yield _at({"ph": "f", **arrow, **_place(trace, to_lane)}, start + duration)
            continue
        args: dict[str, Any] = {"call_stack": list(path)}
        metrics: dict[str, Any] = {}
        for key, additive, values in raw:
            if not is_missing(values[row]):
                (metrics if additive else args)[key] = values[row]
        if metrics:
            args["metrics"] = metrics
        rate = 1.0 if trace.unit == "ns" else args.get(FREQUENCY, _DRAWN_MHZ) / _DRAWN_MHZ
        event = {"ph": "X", "cat": kind, "name": name, **place, "args": args}
        yield _at(event, start, duration, rate)


def _at(event: dict[str, Any], start: int, duration: int | None = None, rate: float = 1.0) -> str:
    """Write an event at a time; its numbers keep all digits."""
    text = f',"ts":{_micro(start, rate)}'
    if duration is not None:
        text += f',"dur":{_micro(duration, rate)}'
    return f"{compact_json(event)[:-1]}{text}}}"


def _micro(time: int, rate: float) -> str:
    if rate != 1.0:
        return repr(time / rate / 1000)
    return f"{'-' if time < 0 else ''}{abs(time) // 1000}.{abs(time) % 1000:03d}"


def _place(trace: Any, lane: int) -> dict[str, Any]:
    process, thread = trace.lanes[lane].process, trace.lanes[lane].thread
    place = {"pid": process, "tid": thread}
    return {key: value for key, value in place.items() if value is not None}
