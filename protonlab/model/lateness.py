"""How late ranks come to what all of them wait for, and whether that is more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy

from protonlab.model.frames import BoolArray, FloatArray, IntArray
from protonlab.model.outliers import OUTLYING, robust_z
from protonlab.model.sentences import on_ranks
from protonlab.model.stragglers import FEW_RANKS, LEAST_SHARE
from protonlab.model.units import counted, format_quantity

# With fewer steps the verdict is no more than probable.
FEW_STEPS = 6
_LEAST_NS = 5_000.0
# How often chance alone may do as much: in all, and where a verdict says "probably".
_CHANCE, _CHANCE_OF_FEW = 0.01, 0.1
# Parts of a recording of which nobody says where a step begins.
_PARTS = 8
_MOST_ALIKE = 0.8
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
        Fewer events tell nothing, where they are what is counted.
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
        return len(self.late) >= (2 if of_steps else self.wording.fewest)

    @property
    def is_probable(self) -> bool:
        """Whether a rank that is found is waited for probably, and not surely."""
        return self.wording.unit != "step" or len(self.late) < FEW_STEPS

    @property
    def trials(self) -> FloatArray:
        """What is independent of each other: lateness in each step, in ns, shape (trials, ranks).

        A rank that is late in one collective of a step is as a rule late in the others, too, for
        the same reason, so collectives are no trials. Where steps are not known, eight parts of
        the recording are.
        """
        if self.wording.unit == "step":
            return self.late
        part = np.arange(len(self.late)) * min(_PARTS, len(self.late)) // len(self.late)
        return np.stack([np.bincount(part, column) for column in self.late.T], axis=1)

    def _consistent(self) -> BoolArray:
        """Whether chance makes some rank that late, or that often last, in few runs only.

        By Student's t on the trials; and from six on also by how often a rank is last to those
        where somebody is held up, for ranks that are late now and then. Both are taken for as many
        trials as neighbours that resemble each other are worth, and times the number of ranks
        (Bonferroni).
        """
        number, trials = len(self.ranks), self.trials
        if len(trials) < 2:
            return np.zeros(number, dtype=np.bool_)
        worth = _worth(trials)
        mean, error = trials.mean(axis=0), scipy.stats.sem(trials, axis=0) / np.sqrt(worth)
        # A rank that is always late by the same amount has an error of 0.
        by_mean = scipy.stats.t.sf(mean / np.maximum(error, 1.0), len(trials) - 1) * number
        if len(trials) < FEW_STEPS:
            return np.asarray(by_mean < _CHANCE_OF_FEW)
        units = len(self.late) / len(trials)  # of each trial
        held = trials.max(axis=1) >= self.material_ns * units
        first = np.bincount(trials[held].argmax(axis=1), minlength=number)
        last, of = np.floor(first * worth), np.ceil(held.sum() * worth)
        by_last = scipy.stats.binom.sf(last - 1, of, 1 / number) * number
        return np.asarray(np.minimum(by_mean, by_last) < _CHANCE / 2)  # they share it

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
            are = "is" if len(self.found) == 1 else "are"
            are += " probably" if self.is_probable else ""
            return (
                f"{on_ranks(sorted(self.found)).capitalize()} {are} waited for: {who} {say.came} "
                f"{int(row['last'])} of {span}, {self._amount(float(row['late_ns']))} a {say.unit} "
                f"{say.than} {others} ({self._share(float(row['late_ns']))} of a {say.unit}{z})"
                f"{self._doubt}."
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

    @property
    def _doubt(self) -> str:
        if not self.is_probable:
            return ""
        if self.wording.unit == "step":
            return f"; only {counted(len(self.late), 'step')}, record more to be sure"
        return "; to be sure, record with a scope round each step"

    def _amount(self, time_ns: float) -> str:
        return format_quantity(time_ns * 1e-9, "s")

    def _share(self, time_ns: float) -> str:
        return format_quantity(100 * time_ns / self.unit_ns if self.unit_ns else np.nan, "%")


def _worth(trials: FloatArray) -> float:
    """Share of independent trials that trials are worth, by how neighbours resemble each other.

    From the autocorrelation at a lag of 1, of all ranks together, less its bias of -1/n.
    """
    number = len(trials)
    if number < FEW_STEPS:
        return 1.0
    rest = trials - trials.mean(axis=0)
    square = float((rest**2).sum())
    if not square:
        return 1.0
    like = float((rest[1:] * rest[:-1]).sum()) / square
    like = min(max(like + 1 / number, 0.0), _MOST_ALIKE)
    return (1 - like) / (1 + like)


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
