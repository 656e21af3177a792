"""Stragglers: which rank the others wait for, if any, and how that is known."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from protonlab.model.units import MISSING, format_quantity

# From so many ranks on the spread of the others says what is usual.
FEW_RANKS = 5
# What is less than this share of a step is no reason to look for anything.
LEAST_SHARE = 0.01
_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Stragglers:
    """Which ranks the others wait for; `Run.stragglers` finds them.

    Parameters
    ----------
    verdict
        One plain sentence: who is waited for, how long, how often, or that nobody is, or that it
        cannot be told and why.
    ranks
        The ranks that are waited for, most time first; empty where none is, or it cannot be told.
    source
        ``"traces"``: arrivals at each collective. ``"steps"``: time in collectives, step by step,
        of profiles that tell steps apart. ``"totals"``: sums over the whole recording,
        which the first step after the start of a session skews.
    table
        One row a rank, index ``rank``. From traces: ``late_ns`` (how long after the median of the
        others it comes, negative where before it; summed over the collectives of a step, mean of
        the steps), ``waited_ns`` (how long it waits in collectives, a step), ``last`` (in how many
        collectives it came last), ``z`` (of ``late_ns``, by median and MAD; NaN below five ranks).
        Where steps are not known, a collective takes the place of a step. From steps the same,
        where to come late is to wait less than the others, and the mean of ``compute_ns`` and
        ``collective_ns``. From totals:
        ``compute_ns``, ``collective_ns`` and ``z`` (of ``compute_ns``).
    unit
        What is counted: ``"step"`` or ``"collective"``, or ``"rank"`` for totals.
    n
        How many of them.
    waits
        From traces: a row a collective, with ``step``, ``label`` and how long each rank waited in
        it, in ns; those that were left out are in it, too.
    notes
        What was left out, how clocks were aligned, and what else a reader should know.
    """

    verdict: str
    ranks: tuple[int, ...]
    source: Literal["traces", "steps", "totals"]
    table: pd.DataFrame
    unit: str
    n: int
    waits: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it can be told."""
        return not self.verdict.startswith("Cannot tell")

    def __repr__(self) -> str:
        return "\n".join((self.verdict, *self.notes, self._rows.to_string(index=False)))

    def _repr_html_(self) -> str:
        sentences = (f"<b>{html.escape(self.verdict)}</b>", *map(html.escape, self.notes))
        lines = "".join(f"<div>{each}</div>" for each in sentences)
        return f"{lines}{self._rows.to_html(border=0, index=False)}"

    @property
    def _rows(self) -> pd.DataFrame:
        """The table for people: the ranks that stand out most first, a dozen of them."""
        by = "late_ns" if "late_ns" in self.table else "compute_ns"
        rows = self.table.sort_values(by, ascending=False, kind="stable").head(_SHOWN)
        texts = {
            name: [
                format_quantity(value * 1e-9, "s")
                if str(name).endswith("_ns")
                else MISSING
                if math.isnan(value)
                else f"{value:.1f}"
                if name == "z"
                else f"{value:,.0f}"
                for value in column.astype(float)
            ]
            for name, column in rows.items()
        }
        heads = {name: str(name).removesuffix("_ns") for name in texts}
        if rows["z"].isna().all():  # too few ranks for one
            texts.pop("z")
        return pd.DataFrame({"rank": [f"{rank}" for rank in rows.index], **texts}).rename(
            columns=heads
        )
