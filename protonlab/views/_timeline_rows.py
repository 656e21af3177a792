"""Where each event of a trace stands: a lane's rows, deeper ones below, none over another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from protonlab.model import Trace
from protonlab.model.filters import compile_pattern
from protonlab.model.frames import IntArray
from protonlab.model.units import counted

MOST_DEPTH = 16
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Rows:
    """Events with their rows.

    Parameters
    ----------
    event
        Position in ``trace.events``, in order of row and start, shape (n,).
    row
        Row of each, shape (n,).
    start, end
        In the trace's unit, shape (n,).
    lanes
        Positions in ``trace.lanes`` of what is drawn, from the top.
    first
        First row of each of these lanes, and one entry more: the number of rows.
    notes
        Sentences on what is not drawn.
    """

    event: IntArray
    row: IntArray
    start: IntArray
    end: IntArray
    lanes: tuple[int, ...]
    first: tuple[int, ...]
    notes: tuple[str, ...]


def place(trace: Trace, pattern: str | None, max_lanes: int) -> Rows:
    """Give each event of the chosen lanes its row.

    Parameters
    ----------
    trace
        The trace.
    pattern
        Regular expression that a lane's name must hold; None takes all.
    max_lanes
        Most lanes to draw; threads give way to streams.
    """
    events = trace.events
    timed = np.flatnonzero((events["kind"] != "flow").to_numpy())
    lane = events["lane"].to_numpy()[timed]
    start = events[trace.start].to_numpy()[timed]
    end = start + events[trace.duration].to_numpy(dtype=np.int64, na_value=0)[timed]
    found = _in_order(trace, np.unique(lane).tolist())
    wanted = compile_pattern(pattern, "lanes")
    chosen = [at for at in found if wanted is None or wanted.search(trace.lanes[at].name)]
    notes = []
    if len(chosen) > max_lanes:
        hidden = counted(len(chosen) - max_lanes, "more lane")
        notes.append(
            f"{hidden}: max_lanes={max_lanes}; lanes='…' draws those whose name holds a pattern."
        )
        on_gpu = set(trace.gpu_lanes)  # what a timeline is looked at for
        kept = sorted(chosen, key=lambda at: at not in on_gpu)[:max_lanes]
        chosen = [at for at in chosen if at in kept]
    pieces, rows, first, deep = [], [], [0], 0
    order = np.lexsort((-end, start))
    of_lane = lane[order]
    for at in chosen:
        mine = order[of_lane == at]
        depth = _depths(start[mine], end[mine])
        shown = depth < MOST_DEPTH
        deep += int((~shown).sum())
        mine, depth = mine[shown], depth[shown]
        by_row = np.argsort(depth, kind="stable")
        pieces.append(mine[by_row])
        rows.append(first[-1] + depth[by_row])
        first.append(first[-1] + int(depth.max()) + 1)
    if deep:
        notes.append(f"{counted(deep, 'event')} nested deeper than {MOST_DEPTH} not drawn.")
    picked = np.concatenate([np.empty(0, np.int64), *pieces])
    row = np.concatenate([np.empty(0, np.int64), *rows])
    return Rows(
        timed[picked], row, start[picked], end[picked], tuple(chosen), tuple(first), tuple(notes)
    )


def _in_order(trace: Trace, lanes: Sequence[int]) -> list[int]:
    """Sort lanes: threads above streams, then as the file says, then by name and number."""
    on_gpu = set(trace.gpu_lanes)

    def key(at: int) -> tuple[bool, int, list[tuple[int, str]]]:
        lane = trace.lanes[at]
        parts = [(int(part), "") if part.isdigit() else (-1, part)
                 for part in _DIGITS.split(lane.name)]  # fmt: skip
        return at in on_gpu, lane.order, parts

    return sorted(lanes, key=key)


def _depths(start: IntArray, end: IntArray) -> IntArray:
    """Row of each event within its lane: below what holds it, and where no other one is.

    Parameters
    ----------
    start, end
        In order of start, longer ones first, shape (n,).
    """
    depths = np.zeros(len(start), dtype=np.int64)
    reached = np.maximum.accumulate(end)
    first = np.concatenate([[True], start[1:] >= reached[:-1]])  # of what overlaps
    apart = first & np.concatenate([first[1:], [True]])  # alone, as most launches of a stream are
    together = np.flatnonzero(~apart)
    ends: list[int] = []  # row -> end of the last event in it
    spans = zip(start[together].tolist(), end[together].tolist(), strict=True)
    for at, (begin, stop) in zip(together.tolist(), spans, strict=True):
        depth = 0
        for row, there in enumerate(ends):
            if there > begin and there >= stop:
                depth = row + 1
        while depth < len(ends) and ends[depth] > begin:
            depth += 1
        if depth == len(ends):
            ends.append(stop)
        else:
            ends[depth] = stop
        depths[at] = depth
    return depths
