"""Collectives of several ranks' traces: which launches belong together, and who came when.

A collective kernel runs on every rank of its group. A rank that comes early stays in it until the
last one has come, so most of the time in a collective is waiting, and the rank that is in it for
the shortest time is the one that the others wait for. All ranks leave it together. Neither needs
clocks that agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.frames import BoolArray, IntArray
from protonlab.model.sentences import printable
from protonlab.model.trace import Trace
from protonlab.model.units import counted

# NCCL's kernels and RCCL's, whose names begin in the same way, mangled or not.
_COLLECTIVE = re.compile(r"(?:nccl|rccl)\w*kernel|msccl\w*kernel", re.IGNORECASE)
_OPERATION = re.compile(
    r"AllReduce|AllGather|ReduceScatter|AllToAll|SendRecv|Broadcast|Reduce", re.IGNORECASE
)
# In these no rank leaves before all have come. The root of a broadcast may, and so may a sender.
TOGETHER = ("AllReduce", "AllGather", "ReduceScatter", "AllToAll")
_MOST_NAMES = 3


def is_collective(name: str) -> bool:
    """Whether a kernel is one of NCCL's or RCCL's, by its recorded name.

    Examples
    --------
    >>> is_collective("ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
    True
    """
    return _COLLECTIVE.search(name) is not None


def operation_of(name: str) -> str:
    """Operation of a collective kernel, as `TOGETHER` calls it; empty where its name has none.

    Examples
    --------
    >>> operation_of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL")
    'ReduceScatter'
    """
    match = _OPERATION.search(name)
    if match is None:
        return ""
    known = {each.lower(): each for each in (*TOGETHER, "SendRecv", "Broadcast", "Reduce")}
    return known[match[0].lower()]


def collective_rows(names: pd.Series) -> BoolArray:
    """Which rows of a column of names (categories) are collective kernels, shape (n,)."""
    return _rows(names, is_collective)


def together_rows(names: pd.Series) -> BoolArray:
    """Which rows are collectives that no rank leaves before all have come, shape (n,)."""
    return _rows(names, lambda name: is_collective(name) and operation_of(name) in TOGETHER)


def _rows(names: pd.Series, wanted: Callable[[str], bool]) -> BoolArray:
    categories = names.cat.categories
    flags = np.fromiter((wanted(str(name)) for name in categories), np.bool_, len(categories))
    codes = names.cat.codes.to_numpy()
    rows: BoolArray = np.append(flags, False)[codes]
    return rows


@dataclass(frozen=True, eq=False)
class Collectives:
    """Collectives that all ranks took part in, in the order of the first rank.

    Parameters
    ----------
    ranks
        In their order.
    start, end
        By each rank's own clock, in ns, shape (n, ranks).
    label
        Of the kernel, shape (n,).
    step
        Step of the job that it belongs to, from 0; -1 where steps are not known; shape (n,).
    step_scope
        Name of the scope that a step is, or ``"step"``; empty where steps are not known.
    notes
        What was left out, and why.
    """

    ranks: tuple[int, ...]
    start: IntArray
    end: IntArray
    label: tuple[str, ...]
    step: IntArray
    step_scope: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.label)

    @property
    def duration(self) -> IntArray:
        """How long each rank was in it, in ns, shape (n, ranks)."""
        return self.end - self.start

    @property
    def waits(self) -> IntArray:
        """How long each rank waited for the last one to come, in ns, shape (n, ranks)."""
        waits: IntArray = self.duration - self.duration.min(axis=1, keepdims=True)
        return waits

    def take(self, keep: BoolArray) -> Collectives:
        """Keep some, shape (n,)."""
        label = tuple(name for name, kept in zip(self.label, keep.tolist(), strict=True) if kept)
        return Collectives(
            self.ranks,
            self.start[keep],
            self.end[keep],
            label,
            self.step[keep],
            self.step_scope,
            self.notes,
        )


def collectives_of(traces: Mapping[int, Trace], steps: int | None = None) -> Collectives:
    """Find the collectives of traces: the first launch of a kernel on every rank is the first one.

    Parameters
    ----------
    traces
        Rank -> trace, of one rank at least.
    steps
        How many steps were recorded, where the traces have no scope that says so.
    """
    ranks = tuple(sorted(traces))
    launches, scopes = _launches([traces[rank] for rank in ranks])
    counts = launches.groupby(["label", "place"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(len(ranks)), fill_value=0)
    notes, whole = [], []
    for label, numbers in zip(counts.index, counts.to_numpy(), strict=True):
        if operation_of(label) not in TOGETHER:
            notes.append(
                f"{printable(label)} was left out: in it not every rank waits for all others "
                f"({', '.join(TOGETHER)} are used)."
            )
        elif numbers.min() < numbers.max():
            notes.append(
                f"{printable(label)} was left out: ranks launched it {numbers.min():,} to "
                f"{numbers.max():,} times, so which launches belong together is not known."
            )
        else:
            whole.append(label)
    # The n-th launch of a kernel on a rank is the n-th on every other.
    own = launches[launches["label"].isin(whole)].sort_values(["place", "label"], kind="stable")
    start, end = (own[side].to_numpy().reshape(len(ranks), -1) for side in ("start", "end"))
    order = np.argsort(start[0], kind="stable")
    label = tuple(own["label"].to_numpy()[order].tolist())
    step, scope = _steps(traces, scopes, len(label), steps)
    if len(notes) > _MOST_NAMES:
        more = counted(len(notes) - _MOST_NAMES, "more kernel")
        notes = [*notes[:_MOST_NAMES], f"{more} left out for such reasons."]
    return Collectives(ranks, start.T[order], end.T[order], label, step, scope, tuple(notes))


def _launches(traces: Sequence[Trace]) -> tuple[pd.DataFrame, set[str]]:
    """Find the collectives of traces: ``place``, ``label``, ``start``, ``end``; and their scopes.

    Rows are in order of the trace's place, then ``start``.
    """
    parts: list[tuple[Any, ...]] = []
    scopes: set[str] = set()
    for trace in traces:
        events = trace.events
        flags = (events["kind"] == "kernel").to_numpy() & collective_rows(events["name"])
        rows = np.flatnonzero(flags & (trace.unit == "ns"))
        began = events[trace.start].to_numpy(np.int64)
        rows = rows[np.argsort(began[rows], kind="stable")]
        duration = events[trace.duration].to_numpy(dtype=np.int64, na_value=0)
        text: Any = events["label"].array
        label = text.take(rows).astype(object)
        parts.append((len(rows), label, began[rows], began[rows] + duration[rows]))
        scopes |= {path[1] if len(path) > 2 else "" for path in events["path"].to_numpy()[rows]}
    sizes, *columns = zip(*parts, strict=True)
    table = dict(zip(("label", "start", "end"), map(np.concatenate, columns), strict=True))
    place = np.repeat(np.arange(len(traces)), sizes)
    return pd.DataFrame({"place": place, **table}).astype({"label": object}), scopes


def _steps(
    traces: Mapping[int, Trace], scopes: set[str], number: int, stated: int | None
) -> tuple[IntArray, str]:
    """Step of each collective: as many for each entry of the scope that all of them lie in."""
    unknown = np.full(number, -1, dtype=np.int64)
    entries = {
        _entries(trace, next(iter(scopes))) if len(scopes) == 1 and "" not in scopes else 0
        for trace in traces.values()
    }
    count, scope = 0, ""
    if len(entries) == 1 and min(entries) > 0 and (count := entries.pop()) and number % count == 0:
        scope = next(iter(scopes))
    elif stated and number % stated == 0:
        count, scope = stated, "step"
    else:
        return unknown, ""
    return np.repeat(np.arange(count), number // count), scope


def _entries(trace: Trace, scope: str) -> int:
    """How often a scope right below the root was entered."""
    events = trace.events
    rows = ((events["kind"] == "scope") & (events["name"] == scope)).to_numpy()
    return sum(len(path) == 2 for path in events["path"].to_numpy()[rows])
