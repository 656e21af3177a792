"""When a GPU was at work: the union of what ran on it, and the gaps between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
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


@dataclass(frozen=True)
class _GPU:
    """What ran on one GPU, a row each; rows of a stream lie next to each other."""

    name: str
    streams: dict[int, slice]  # by position in `Trace.lanes`
    start: IntArray
    end: IntArray
    label: npt.NDArray[np.object_]


def _gpus(trace: Any) -> list[_GPU]:
    """Part a trace's work by GPU.

    Lanes of one process are taken for those of one GPU, as in torch.profiler's traces; Proton's do
    not say which GPU a stream is of.
    """
    numbers: dict[Any, int] = {}
    number_of_lane = np.full(len(trace.lanes), -1)
    for at in trace.gpu_lanes:
        number_of_lane[at] = numbers.setdefault(trace.lanes[at].process, len(numbers))
    events = trace.events
    events = events[events["kind"].isin(BUSY_KINDS)]
    lane = events["lane"].to_numpy(dtype=np.int64)
    number = number_of_lane[lane]
    order = np.lexsort((lane, number))[np.count_nonzero(number < 0) :]
    lane, number, events = lane[order], number[order], events.iloc[order]
    start = events[trace.start].to_numpy(dtype=np.int64)
    end = start + events[trace.duration].to_numpy(dtype=np.int64)
    label = events["label"].astype(object).to_numpy()
    return [
        _GPU(
            "GPU" if len(numbers) == 1 else f"GPU {process}",
            {int(lane[rows][each.start]): each for each in _equal_ones(lane[rows])},
            *(column[rows] for column in (start, end, label)),
        )
        for process, rows in zip(numbers, _equal_ones(number), strict=True)
    ]


def _equal_ones(values: IntArray) -> list[slice]:
    """Where equal values lie next to each other."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return [slice(first, last) for first, last in pairwise(edges) if first < last]


def occupancies(trace: Any) -> list[Occupancy]:
    """Say when each GPU of a `Trace` was at work, then each of its streams."""
    found = []
    for gpu in _gpus(trace):
        window = int(gpu.start.min()), int(gpu.end.max())
        streams = [(trace.lanes[at].name, at, rows) for at, rows in gpu.streams.items()]
        for name, lane, rows in [(gpu.name, None, slice(0, len(gpu.start))), *streams]:
            parts = stretches(gpu.start[rows], gpu.end[rows])
            found.append(Occupancy(name, lane, rows.stop - rows.start, *window, *parts))
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
    unit = trace.unit
    none = np.empty(0, dtype=np.int64)
    gpus = _gpus(trace) or [_GPU("GPU", {}, none, none, none.astype(object))]
    table = pd.concat([_gaps_of(gpu, unit) for gpu in gpus], ignore_index=True)
    return table.sort_values(f"duration_{unit}", ascending=False, kind="stable", ignore_index=True)


def _gaps_of(gpu: _GPU, unit: str) -> pd.DataFrame:
    starts, ends = stretches(gpu.start, gpu.end)
    begins, stops = ends[:-1], starts[1:]
    by_start, by_end = np.argsort(gpu.start, kind="stable"), np.argsort(gpu.end, kind="stable")
    before = by_end[np.searchsorted(gpu.end[by_end], begins, side="right") - 1]
    after = by_start[np.searchsorted(gpu.start[by_start], stops, side="left")]
    columns = {
        "name": gpu.name,
        f"start_{unit}": begins,
        f"duration_{unit}": stops - begins,
        "before": gpu.label[before],
        "after": gpu.label[after],
    }
    return pd.DataFrame(columns)
