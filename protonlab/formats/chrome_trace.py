"""Chrome traces to Trace: Proton's since 3.6, its instrumentation backend's, and saved ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import ijson
import msgspec
import numpy as np
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats._flatten import column_of, objects_of
from protonlab.formats._tree import collector_paused
from protonlab.model import MetricColumn, ProfileInfo
from protonlab.model.frames import METADATA_SCOPE, METRIC_FRAME
from protonlab.model.labels import label_of
from protonlab.model.trace import EVENT_KINDS, Lane, Trace, empty_events
from protonlab.model.trace_document import FREQUENCY, TRACE_VERSION

_EXPECTED = "a chrome trace that Proton wrote"
_KINDS = {"kernel": "kernel", "scope": "scope", "metric": "scope"}
_Key = tuple[int | str | None, int | str | None]


class Event(msgspec.Struct, gc=False):
    """One event; which fields it has depends on ``ph``, its phase."""

    ph: str
    name: str = ""
    cat: str = ""
    ts: float | None = None
    dur: float | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    id: int | None = None
    args: dict[str, Any] = {}


class Document(msgspec.Struct):
    """The file; ``protonlab`` holds what a chrome trace has no place for."""

    traceEvents: list[Event]
    baseTimeNanoseconds: int | None = None
    protonlab: dict[str, Any] = {}


class Saved(msgspec.Struct):
    """What a saved trace carries under ``protonlab``."""

    version: int = TRACE_VERSION
    info: ProfileInfo = msgspec.field(default_factory=ProfileInfo)
    unit: Literal["ns", "cycles"] | None = None
    lanes: list[tuple[str, int | str | None, int | str | None, int]] = []
    columns: list[tuple[str, str, str, bool]] = []


def read_chrome_trace(
    data: bytes, *, source: str, info: ProfileInfo | None = None, max_events: int = 20_000_000
) -> Trace:
    """Read a chrome trace.

    Parameters
    ----------
    data
        JSON.
    source
        What to call the data in errors: the file's path.
    info
        How the trace came to be; by default what the file says.
    max_events
        Largest trace to accept.

    Raises
    ------
    ProfileFormatError
        If the data is no trace of Proton's or larger than the bound.
    """
    with collector_paused():
        document, saved = _decode(data, source)
        if len(document.traceEvents) > max_events:
            raise ProfileFormatError(
                f"{source}: more than max_frames={max_events} events; pass a larger max_frames to "
                "load it"
            )
        return _Reader(document, saved, source).trace(info)


def _decode(data: bytes, source: str) -> tuple[Document, Saved]:
    try:
        document = _whole(data)
        saved = msgspec.convert(document.protonlab, Saved)
    except msgspec.ValidationError as error:
        raise ProfileFormatError(f"{source}: {error}; expected {_EXPECTED}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProfileFormatError(
            f"{source}: not whole JSON: {error}. The file may be cut off; expected {_EXPECTED}"
        ) from None
    if saved.version != TRACE_VERSION:
        raise ProfileFormatError(
            f"{source}: written by a protonlab with trace version {saved.version!r}; this one "
            f"reads {TRACE_VERSION}. Update protonlab."
        )
    return document, saved


def _whole(data: bytes) -> Document:
    """Decode the document; Triton 3.6 writes one a stream, one behind the other."""
    try:
        return msgspec.json.decode(data, type=Document)
    except msgspec.DecodeError as error:
        if "trailing characters" not in str(error):
            raise
        try:
            parts = list(ijson.items(data, "", multiple_values=True, use_float=True))
        except ijson.JSONError:
            raise error from None
    documents = [msgspec.convert(part, Document) for part in parts]
    for other in documents[1:]:
        documents[0].traceEvents.extend(other.traceEvents)
    return documents[0]


class _Reader:
    """One document on its way into a table."""

    def __init__(self, document: Document, saved: Saved, source: str) -> None:
        self.document, self.saved, self.source = document, saved, source
        in_cycles = any(FREQUENCY in event.args for event in document.traceEvents)
        self.unit: Literal["ns", "cycles"] = saved.unit or ("cycles" if in_cycles else "ns")
        self.lanes = [Lane(*lane) for lane in saved.lanes]
        self.lane_of: dict[_Key, int] = {
            (lane.process, lane.thread): index for index, lane in enumerate(self.lanes)
        }
        self.paths: dict[tuple[str, ...], tuple[tuple[str, ...], str]] = {}
        self.metrics: dict[tuple[str, bool], tuple[list[int], list[Any]]] = {}

    def trace(self, info: ProfileInfo | None) -> Trace:
        document = self.document
        if not self.saved.lanes:
            self._name_lanes()
        info = info or self.saved.info
        rows = list(self._rows())
        if not rows:
            return Trace(empty_events(), tuple(self.lanes), info=info)
        name, kind, lane, start, duration, path, to_lane, flow = zip(*rows, strict=True)
        codes, names = pd.factorize(objects_of(name))
        labels = objects_of([label_of(each, info.cells) for each in names])[codes]
        events = pd.DataFrame(
            {
                "name": pd.Categorical(objects_of(name)),
                "label": pd.Categorical(labels),
                "kind": pd.Categorical(kind, list(EVENT_KINDS)),
                "lane": np.array(lane, dtype=np.int64),
                f"start_{self.unit}": np.array(start, dtype=np.int64),
                f"duration_{self.unit}": pd.array(duration, dtype="Int64"),
                "path": objects_of(path),
                "to_lane": pd.array(to_lane, dtype="Int64"),
                "flow_id": pd.array(flow, dtype="Int64"),
            },
            index=pd.RangeIndex(len(rows), name="event_id"),
        )
        columns = self._metric_columns(events)
        base = document.baseTimeNanoseconds
        return Trace(events, tuple(self.lanes), columns, self.unit, base, info)

    def _name_lanes(self) -> None:
        """Name lanes as the file does, and number them in its order."""
        names: dict[_Key, str] = {}
        order: dict[_Key, int] = {}
        for event in self.document.traceEvents:
            key = (event.pid, event.tid)
            if event.ph == "M" and event.name == "thread_name":
                names[key] = str(event.args.get("name", event.tid))
            elif event.ph == "M" and event.name == "thread_sort_index":
                index = event.args.get("sort_index", 0)
                order[key] = index if isinstance(index, int) else 0
            elif event.ph != "M":
                names.setdefault(key, _lane_name(event))
        for key, name in names.items():
            self.lane_of[key] = len(self.lanes)
            self.lanes.append(Lane(name, *key, order.get(key, 0)))

    def _rows(self) -> Any:
        """Yield rows of the table; the end of an arrow completes the row of its start."""
        arrows: dict[int, list[Any]] = {}
        rows: list[list[Any]] = []
        for number, event in enumerate(self.document.traceEvents):
            lane = self.lane_of.get((event.pid, event.tid), 0)
            if event.ph == "s" and event.id is not None:
                start = self._time(event.ts, event, number)
                arrows[event.id] = [event.name, "flow", lane, start, None, (), None, event.id]
                rows.append(arrows[event.id])
            elif event.ph == "f" and event.id in arrows:
                arrow = arrows.pop(event.id)
                arrow[4] = self._time(event.ts, event, number) - arrow[3]
                arrow[6] = lane
            elif event.ph == "X":
                start = self._time(event.ts, event, number)
                duration = self._time(event.dur, event, number)
                if duration < 0:
                    raise self._wrong(number, event, f"dur {event.dur}; expected 0 or more")
                path, overhead = self._path(event, number)
                known = "scope" if FREQUENCY in event.args else _KINDS.get(event.cat, "other")
                kind = overhead or known
                name = path[-1] if event.cat == "metric" and path else event.name
                self._note_metrics(len(rows), event)
                rows.append([name, kind, lane, start, duration, path, None, None])
        return rows

    def _time(self, value: float | None, event: Event, number: int) -> int:
        if value is None or not np.isfinite(value):
            raise self._wrong(number, event, "no ts or dur; expected microseconds")
        rate = event.args.get(FREQUENCY, 1000.0)
        if not isinstance(rate, (int, float)):
            raise self._wrong(number, event, f"{FREQUENCY} {rate!r}; expected a number")
        return round(value * rate)

    def _path(self, event: Event, number: int) -> tuple[tuple[str, ...], str]:
        """Path of an event, and the kind of what profiling itself launched; each path once."""
        names = event.args.get("call_stack", [])
        try:
            found = self.paths.get(tuple(names))
        except TypeError:
            found = None
        if found is None or not isinstance(names, list):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self._wrong(number, event, "a call_stack that is no list of names")
            found = self.paths[tuple(names)] = (tuple(names), _overhead(names))
        return found

    def _wrong(self, number: int, event: Event, what: str) -> ProfileFormatError:
        return ProfileFormatError(f"{self.source}: event {number} ({event.name!r}) has {what}")

    def _note_metrics(self, row: int, event: Event) -> None:
        args: Mapping[str, Any] = event.args
        recorded = args.get("metrics", {})
        for name, value in recorded.items() if isinstance(recorded, dict) else ():
            self._note(name, True, row, _number(value))
        for name, value in args.items():
            if name not in ("call_stack", "metrics") and isinstance(value, (int, float, str)):
                self._note(name, False, row, value)

    def _note(self, name: str, additive: bool, row: int, value: Any) -> None:
        rows, values = self.metrics.setdefault((name, additive), ([], []))
        rows.append(row)
        values.append(value)

    def _metric_columns(self, events: pd.DataFrame) -> tuple[MetricColumn, ...]:
        known = {(c.raw, c.additive): c for c in (MetricColumn(*each) for each in
                                                  self.saved.columns)}  # fmt: skip
        columns = []
        for (raw, recorded), (rows, values) in self.metrics.items():
            data, summable = column_of(np.array(rows, dtype=np.int64), values, len(events))
            named = MetricColumn.from_raw(raw, events.columns)
            additive = recorded and summable and named.additive
            column = MetricColumn(named.column, raw, named.unit, additive)
            column = known.get((raw, additive), column)
            columns.append(column)
            events[column.column] = data
        return tuple(columns)


def _overhead(path: list[str]) -> str:
    if METRIC_FRAME in path:
        return "metric"
    return "metadata" if any(name.partition(":")[0] == METADATA_SCOPE for name in path) else ""


def _number(value: Any) -> Any:
    """Read a metric: Proton writes numbers as text."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value


def _lane_name(event: Event) -> str:
    """Name a lane that the file does not: Triton 3.6 gives the number of a stream only."""
    if isinstance(event.tid, str):
        return event.tid if event.pid is None else f"{event.pid}, {event.tid}"
    return f"GPU Stream {event.tid}" if event.cat == "kernel" else f"Thread {event.tid}"
