"""When a GPU was at work: the union of what ran on it, and the gaps between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.frames import IntArray

# What runs on a GPU, profiling's own launches included: they keep it busy, too.
BUSY_KINDS = ("kernel", "copy", "metadata", "metric")


@dataclass(frozen=True)
class Occupancy:
    """When one stream or GPU was at work within a window of time.

    Parameters
    ----------
    name
        For people: the lane's, or the GPU's.
    lane
        Position in `Trace.lanes`; None for a GPU.
    launches
        How many events.
    start, end
        The window: from the GPU's first start to its last end, in the trace's unit.
    starts, ends
        Begin and end of each stretch of work, in order and apart from each other, shape (n,).
    """

    name: str
    lane: int | None
    launches: int
    start: int
    end: int
    starts: IntArray
    ends: IntArray

    @property
    def busy(self) -> int:
        """Time at work; what overlaps counts once."""
        return int((self.ends - self.starts).sum())

    @property
    def window(self) -> int:
        """Length of the window."""
        return self.end - self.start

    @property
    def idle(self) -> float:
        """Share of the window without work, 0 to 1; NaN when the window is empty."""
        return 1 - self.busy / self.window if self.window else float("nan")


def stretches(start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Unite intervals that overlap or touch; begins and ends come back in order."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, reached = start[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[True], start[1:] > reached[:-1]])
    last = np.concatenate([first[1:], [True]])
    return start[first], reached[last]


def occupancies(trace: Any) -> list[Occupancy]:
    """Say when each GPU of a `Trace` was at work, then each of its streams.

    Lanes of one process are taken for those of one GPU, as in torch.profiler's traces; Proton's do
    not say which GPU a stream is of.
    """
    events, lanes = trace.events, trace.gpu_lanes
    rows = events["lane"].isin(lanes) & events["kind"].isin(BUSY_KINDS)
    lane = events.loc[rows, "lane"].to_numpy()
    start = events.loc[rows, trace.start].to_numpy()
    end = start + events.loc[rows, trace.duration].to_numpy(dtype=np.int64)
    processes = list(dict.fromkeys(trace.lanes[each].process for each in lanes))
    found = []
    for process in processes:
        own = [each for each in lanes if trace.lanes[each].process == process]
        on_gpu = np.isin(lane, own)
        window = int(start[on_gpu].min()), int(end[on_gpu].max())
        name = "GPU" if len(processes) == 1 else f"GPU {process}"
        wanted = [(name, None, on_gpu), *((trace.lanes[at].name, at, lane == at) for at in own)]
        for title, position, chosen in wanted:
            parts = stretches(start[chosen], end[chosen])
            found.append(Occupancy(title, position, int(chosen.sum()), *window, *parts))
    return found


def idle_table(trace: Any) -> pd.DataFrame:
    """`Trace.idle` for a `Trace`."""
    unit = trace.unit
    rows = [
        (
            each.name,
            "gpu" if each.lane is None else "stream",
            *(each.launches, each.busy, each.window, each.idle),
        )
        for each in occupancies(trace)
    ]
    names = ("name", "kind", "launches", f"busy_{unit}", f"window_{unit}", "idle")
    return pd.DataFrame(rows, columns=list(names)).astype({"idle": np.float64})


def gap_table(trace: Any) -> pd.DataFrame:
    """`Trace.gaps` for a `Trace`."""
    events, unit = trace.events, trace.unit
    rows = events["lane"].isin(trace.gpu_lanes) & events["kind"].isin(BUSY_KINDS)
    work = events.loc[rows]
    start = work[trace.start].to_numpy()
    end = start + work[trace.duration].to_numpy(dtype=np.int64)
    label = work["label"].astype(object).to_numpy()
    by_start, by_end = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    tables = []
    for each in (each for each in occupancies(trace) if each.lane is None):
        begins, ends = each.ends[:-1], each.starts[1:]
        before = by_end[np.searchsorted(end[by_end], begins, side="right") - 1]
        after = by_start[np.searchsorted(start[by_start], ends, side="left")]
        tables.append(
            pd.DataFrame(
                {
                    "name": each.name,
                    f"start_{unit}": begins,
                    f"duration_{unit}": ends - begins,
                    "before": label[before],
                    "after": label[after],
                }
            )
        )
    if not tables:
        names = ("name", f"start_{unit}", f"duration_{unit}", "before", "after")
        return pd.DataFrame(columns=list(names))
    table = pd.concat(tables, ignore_index=True)
    return table.sort_values(f"duration_{unit}", ascending=False, kind="stable", ignore_index=True)
