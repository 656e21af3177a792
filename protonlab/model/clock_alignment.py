"""The clocks of ranks laid over each other, by collectives: all ranks leave one together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from protonlab.model.collectives import Collectives, collectives_of
from protonlab.model.frames import BoolArray, FloatArray, IntArray
from protonlab.model.trace import Trace
from protonlab.model.units import counted, format_quantity

# A clock moved when ends of neighbouring collectives shift by this, and 20 times the usual shift.
_LEAST_JUMP_NS, _JUMP = 1e6, 20.0


@dataclass(frozen=True, eq=False)
class ClockAlignment:
    """What to add to the times of each rank so that they are those of the first rank's clock.

    Parameters
    ----------
    ranks
        In their order; the first one's clock counts.
    since
        Rank -> times by its own clock, in ns, from which on an offset holds; the first holds for
        all before it, too. More than one where its clock jumped.
    offset
        Rank -> these offsets, in ns.
    error_ns
        Within this the ends of 95 % of the collectives agree afterwards; NaN where unknown.
    method
        One sentence: by what, and how well.
    notes
        Sentences on clocks that jumped.
    """

    ranks: tuple[int, ...]
    since: Mapping[int, IntArray]
    offset: Mapping[int, IntArray]
    error_ns: float
    method: str
    notes: tuple[str, ...] = ()

    def aligned(self, rank: int, times: IntArray) -> IntArray:
        """Turn times of a rank into those of the first rank's clock, shape (n,)."""
        part = np.searchsorted(self.since[rank][1:], times, side="right")
        moved: IntArray = times + self.offset[rank][part]
        return moved


def align_clocks(traces: Mapping[int, Trace], found: Collectives | None = None) -> ClockAlignment:
    """Lay the clocks of traces over each other.

    Parameters
    ----------
    traces
        Rank -> trace, of one rank at least.
    found
        Their collectives, where they are at hand.
    """
    ranks = tuple(sorted(traces))
    collectives = collectives_of(traces) if found is None else found
    if len(ranks) > 1 and len(collectives):
        return _by_collectives(collectives)
    bases = [traces[rank].base_time_ns for rank in ranks]
    if all(base is not None for base in bases):
        offsets = [(base or 0) - (bases[0] or 0) for base in bases]
        method = (
            "Clocks were laid over each other by the hosts' time of day, since no collective of "
            "all ranks was recorded: good to microseconds within a host, unknown between hosts."
        )
    else:
        firsts = [int(traces[rank].events[traces[rank].start].min()) if len(traces[rank].events)
                  else 0 for rank in ranks]  # fmt: skip
        offsets = [firsts[0] - first for first in firsts]
        method = (
            "Each rank begins at its first event: the traces hold neither a collective of all "
            "ranks nor the time of day, so nothing can be said between ranks."
        )
    if len(ranks) == 1:
        method = "One rank: there is no other clock."
    start = np.zeros(1, dtype=np.int64)
    return ClockAlignment(
        ranks,
        dict.fromkeys(ranks, start),
        {
            rank: np.array([offset], dtype=np.int64)
            for rank, offset in zip(ranks, offsets, strict=True)
        },
        float("nan"),
        method,
    )


def shifts_of(collectives: Collectives) -> FloatArray:
    """How far the end of each collective lies off the first rank's, in ns, shape (n, ranks)."""
    return (collectives.end[:, :1] - collectives.end).astype(np.float64)


def jumps_of(shift: FloatArray) -> BoolArray:
    """Where a clock jumped from one collective to the next, shape (n - 1, ranks)."""
    moves = np.abs(np.diff(shift, axis=0))
    usual = np.median(moves, axis=0) if len(moves) else np.zeros(shift.shape[1])
    jumps: BoolArray = moves > np.maximum(_LEAST_JUMP_NS, _JUMP * usual)
    return jumps


def _by_collectives(collectives: Collectives) -> ClockAlignment:
    shift = shifts_of(collectives)
    moves = np.diff(shift, axis=0)
    jumps = jumps_of(shift)
    # When most clocks jump at once, it was the first rank's that did.
    of_first = jumps[:, 1:].mean(axis=1) > 0.5 if shift.shape[1] > 2 else np.zeros(len(moves), bool)
    since: dict[int, IntArray] = {}
    offset: dict[int, IntArray] = {}
    notes = (
        [_jumped(collectives.ranks[0], np.median(moves[of_first, 1:], axis=1))]
        if of_first.any()
        else []
    )
    rest = np.zeros_like(shift)
    for place, rank in enumerate(collectives.ranks):
        behind = np.flatnonzero(jumps[:, place]) + 1
        bounds = [0, *behind.tolist(), len(shift)]
        offsets = []
        for low, high in pairwise(bounds):
            middle = float(np.median(shift[low:high, place]))
            rest[low:high, place] = shift[low:high, place] - middle
            offsets.append(round(middle))
        # A jump lies between two collectives; from the end of the first on the new offset holds.
        ends = collectives.end[:, place]
        since[rank] = np.array([0, *(ends[at - 1] + 1 for at in behind.tolist())], dtype=np.int64)
        offset[rank] = np.array(offsets, dtype=np.int64)
        own = jumps[:, place] & ~of_first
        if own.any():
            notes.append(_jumped(rank, moves[own, place]))
    error = float(np.quantile(np.abs(rest[:, 1:]), 0.95))
    method = (
        f"Clocks were aligned on the ends of {counted(len(shift), 'collective')}, which agree "
        f"within ±{format_quantity(error * 1e-9, 's')} (95 % of them)."
    )
    return ClockAlignment(collectives.ranks, since, offset, error, method, tuple(notes))


def _jumped(rank: int, moves: FloatArray) -> str:
    size = format_quantity(float(np.abs(moves).max()) * 1e-9, "s")
    times = "once" if len(moves) == 1 else f"{len(moves)} times"
    return f"The clock of rank {rank} jumped {times}, by up to {size}; it was aligned anew then."
