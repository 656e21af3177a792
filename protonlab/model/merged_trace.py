"""The traces of all ranks on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.clock_alignment import ClockAlignment
from protonlab.model.frames import HOOK_STATES
from protonlab.model.joining import cells, joined_numbers, joined_text
from protonlab.model.trace import EVENT_KINDS, Lane, Trace, empty_events

_CONSTANT = {"kind": EVENT_KINDS, "hook": HOOK_STATES}
_TEXT = ("name", "label", "kind", "kernel", "hook")
_TIMES = ("lane", "start_ns", "duration_ns", "path", "to_lane", "flow_id")
_ORDER = (*_TEXT[:3], *_TIMES, *_TEXT[3:])  # as a file's events have them


def merged_trace(
    name: str, traces: Mapping[int, Trace], clocks: ClockAlignment, notes: Sequence[str]
) -> Trace:
    """Lay the traces of ranks over each other.

    Parameters
    ----------
    name
        Of the run.
    traces
        Rank -> trace.
    clocks
        What to add to each rank's times.
    notes
        Sentences for its ``info``, behind how clocks were aligned.

    Returns
    -------
    Trace
        Its lanes are called ``rank 3, GPU Stream 7``. Processes are numbered by rank; where a
        trace has several, one behind the other. Flow ids are numbered anew.

    Raises
    ------
    ProtonLabError
        If a trace counts cycles, which have no common time.
    """
    ranks = tuple(sorted(traces))
    cycles = [rank for rank in ranks if traces[rank].unit != "ns"]
    if cycles:
        raise ProtonLabError(
            f"the trace of rank {cycles[0]} counts cycles of its own SMs, which cannot be laid "
            f"over other ranks; draw it alone: timeline(run.traces[{cycles[0]}])"
        )
    first = traces[ranks[0]]
    info = replace(first.info, name=name, notes=(clocks.method, *clocks.notes, *notes))
    lanes, first_lane = _lanes(ranks, traces)
    tables = [traces[rank].events for rank in ranks if len(traces[rank].events)]
    if not tables:
        return Trace(empty_events(), tuple(lanes), base_time_ns=first.base_time_ns, info=info)
    filled = [rank for rank in ranks if len(traces[rank].events)]
    columns = {each.column: each for rank in ranks for each in traces[rank].columns}
    sizes = [len(table) for table in tables]
    moved = np.repeat([first_lane[rank] for rank in filled], sizes)
    flow = [table["flow_id"].array for table in tables]
    above = np.cumsum([0, *(ids.max() + 1 if not ids.isna().all() else 0 for ids in flow)])
    pairs = zip(filled, tables, strict=True)
    start = [clocks.aligned(rank, table["start_ns"].to_numpy(np.int64)) for rank, table in pairs]
    data: dict[str, Any] = {
        **{
            text: joined_text([table[text] for table in tables], _CONSTANT.get(text, ()))
            for text in _TEXT
        },
        "lane": np.concatenate([table["lane"].to_numpy() for table in tables]) + moved,
        "start_ns": np.concatenate(start),
        "duration_ns": joined_numbers([table["duration_ns"] for table in tables]),
        "path": np.concatenate([table["path"].to_numpy() for table in tables]),
        "to_lane": joined_numbers([table["to_lane"] for table in tables]) + moved,
        "flow_id": joined_numbers([table["flow_id"] for table in tables])
        + np.repeat(above[:-1], sizes),
        **{name: joined_numbers([cells(table, name) for table in tables]) for name in columns},
    }
    events = pd.DataFrame(data)[[*_ORDER, *columns]].rename_axis("event_id")
    return Trace(events, tuple(lanes), tuple(columns.values()), "ns", first.base_time_ns, info)


def _lanes(ranks: Sequence[int], traces: Mapping[int, Trace]) -> tuple[list[Lane], dict[int, int]]:
    """Lanes of all ranks, and for each rank the position of its first one."""
    several = {
        rank: list(dict.fromkeys(lane.process for lane in traces[rank].lanes)) for rank in ranks
    }
    stride = max(1, *map(len, several.values())) if several else 1
    # Lanes of one rank stay together: beyond the greatest number that a file gives a lane.
    width = 1 + max((abs(lane.order) for rank in ranks for lane in traces[rank].lanes), default=0)
    lanes: list[Lane] = []
    first_lane = {}
    for rank in ranks:
        first_lane[rank] = len(lanes)
        lanes += [
            Lane(
                f"rank {rank}, {lane.name}",
                rank * stride + several[rank].index(lane.process),
                lane.thread,
                rank * width + lane.order,
            )
            for lane in traces[rank].lanes
        ]
    return lanes, first_lane
