"""The kernel table of a comparison: before, after, and what the difference is worth."""

from __future__ import annotations

import numpy as np
import pandas as pd

from protonlab.model.changes import ratio_texts
from protonlab.model.comparison import Comparison
from protonlab.model.frames import FloatArray
from protonlab.model.units import MISSING
from protonlab.views.columns import (
    Column,
    cells_of,
    full_name,
    kernel_column,
    unit_of,
)
from protonlab.views.kernel_table import KernelTable
from protonlab.views.selection import more_than


def compared_table(comparison: Comparison, top: int) -> KernelTable:
    """Make the table of a comparison, greatest difference first.

    Parameters
    ----------
    comparison
        The comparison.
    top
        Most kernels to list.
    """
    kernels = comparison.kernels
    listed = kernels.head(top)
    notes = list(comparison.notes)
    if not len(kernels):
        notes.append("No kernel was recorded.")
    notes += more_than(top, len(kernels))
    columns = [
        kernel_column(listed),
        Column("change", tuple(map(str, listed["change"])), is_text=True),
        *value_columns(comparison, listed),
        Column("ratio", tuple(map(ratio_text, listed["ratio"]))),
    ]
    if "low" in listed:
        bounds = zip(listed["low"], listed["high"], strict=True)
        columns.append(Column("95 % interval", tuple(ratio_text(*each) for each in bounds)))
        columns.append(Column("verdict", tuple(map(str, listed["verdict"])), is_text=True))
    return KernelTable(
        title=comparison.summary,
        columns=tuple(columns),
        names=tuple(
            full_name(name) if pd.isna(old) else f"{full_name(name)}, before: {full_name(old)}"
            for name, old in zip(listed["name"], listed["renamed_from"], strict=True)
        ),
        note=" ".join(notes),
    )


def value_columns(comparison: Comparison, listed: pd.DataFrame) -> list[Column]:
    """Write before, after and difference, all in the unit that suits the largest."""
    metric = comparison.metric
    sides = listed[["before", "after"]].to_numpy(dtype=np.float64)
    difference = listed["difference"].to_numpy(dtype=np.float64)
    scale, unit = unit_of(metric, sides)
    return [
        Column(f"before {unit}".strip(), cells_of(metric, sides[:, 0], scale)),
        Column(f"after {unit}".strip(), cells_of(metric, sides[:, 1], scale)),
        Column(
            f"difference {unit}".strip(),
            tuple(
                f"+{text}" if value > 0 else text
                for text, value in zip(cells_of(metric, difference, scale), difference, strict=True)
            ),
            _bars(-difference if metric.is_better_high else difference),
        ),
    ]


def _bars(costs: FloatArray) -> tuple[float, ...]:
    """Bars to the right for what costs more, in percent of the greatest."""
    greatest = np.nanmax(np.abs(costs), initial=0.0)
    bars = costs / greatest * 100 if greatest else np.full(len(costs), np.nan)
    return tuple(bars.tolist())


def ratio_text(*ratios: float) -> str:
    """Write a ratio of after to before, or the ends of its interval."""
    return MISSING if np.isnan(ratios[0]) else " to ".join(ratio_texts(*ratios))
