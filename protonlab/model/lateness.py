"""How late ranks come to what all of them wait for, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy

from protonlab.model.frames import BoolArray, FloatArray, IntArray
from protonlab.model.outliers import OUTLYING, robust_z
from protonlab.model.run_notes import on_ranks
from protonlab.model.stragglers import FEW_RANKS, LEAST_SHARE
from protonlab.model.units import counted, format_quantity

# From so many steps on steps are what is counted, and below that what is in them.
FEW_STEPS = 6
_LEAST_NS = 5_000.0
_CHANCE = 0.01
_RESOLUTION_NS = 1_000.0


@dataclass(frozen=True)
class Wording:
    """How a verdict is put.

    Parameters
    ----------
    event, unit
        What was waited for, and what is counted: ``"collective"`` and ``"step"``.
    came, than
        ``"came last to"`` so many of them, so long ``"after"`` the others.
    fewest
        Fewer events tell nothing.
    """

    event: str
    unit: str
    came: str
    than: str
    fewest: int


@dataclass(frozen=True, eq=False)
class Lateness:
    """How late each rank came, event by event.

    Parameters
    ----------
    ranks
        In their order; two at least.
    waits
        How long each rank waited for the last one, in ns, shape (events, ranks).
    unit
        Number of the step of each event, in order and without gaps; or of the event itself.
    unit_ns
        How long a unit takes.
    wording
        How to put it.
    """

    ranks: tuple[int, ...]
    waits: FloatArray
    unit: IntArray
    unit_ns: float
    wording: Wording

    @cached_property
    def by_event(self) -> FloatArray:
        """How long after the median of the others each rank came, in ns, shape (events, ranks)."""
        return lateness(self.waits)

    @cached_property
    def late(self) -> FloatArray:
        """The same, summed over the events of a unit, shape (units, ranks)."""
        return np.stack([np.bincount(self.unit, column) for column in self.by_event.T], axis=1)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a rank: ``late_ns``, ``waited_ns``, ``last``, ``z``, as in `Stragglers`."""
        late = self.late.mean(axis=0)
        few = len(self.ranks) < FEW_RANKS
        return pd.DataFrame(
            {
                "late_ns": late,
                "waited_ns": self.waits.sum(axis=0) / len(self.late),
                "last": np.bincount(self.waits.argmin(axis=1), minlength=len(self.ranks)),
                "z": np.full(len(late), np.nan) if few else robust_z(late, floor=_RESOLUTION_NS),
            },
            index=pd.Index(self.ranks, name="rank"),
        )

    @property
    def material_ns(self) -> float:
        """Time in a unit below which nobody is held up."""
        return max(LEAST_SHARE * self.unit_ns, _LEAST_NS)

    @cached_property
    def found(self) -> tuple[int, ...]:
        """Ranks that are waited for, most time first."""
        late = self.table["late_ns"].to_numpy()
        fits = (late >= self.material_ns) & self._consistent()
        if len(self.ranks) >= FEW_RANKS:
            fits &= self.table["z"].to_numpy() >= OUTLYING
        found = [self.ranks[at] for at in np.argsort(-late, kind="stable").tolist() if fits[at]]
        if not self.enough:
            return ()
        return tuple(found[:1] if len(self.ranks) < FEW_RANKS else found)

    @property
    def enough(self) -> bool:
        """Whether there is enough to tell."""
        of_steps = self.wording.event != self.wording.unit
        return len(self.waits) >= self.wording.fewest and (not of_steps or len(self.late) > 1)

    def _consistent(self) -> BoolArray:
        """Whether chance makes some rank that late, or that often last, in one run of 100 at most.

        By Student's t on the units, and by how often a rank is last to those where somebody is
        held up, for ranks that are late now and then.
        """
        number = len(self.ranks)
        late = self.late if len(self.late) >= FEW_STEPS else self.by_event
        mean, error = late.mean(axis=0), scipy.stats.sem(late, axis=0) if len(late) > 1 else np.inf
        # A rank that is always late by the same amount has an error of 0.
        by_mean = scipy.stats.t.sf(mean / np.maximum(error, 1.0), max(len(late) - 1, 1)) * number
        held = self.late.max(axis=1) >= self.material_ns
        first = np.bincount(self.late[held].argmax(axis=1), minlength=number)
        by_last = scipy.stats.binom.sf(first - 1, int(held.sum()), 1 / number) * number
        fits: BoolArray = (by_mean < _CHANCE) | ((first > 0) & (by_last < _CHANCE))
        return fits

    @property
    def sentence(self) -> str:
        """Say it in one sentence."""
        say, table = self.wording, self.table
        span = counted(len(self.waits), say.event)
        if say.unit != say.event:
            span += f" of {counted(len(self.late), say.unit)}"
        others = "the other rank" if len(self.ranks) == 2 else "the median of the others"
        if self.found:
            row = table.loc[self.found[0]].to_dict()
            who = "it" if len(self.found) == 1 else f"rank {self.found[0]}, the latest,"
            z = "" if np.isnan(row["z"]) else f", z = {row['z']:.1f} of {len(self.ranks)} ranks"
            more = f"; only {counted(len(self.late), 'step')}, record more to be sure"
            few = say.unit == "step" and len(self.late) < FEW_STEPS
            are = "is" if len(self.found) == 1 else "are"
            return (
                f"{on_ranks(sorted(self.found)).capitalize()} {are} waited for: {who} {say.came} "
                f"{int(row['last'])} of {span}, {self._amount(float(row['late_ns']))} a {say.unit} "
                f"{say.than} {others} ({self._share(float(row['late_ns']))} of a {say.unit}{z})"
                f"{more if few else ''}."
            )
        if not self.enough:
            verb = "is" if len(self.waits) == 1 else "are"
            return f"Cannot tell who is waited for: {span} {verb} too few; record more steps."
        late = table["late_ns"].to_numpy()
        top = int(late.argmax())
        most = max(float(late[top]), 0.0)
        why = (
            "too little to matter"
            if most < self.material_ns
            else "which chance explains as well, or the spread of the others"
        )
        low, high = int(table["last"].min()), int(table["last"].max())
        times = f"{low} to {high}" if low < high else f"{low}"
        return (
            f"No rank is waited for more than the others: over {span} each {say.came} {times}, and "
            f"the latest, rank {self.ranks[top]}, {self._amount(most)} a {say.unit} {say.than} "
            f"{others} ({self._share(most)} of a {say.unit}), {why}."
        )

    def _amount(self, time_ns: float) -> str:
        return format_quantity(time_ns * 1e-9, "s")

    def _share(self, time_ns: float) -> str:
        return format_quantity(100 * time_ns / self.unit_ns if self.unit_ns else np.nan, "%")


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
