"""Events of a chrome trace as one table, a column at a time, so that an event costs microseconds.

Most events share their arguments with many others, such as the launches of a kernel under the same
scopes. So arguments stay JSON until it is known which of them differ, and each is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats._flatten import column_of
from protonlab.formats._trace_event import Arguments, Event, LaneKey, lanes_of
from protonlab.model import MetricColumn
from protonlab.model.frames import FloatArray, IntArray, objects_of
from protonlab.model.labels import label_of
from protonlab.model.trace import EVENT_KINDS, Lane
from protonlab.model.trace_document import FREQUENCY

# Categories of Proton's, of torch.profiler's and of our own -> kind.
_KINDS = {
    **{"kernel": "kernel", "scope": "scope", "metric": "scope", "copy": "copy"},
    **{"gpu_memcpy": "copy", "gpu_memset": "copy", "python_function": "scope"},
    **{"cpu_op": "scope", "user_annotation": "scope", "gpu_user_annotation": "scope"},
}


class EventReader:
    """One document's events on their way into a table.

    Parameters
    ----------
    events
        All events, in the file's order.
    source
        What to call the file in errors.
    lanes
        Lanes that the file states; by default they follow from the events.

    Raises
    ------
    ProfileFormatError
        If an event is not as Proton writes it; the message names `source` and the event.
    """

    def __init__(self, events: Sequence[Event], source: str, lanes: Sequence[Lane] = ()) -> None:
        self.events, self.source = events, source
        self.lanes = list(lanes) or lanes_of(events)
        self._lane_of: dict[LaneKey, int] = {
            (lane.process, lane.thread): index for index, lane in enumerate(self.lanes)
        }
        self.rows = [
            event
            for event in events
            if event.ph == "X" or (event.ph == "s" and event.id is not None)
        ]
        self._is_arrow = np.fromiter((each.ph == "s" for each in self.rows), np.bool_)
        self._code, self._distinct = self._read_arguments()
        rates = [each.values.get(FREQUENCY, 1000.0) for each in self._distinct]
        self._rate = np.array([self._number(rate) for rate in rates])[self._code]
        self.unit: Literal["ns", "cycles"] = (
            "cycles" if any(each.in_cycles for each in self._distinct) else "ns"
        )

    def table(self, cells: Any, unit: Literal["ns", "cycles"]) -> pd.DataFrame:
        """Build the event table without metrics and without what a hook knows."""
        rows = self.rows
        start = self._times([each.ts for each in rows])
        ends = self._ends(start)
        names = objects_of(self._names())
        codes, distinct = pd.factorize(names, sort=True)
        labels = objects_of([label_of(name, cells) for name in distinct])
        label_codes, distinct_labels = pd.factorize(labels, sort=True)
        index = pd.Index
        return pd.DataFrame(
            {
                "name": pd.Categorical.from_codes(codes, index(distinct, dtype=object)),
                "label": pd.Categorical.from_codes(
                    label_codes[codes], index(distinct_labels, dtype=object)
                ),
                "kind": self._kinds(),
                "lane": np.array(self._lanes(rows), dtype=np.int64),
                f"start_{unit}": start,
                f"duration_{unit}": self._durations(ends),
                "path": objects_of([each.path for each in self._distinct])[self._code],
                "to_lane": self._at_ends(ends, self._lanes([event for _, event, _ in ends])),
                "flow_id": pd.array([each.id for each in rows], dtype="Int64"),
            },
            index=pd.RangeIndex(len(rows), name="event_id"),
        )

    def add_metrics(
        self, table: pd.DataFrame, known: Sequence[MetricColumn]
    ) -> tuple[MetricColumn, ...]:
        """Add a column for each metric and argument; `known` are those that the file describes."""
        stated = {(each.raw, each.additive): each for each in known}
        found: dict[tuple[str, bool], tuple[list[int], list[Any]]] = {}
        for code, arguments in enumerate(self._distinct):
            for name, additive, value in arguments.metrics():
                codes, values = found.setdefault((name, additive), ([], []))
                codes.append(code)
                values.append(value)
        columns = []
        for (raw, recorded), (codes, values) in found.items():
            data, summable = column_of(np.array(codes, dtype=np.int64), values, len(self._distinct))
            named = MetricColumn.from_raw(raw, table.columns)
            additive = recorded and summable and named.additive
            column = MetricColumn(named.column, raw, named.unit, additive)
            column = stated.get((raw, additive), column)
            columns.append(column)
            table[column.column] = data[self._code]
        return tuple(columns)

    def _read_arguments(self) -> tuple[IntArray, list[Arguments]]:
        """Give each row the number of its arguments. Arrows have none."""
        number: dict[bytes, int] = {}
        codes = [
            number.setdefault(b"{}" if event.ph == "s" else bytes(event.args), len(number))
            for event in self.rows
        ]
        code = np.array(codes, dtype=np.int64)
        distinct = []
        for text, position in number.items():
            try:
                distinct.append(Arguments.read(text))
            except msgspec.ValidationError:
                wrong = self.rows[codes.index(position)]
                raise self._wrong(wrong, "a call_stack that is no list of names") from None
        return code, distinct

    def _number(self, rate: Any) -> float:
        if isinstance(rate, (int, float)) and rate > 0:
            return float(rate)
        code = next(
            index for index, each in enumerate(self._distinct) if each.values.get(FREQUENCY) is rate
        )
        wrong = self.rows[int(np.argmax(self._code == code))]
        raise self._wrong(wrong, f"{FREQUENCY} {rate!r}; expected a number above 0")

    def _times(self, values: Sequence[float | None], at: IntArray | None = None) -> IntArray:
        """Read microseconds as ns or cycles; `at` tells which rows they are of, if not of all."""
        times: FloatArray = np.array(values, dtype=np.float64)
        good = np.isfinite(times)
        if not good.all():
            wrong = int(np.argmin(good))
            row = wrong if at is None else int(at[wrong])
            raise self._wrong(self.rows[row], "no ts or dur; expected microseconds")
        times *= self._rate if at is None else self._rate[at]
        whole: IntArray = np.rint(times).astype(np.int64)
        return whole

    def _durations(self, ends: Sequence[tuple[int, Event, int]]) -> Any:
        durations = self._times([0.0 if each.ph == "s" else each.dur for each in self.rows])
        if (durations < 0).any():
            wrong = self.rows[int(np.argmax(durations < 0))]
            raise self._wrong(wrong, f"dur {wrong.dur}; expected 0 or more")
        missing = self._is_arrow.copy()
        for row, _, span in ends:
            durations[row], missing[row] = span, False
        return pd.arrays.IntegerArray(durations, missing)

    def _ends(self, start: IntArray) -> list[tuple[int, Event, int]]:
        """Find each arrow's end: (row of the arrow, event of its end, how long it is)."""
        opened: dict[tuple[str, int | None], int] = {}
        ends: list[tuple[int, Event]] = []
        row = -1
        for event in self.events:
            if event.ph == "X":
                row += 1
            elif event.ph == "s" and event.id is not None:
                row += 1
                opened[event.name, event.id] = row
            elif event.ph == "f" and (at := opened.pop((event.name, event.id), None)) is not None:
                ends.append((at, event))
        at_rows = np.array([at for at, _ in ends], dtype=np.int64)
        spans = self._times([event.ts for _, event in ends], at_rows) - start[at_rows]
        return [(*end, span) for end, span in zip(ends, spans.tolist(), strict=True)]

    def _at_ends(self, ends: Sequence[tuple[int, Event, int]], values: Sequence[int]) -> Any:
        result = pd.arrays.IntegerArray(
            np.zeros(len(self.rows), dtype=np.int64), np.ones(len(self.rows), dtype=np.bool_)
        )
        if ends:
            result[np.array([row for row, _, _ in ends])] = np.array(values, dtype=np.int64)
        return result

    def _lanes(self, events: Sequence[Event]) -> list[int]:
        known = self._lane_of.get
        return [known((event.pid, event.tid), 0) for event in events]

    def _names(self) -> list[str]:
        """Name an entry of a scope with metrics as the scope; Proton adds the metrics to it."""
        names = [each.name for each in self.rows]
        for row, event in enumerate(self.rows):
            if event.cat == "metric" and (path := self._distinct[self._code[row]].path):
                names[row] = path[-1]
        return names

    def _kinds(self) -> pd.Categorical:
        place = {kind: code for code, kind in enumerate(EVENT_KINDS)}
        codes = np.array(
            [place[_KINDS.get(each.cat, "other")] for each in self.rows], dtype=np.int8
        )
        overhead = np.array([place.get(each.overhead, -1) for each in self._distinct], np.int8)
        in_cycles = np.array([each.in_cycles for each in self._distinct], dtype=np.bool_)
        codes[in_cycles[self._code]] = place["scope"]
        codes = np.where(overhead[self._code] >= 0, overhead[self._code], codes)
        codes[self._is_arrow] = place["flow"]
        return pd.Categorical.from_codes(codes, pd.Index(list(EVENT_KINDS), dtype=object))

    def _wrong(self, event: Event, what: str) -> ProfileFormatError:
        number = next(index for index, each in enumerate(self.events) if each is event)
        return ProfileFormatError(f"{self.source}: event {number} ({event.name!r}) has {what}")
