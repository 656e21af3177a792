"""Who comes late to collectives: the judgement of a run by its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from protonlab.model.clock_alignment import ClockAlignment, jumps_of, shifts_of
from protonlab.model.collectives import Collectives
from protonlab.model.frames import BoolArray, FloatArray
from protonlab.model.outliers import OUTLYING, robust_z
from protonlab.model.run_notes import on_ranks
from protonlab.model.stragglers import FEW_RANKS, LEAST_SHARE, Stragglers
from protonlab.model.units import counted, format_quantity

# From so many steps on steps are what is counted, and below that collectives.
FEW_STEPS = 6
FEW_COLLECTIVES = 8
_LEAST_NS = 5_000.0
_CHANCE = 0.01
_RESOLUTION_NS = 1_000.0
# Of collectives that are the same: how far apart they may end, how fast clocks may drift apart, and
# in which share of them one may jump.
_TOGETHER_NS, _MOST_DRIFT, _MANY_JUMPS = 100_000.0, 1e-3, 0.05


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
        known = not text.startswith("Cannot tell")
        return Stragglers(text, found, known, "traces", table, unit, n, waits, (*notes, *about))

    empty = pd.DataFrame(index=pd.Index(ranks, name="rank"))
    if not len(used):
        return told(
            f"Cannot tell who is waited for: of {counted(steps, 'step')} none is left without the "
            f"first {left}, which the start of a session skews; record more steps.",
            *((), empty.assign(late_ns=np.nan), 0, "step"),
        )
    arrivals = _Arrivals.of(used, stepped)
    table = arrivals.table
    unit = "step" if stepped else "collective"
    n = len(arrivals.late) if stepped else len(used)
    apart = _apart(used)
    if apart:
        return told(f"Cannot tell who is waited for: {apart}", (), table, n, unit)
    found = arrivals.found()
    return told(arrivals.sentence(found), found, table, n, unit)


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
    longest = float(np.median(used.duration.max(axis=1)))
    often = jumps.mean(axis=0).max() > _MANY_JUMPS
    if off <= max(longest, _TOGETHER_NS) and np.abs(drift).max() < _MOST_DRIFT and not often:
        return ""
    return (
        "the collectives of the ranks do not end together, as the same ones would, even where "
        "clocks differ; groups of ranks may talk apart. Make a run of the ranks of one group."
    )


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """How late each rank came, to each unit: a step, or a collective where steps are not known.

    Parameters
    ----------
    used
        The collectives that count.
    late
        Summed over the collectives of a unit, in ns, shape (units, ranks).
    stepped
        Whether a unit is a step.
    """

    used: Collectives
    late: FloatArray
    stepped: bool

    @classmethod
    def of(cls, used: Collectives, stepped: bool) -> _Arrivals:
        late = lateness(used.waits.astype(np.float64))
        if stepped:
            _, unit = np.unique(used.step, return_inverse=True)
            late = np.stack([np.bincount(unit, column) for column in late.T], axis=1)
        return cls(used, late, stepped)

    @property
    def table(self) -> pd.DataFrame:
        used = self.used
        late = self.late.mean(axis=0)
        last = np.bincount(used.duration.argmin(axis=1), minlength=len(used.ranks))
        few = len(used.ranks) < FEW_RANKS
        z = np.full(len(late), np.nan) if few else robust_z(late, floor=_RESOLUTION_NS)
        return pd.DataFrame(
            {
                "late_ns": late,
                "waited_ns": used.waits.sum(axis=0) / len(self.late),
                "last": last,
                "z": z,
            },
            index=pd.Index(used.ranks, name="rank"),
        )

    @property
    def unit_ns(self) -> float:
        """How long a unit took on the first rank."""
        start = self.used.start[:, 0]
        begins = (
            start[np.flatnonzero(np.diff(self.used.step, prepend=-1))] if self.stepped else start
        )
        if len(begins) > 1:
            return float(begins[-1] - begins[0]) / (len(begins) - 1)
        return float(self.used.end[:, 0].max() - start[0])

    @property
    def material_ns(self) -> float:
        """Time in a unit below which nobody is held up."""
        return max(LEAST_SHARE * self.unit_ns, _LEAST_NS)

    def found(self) -> tuple[int, ...]:
        """Ranks that are waited for, most time first."""
        table = self.table
        ranks = np.array(self.used.ranks)
        fits = (table["late_ns"].to_numpy() >= self.material_ns) & self._consistent()
        if len(ranks) >= FEW_RANKS:
            fits &= table["z"].to_numpy() >= OUTLYING
        order = np.argsort(-table["late_ns"].to_numpy(), kind="stable")
        found = [int(ranks[at]) for at in order if fits[at]]
        return tuple(found[:1] if len(ranks) < FEW_RANKS else found)

    def _consistent(self) -> BoolArray:
        """Whether chance makes some rank that late, or that often last, in one run of 100 at most.

        By Student's t on the units, and by how often a rank is last to those where somebody is
        held up, for ranks that are late now and then.
        """
        number = len(self.used.ranks)
        late = self.late if len(self.late) >= FEW_STEPS else lateness(
            self.used.waits.astype(np.float64)
        )  # fmt: skip
        mean, error = late.mean(axis=0), scipy.stats.sem(late, axis=0) if len(late) > 1 else np.inf
        # A rank that is always late by the same amount has an error of 0.
        by_mean = scipy.stats.t.sf(mean / np.maximum(error, 1.0), max(len(late) - 1, 1)) * number
        held = self.late.max(axis=1) >= self.material_ns
        first = np.bincount(self.late[held].argmax(axis=1), minlength=number)
        by_last = scipy.stats.binom.sf(first - 1, int(held.sum()), 1 / number) * number
        fits: BoolArray = (by_mean < _CHANCE) | ((first > 0) & (by_last < _CHANCE))
        return fits

    def sentence(self, found: tuple[int, ...]) -> str:
        """Say it in one sentence."""
        used, table = self.used, self.table
        n = len(used)
        span = f"{counted(n, 'collective')}"
        if self.stepped:
            span += f" of {counted(len(self.late), 'step')}"
        each = "step" if self.stepped else "collective"
        few = self.stepped and len(self.late) < FEW_STEPS
        if found:
            row = table.loc[found[0]].to_dict()
            who = "it" if len(found) == 1 else f"rank {found[0]}, the latest,"
            others = "the other rank" if len(used.ranks) == 2 else "the median of the others"
            z = "" if np.isnan(row["z"]) else f", z = {row['z']:.1f} of {len(used.ranks)} ranks"
            more = f"; only {counted(len(self.late), 'step')}, record more to be sure"
            ranks = f"{on_ranks(sorted(found)).capitalize()} {'is' if len(found) == 1 else 'are'}"
            return (
                f"{ranks} waited for: {who} came last to {int(row['last'])} of {span}, "
                f"{self._amount(float(row['late_ns']))} a {each} after {others} "
                f"({self._share(float(row['late_ns']))} of a {each}{z}){more if few else ''}."
            )
        if (self.stepped and len(self.late) < 2) or n < FEW_COLLECTIVES:
            return f"Cannot tell who is waited for: {span} are too few; record more steps."
        late = table["late_ns"].to_numpy()
        top = int(late.argmax())
        most = max(float(late[top]), 0.0)
        why = (
            "too little to matter"
            if most < self.material_ns
            else "which chance explains as well, or the spread of the others"
        )
        return (
            f"No rank is waited for more than the others: over {span} each came last "
            f"{_range(table['last'])} times, and the latest, rank {used.ranks[top]}, "
            f"{self._amount(most)} a {each} after the median of the others ({self._share(most)} of "
            f"a {each}), {why}."
        )

    def _amount(self, time_ns: float) -> str:
        return format_quantity(time_ns * 1e-9, "s")

    def _share(self, time_ns: float) -> str:
        return format_quantity(100 * time_ns / self.unit_ns, "%")


def _range(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def lateness(waits: FloatArray) -> FloatArray:
    """How long after the median of the other ranks each rank came, shape (n, ranks).

    Parameters
    ----------
    waits
        How long each rank waited for the last one, shape (n, ranks); at least two ranks.
    """
    number = waits.shape[1]
    ordered = np.sort(waits, axis=1)
    place = np.argsort(np.argsort(waits, axis=1, kind="stable"), axis=1)
    lower, upper = (number - 2) // 2, (number - 1) // 2  # of the others, in their order
    others = [
        np.take_along_axis(ordered, np.where(place <= at, at + 1, at), axis=1)
        for at in (lower, upper)
    ]
    return (others[0] + others[1]) / 2 - waits
