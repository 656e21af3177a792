"""Who comes late to collectives: the judgement of a run by its traces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from protonlab.model.clock_alignment import ClockAlignment, jumps_of, shifts_of
from protonlab.model.collectives import Collectives
from protonlab.model.lateness import Lateness, Wording
from protonlab.model.sentences import on_ranks
from protonlab.model.stragglers import Stragglers
from protonlab.model.units import counted

FEW_COLLECTIVES = 8
# Of collectives that are the same: how far apart they may end, how fast clocks may drift apart, and
# in which share of them one may jump.
_TOGETHER_NS, _MOST_DRIFT, _MANY_JUMPS = 100_000.0, 1e-3, 0.05
# Two ranks of one group leave so many of the collectives so near to each other: 95 % of them within
# 40 µs in the recorded run of two GPUs.
_ALIKE_NS, _MOST = 50_000.0, 0.7
_MOST_NAMED = 8


def judge(collectives: Collectives, clocks: ClockAlignment, skip: int) -> Stragglers:
    """Judge by arrivals at collectives.

    Parameters
    ----------
    collectives
        At least one, of at least two ranks.
    clocks
        How the ranks' clocks were aligned.
    skip
        How many steps to leave out at the beginning.
    """
    ranks = collectives.ranks
    waits = pd.DataFrame(
        {"step": collectives.step, "label": collectives.label}
        | {rank: collectives.waits[:, place] for place, rank in enumerate(ranks)}
    )
    stepped = bool(collectives.step_scope)
    steps = int(collectives.step.max()) + 1
    left = min(skip, steps) if stepped else (len(collectives) + 3) // 4 if skip else 0
    used = collectives.take(
        collectives.step >= left if stepped else np.arange(len(collectives)) >= left
    )
    notes = [*_left_out(collectives, left, stepped), *collectives.notes]
    about = (clocks.method, *clocks.notes)

    def told(
        text: str, found: tuple[int, ...], table: pd.DataFrame, n: int, unit: str
    ) -> Stragglers:
        return Stragglers(text, found, "traces", table, unit, n, waits, (*notes, *about))

    empty = pd.DataFrame(index=pd.Index(ranks, name="rank"))
    if not len(used):
        return told(
            f"Cannot tell who is waited for: of {counted(steps, 'step')} none is left without the "
            f"first {left}, which the start of a session skews; record more steps.",
            *((), empty.assign(late_ns=np.nan, waited_ns=np.nan, last=0, z=np.nan), 0, "step"),
        )
    arrivals = _arrivals(used, stepped)
    table, unit, n = arrivals.table, arrivals.wording.unit, len(arrivals.late)
    apart = _apart(used)
    if apart:
        return told(f"Cannot tell who is waited for: {apart}", (), table, n, unit)
    return told(arrivals.sentence, arrivals.found, table, n, unit)


def _arrivals(used: Collectives, stepped: bool) -> Lateness:
    """Say how late each rank came to each collective."""
    start = used.start[:, 0]
    unit = np.arange(len(used))
    if stepped:
        unit = np.unique(used.step, return_inverse=True)[1]
    begins = start[np.flatnonzero(np.diff(unit, prepend=-1))]
    unit_ns = float(used.end[:, 0].max() - start[0])
    if len(begins) > 1:
        unit_ns = float(begins[-1] - begins[0]) / (len(begins) - 1)
    which = "step" if stepped else "collective"
    wording = Wording("collective", which, "came last to", "after", FEW_COLLECTIVES)
    return Lateness(used.ranks, used.waits.astype(np.float64), unit, unit_ns, wording)


def _left_out(collectives: Collectives, left: int, stepped: bool) -> Sequence[str]:
    if not left:
        return ()
    if stepped:
        which = "first step was" if left == 1 else f"first {left} steps were"
        return (f"The {which} left out: a session's start skews ranks by tens of milliseconds.",)
    return (
        f"No scope or manifest says where a step begins, so the first {left} of "
        f"{counted(len(collectives), 'collective')} were left out: a session's start skews ranks.",
    )


def _apart(used: Collectives) -> str:
    """Say that the collectives do not end together, if so; a clock that jumps or drifts may."""
    shift = shifts_of(used)
    if len(shift) < FEW_COLLECTIVES:
        return ""
    jumps = jumps_of(shift)
    moves = np.where(jumps, 0.0, np.diff(shift, axis=0))
    steady = np.concatenate([np.zeros((1, shift.shape[1])), np.cumsum(moves, axis=0)])
    time = (used.end[:, 0] - used.end[0, 0]).astype(np.float64)
    drift, start = np.polyfit(time, steady, 1)
    rest = np.abs(steady - start - time[:, None] * drift)
    off = float(np.median(rest, axis=0).max())
    # All ranks leave within a part of the time that the transfer takes, once the last has come.
    transfer = float(np.median(used.duration.min(axis=1)))
    often = jumps.mean(axis=0).max() > _MANY_JUMPS
    if off <= max(transfer / 4, _TOGETHER_NS) and np.abs(drift).max() < _MOST_DRIFT and not often:
        return ""
    groups = [each for each in _groups(used) if 1 < len(each) < len(used.ranks)]
    which = "Give the ranks of one: stragglers(ranks=[0, 1])."
    if groups:
        others = f" (one of {len(groups)} such groups)" if groups[1:] else ""
        which = (
            f"{on_ranks(groups[0]).capitalize()} leave most of theirs together{others}; "
            f"stragglers(ranks={_as_python(groups[0])}) judges these alone."
        )
    return (
        "the collectives of the ranks do not end together, as the same ones would, even where "
        f"clocks differ; groups of ranks may talk apart. {which}"
    )


def _groups(used: Collectives) -> list[list[int]]:
    """Ranks that leave most collectives together, as their clocks show it."""
    end = used.end.astype(np.float64)
    left, groups = np.arange(len(used.ranks)), []
    while len(left):
        later = end[:, left] - end[:, left[:1]]
        alike = np.abs(later - np.median(later, axis=0)) <= _ALIKE_NS
        group = alike.mean(axis=0) > _MOST
        groups.append([used.ranks[place] for place in left[group].tolist()])
        left = left[~group]
    return groups


def _as_python(ranks: Sequence[int]) -> str:
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"range({ranks[0]}, {ranks[-1] + 1})"
    return f"[{', '.join(map(str, ranks[:_MOST_NAMED]))}{', …' if ranks[_MOST_NAMED:] else ''}]"
