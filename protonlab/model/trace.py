"""A Trace: every launch and scope on a time axis, in lanes of streams, threads or warps.

Columns of the event table, index ``event_id``, in the order of the file:

================== ============ ==================================================================
column             dtype        meaning
================== ============ ==================================================================
``name``           category     as Proton wrote it
``label``          category     short, demangled
``kind``           category     one of `EVENT_KINDS`; ``scope`` is also a scope inside a kernel
``lane``           int64        position in `Trace.lanes`
``start_ns``       int64        from `Trace.base_time_ns`; ``start_cycles`` in cycles
``duration_ns``    Int64        missing on an arrow whose other end is not there
``path``           object       names from the root to the event, a tuple; empty on arrows
``kernel``         category     compiled name, from the launch hook; missing in foreign files
``hook``           category     one of `protonlab.model.frames.HOOK_STATES` on kernels; missing when
                                no launch hook's record is at hand
``to_lane``        Int64        where a flow arrow ends, at its start plus its duration
``flow_id``        Int64        number of the arrow
metrics            Int64, float what launch metadata, scopes or the backend recorded, and text;
                   or object    missing is NA, NaN or None
================== ============ ==================================================================
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from protonlab.model.frames import HOOK_STATES, MetricColumn
from protonlab.model.info import ProfileInfo
from protonlab.model.kernels import hooked
from protonlab.model.occupancy import gap_table, idle_table
from protonlab.model.trace_document import write_trace
from protonlab.model.units import counted, format_quantity

# "metadata" and "metric" are what profiling itself launched, and the scopes around it.
# "copy" are a GPU's memory copies and fills, which torch.profiler records.
EVENT_KINDS = ("kernel", "copy", "scope", "flow", "metadata", "metric", "other")
HOOK_COLUMNS = ("kernel", "hook")
EVENT_TEXT = ("name", "label", "kind", *HOOK_COLUMNS)


@dataclass(frozen=True)
class Lane:
    """One line of a trace.

    Parameters
    ----------
    name
        For people: ``"GPU Stream 7"``, ``"CPU Thread 0"``, ``"warp 0 (line 0)"``.
    process, thread
        What the file calls it; None where the file says nothing.
    order
        Lanes with a smaller number come first.
    """

    name: str
    process: int | str | None = None
    thread: int | str | None = None
    order: int = 0


@dataclass(frozen=True, eq=False)
class Trace:
    """A finished trace.

    Parameters
    ----------
    events
        The event table, as this module describes it.
    lanes
        What ``lane`` counts.
    columns
        Metric columns of the event table.
    unit
        ``"ns"``, or ``"cycles"`` for the instrumentation backend: the clock of each SM, which is
        never converted.
    base_time_ns
        Time of day at 0, in ns since 1970, by which traces of one host can be laid over each
        other; None where the file does not say.
    info
        How the trace came to be.
    """

    events: pd.DataFrame
    lanes: tuple[Lane, ...] = ()
    columns: tuple[MetricColumn, ...] = ()
    unit: Literal["ns", "cycles"] = "ns"
    base_time_ns: int | None = None
    info: ProfileInfo = field(default_factory=ProfileInfo)

    def __repr__(self) -> str:
        name = f" {self.info.name!r}" if self.info.name else ""
        return f"<Trace{name}: {self.summary}>"

    @property
    def start(self) -> str:
        """Name of the column with each event's start."""
        return f"start_{self.unit}"

    @property
    def duration(self) -> str:
        """Name of the column with each event's duration."""
        return f"duration_{self.unit}"

    @property
    def summary(self) -> str:
        """One line: how many launches and scopes, in how many lanes, over what time."""
        kinds = self.events["kind"].value_counts()
        launches = counted(int(kinds.get("kernel", 0)), "launch", "launches")
        kernels = f"{counted(len(self.kernels), 'kernel')}{self._hook_words()}"
        parts = [f"{launches} of {kernels}"] if kinds.get("kernel", 0) else []
        if kinds.get("scope", 0):
            parts.append(counted(int(kinds["scope"]), "scope"))
        timed = self.events[self.events["kind"] != "flow"]
        if timed.empty:
            return "no event"
        span = int((timed[self.start] + timed[self.duration].fillna(0)).max()) - int(
            timed[self.start].min()
        )
        over = format_quantity(span * 1e-9, "s") if self.unit == "ns" else f"{span:,} cycles"
        lanes = counted(timed["lane"].nunique(), "lane")
        return f"{', '.join(parts) or counted(len(timed), 'event')} in {lanes} over {over}"

    def _hook_words(self) -> str:
        """Say how many kernels the session's hook kept, filtered and did not see."""
        if "hook" not in self.kernels:
            return ""
        found = self.kernels["hook"].value_counts()
        words = [f"{found[state]} {state}" for state in HOOK_STATES if found.get(state, 0)]
        return f" ({', '.join(words)})"

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel, most time first.

        Columns: ``name``, ``label``, ``hook`` where a launch hook's record is at hand, ``count``,
        then total, shortest, median and longest duration (``time_ns``, ``min_ns``, ``median_ns``,
        ``max_ns``; or in cycles) and the sum of each additive metric.
        """
        return self._totals("kernel")

    @cached_property
    def scopes(self) -> pd.DataFrame:
        """One row per scope, with the columns of `kernels`; nested scopes overlap."""
        return self._totals("scope")

    def _totals(self, kind: str) -> pd.DataFrame:
        events = self.events[self.events["kind"] == kind].astype(dict.fromkeys(EVENT_TEXT, object))
        text = ["name", "label", *(["hook"] if events["hook"].notna().any() else [])]
        groups = events.groupby(text, sort=False, dropna=False)
        durations, unit = groups[self.duration], self.unit
        table = pd.DataFrame(
            {
                "count": groups.size(),
                f"time_{unit}": durations.sum(),
                f"min_{unit}": durations.min(),
                f"median_{unit}": durations.median(),
                f"max_{unit}": durations.max(),
            }
        )
        for column in self.columns:
            if column.additive and events[column.column].notna().any():
                table[column.column] = groups[column.column].sum(min_count=1)
        table = table.reset_index()
        return table.sort_values(f"time_{unit}", ascending=False, kind="stable", ignore_index=True)

    @property
    def gpu_lanes(self) -> tuple[int, ...]:
        """Positions in `lanes` of those in which a GPU works: streams."""
        on_gpu = self.events["kind"].isin(("kernel", "copy"))
        return tuple(sorted(self.events.loc[on_gpu, "lane"].unique().tolist()))

    @cached_property
    def idle(self) -> pd.DataFrame:
        """How long each GPU and each of its streams was at work, GPUs first.

        Columns: ``name``, ``kind`` (gpu, stream), ``launches``, ``busy_ns`` (what overlaps counts
        once), ``window_ns`` (from the GPU's first start to its last end), ``idle`` (share of the
        window, 0 to 1). Empty for a trace of the instrumentation backend, which looks inside of a
        kernel.
        """
        return idle_table(self)

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Stretches in which a GPU did nothing between two launches, longest first.

        Columns: ``name`` of the GPU, ``start_ns``, ``duration_ns``, and the labels of the launch
        ``before`` and ``after``.
        """
        return gap_table(self)

    def with_hook(
        self,
        kernel_of: Mapping[str, str],
        kept: Collection[str],
        filtered: Collection[str],
        recorded: Mapping[str, Collection[str]] | None = None,
    ) -> Trace:
        """Fill in what a launch hook knows; drop metrics that another session's hook recorded.

        The parameters are those of `Profile.with_hook`.
        """
        events = hooked(self.events, self.columns, kernel_of, kept, filtered, recorded)
        events["kernel"] = events["kernel"].cat.remove_unused_categories()
        return replace(self, events=events)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the event table with the names of lanes in place of their positions."""
        names = np.array([lane.name for lane in self.lanes], dtype=object)
        result = self.events.copy()
        result["lane"] = pd.Categorical(names[self.events["lane"].to_numpy()])
        to_lane = self.events["to_lane"]
        result["to_lane"] = [None if pd.isna(lane) else names[lane] for lane in to_lane]
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a chrome trace that Perfetto opens; `protonlab.load` gives back an equal trace.

        A name that ends in ``.gz`` gets it gzipped. An older file survives a failure.
        """
        write_trace(self, Path(path))

    @classmethod
    def joined(cls, traces: Sequence[Trace], info: ProfileInfo) -> Trace:
        """Lay traces of one host behind each other, by their base times.

        Parameters
        ----------
        traces
            Any number; lanes of the same name, process and thread become one.
        info
            How the joined trace came to be.
        """
        if not traces:
            return cls(empty_events(), info=info)
        if len(traces) == 1:
            return replace(traces[0], info=info)
        first = traces[0]
        lanes = list(dict.fromkeys(lane for trace in traces for lane in trace.lanes))
        columns = {each.column: each for trace in traces for each in trace.columns}
        tables = []
        for trace in traces:
            moved = np.array([lanes.index(lane) for lane in trace.lanes], dtype=np.int64)
            shift = (trace.base_time_ns or 0) - (first.base_time_ns or 0)
            events = trace.events.astype(dict.fromkeys(EVENT_TEXT, object))
            events[trace.start] += shift
            events["lane"] = moved[events["lane"].to_numpy()]
            ends = events["to_lane"].notna()
            events.loc[ends, "to_lane"] = moved[events.loc[ends, "to_lane"].to_numpy(np.int64)]
            tables.append(events)
        events = pd.concat(tables, ignore_index=True).rename_axis("event_id")
        events = events.astype(dict.fromkeys(("name", "label", "kernel"), "category"))
        events["kind"] = pd.Categorical(events["kind"], list(EVENT_KINDS))
        events["hook"] = pd.Categorical(events["hook"], list(HOOK_STATES))
        return replace(
            first, events=events, lanes=tuple(lanes), columns=tuple(columns.values()), info=info
        )


def hook_column(name: str, names: Sequence[str], codes: Sequence[int], n: int) -> pd.Categorical:
    """Build one of `HOOK_COLUMNS` from names and the index of each event's name, -1 for none.

    Raises
    ------
    ValueError
        If they do not fit together, or `n` events.
    """
    if len(codes) != n:
        raise ValueError(f"it has {len(codes)}")
    column = pd.Categorical.from_codes(codes, pd.Index(list(names), dtype=object))
    if name != "hook":
        return column
    if unknown := set(names) - set(HOOK_STATES):
        raise ValueError(f"{min(unknown)!r} is none of {', '.join(HOOK_STATES)}")
    return column.set_categories(pd.Index(list(HOOK_STATES), dtype=object))


def empty_events() -> pd.DataFrame:
    """Return an event table without an event."""
    text = {name: pd.Categorical([]) for name in EVENT_TEXT}
    numbers = dict.fromkeys(("lane", "start_ns"), pd.Series(dtype=np.int64))
    missing = dict.fromkeys(("to_lane", "flow_id"), pd.Series(dtype="Int64"))
    table = pd.DataFrame(
        {**text, **numbers, "duration_ns": pd.Series(dtype="Int64"), "path": [], **missing}
    )
    return table.rename_axis("event_id")
