"""A column of a table: its title with the unit, its cells as text, and small bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model import Metric, Profile
from protonlab.model.frames import FloatArray
from protonlab.model.units import MISSING, plain
from protonlab.views.names import shortened

_LONGEST_LABEL, _LONGEST_NAME = 120, 400
_SECONDS = {1.0: "s", 1e-3: "ms", 1e-6: "µs", 1e-9: "ns"}


@dataclass(frozen=True)
class Column:
    """A column of cells as text, with one unit for all.

    Parameters
    ----------
    header
        Title with the unit.
    cells
        One text a row.
    bars
        A small bar behind each cell, in percent of its width, NaN for none; negative ones go left
        from the middle, and then all begin there. Empty where the column has no bars.
    is_text
        Whether the cells are words, which stand on the left.
    """

    header: str
    cells: tuple[str, ...]
    bars: tuple[float, ...] = ()
    is_text: bool = False

    @property
    def is_diverging(self) -> bool:
        """Whether bars begin in the middle."""
        return any(bar < 0 for bar in self.bars)


def kernel_column(rows: pd.DataFrame) -> Column:
    """First column of a table of kernels: their labels."""
    labels = tuple(shortened(str(label), _LONGEST_LABEL) for label in rows["label"])
    return Column("kernel", labels, is_text=True)


def full_name(name: object) -> str:
    """Name of a kernel as recorded, for tooltips and for searching."""
    return shortened(str(name), _LONGEST_NAME)


def column_of(metric: Metric, values: pd.Series) -> Column:
    """Write a metric's values with one unit; shares of a whole get bars."""
    if metric.form == "util_bound":
        words = tuple(MISSING if pd.isna(value) else str(value) for value in values)
        return Column(metric.name, words, is_text=True)
    numbers = values.to_numpy(dtype=np.float64)
    scale, header = scale_of(metric, numbers)
    cells = cells_of(metric, numbers, scale)
    if metric.unit != "%":
        return Column(header, cells)
    bars = np.clip(numbers * metric.scale, 0, 100)  # util passes its peak where a model is wrong
    return Column(header, cells, tuple(bars.tolist()))


def unit_of(metric: Metric, values: FloatArray) -> tuple[float, str]:
    """Factor for columns that share a unit, and the unit as their titles end in it."""
    scale, header = scale_of(metric, values)
    if "/" in metric.name and header.startswith(metric.name):  # a rate's name is its unit
        prefix = header.removeprefix(metric.name).strip(" ()")
        return scale, f"({prefix} {metric.name})" if prefix else f"({metric.name})"
    return scale, header.removeprefix(metric.name.rpartition("/")[0] or metric.name).strip()


def cells_of(metric: Metric, values: FloatArray, scale: float) -> tuple[str, ...]:
    """Write values, each times `scale`."""
    whole = metric.name == "count"
    return tuple(
        MISSING if np.isnan(value) else f"{value:.0f}" if whole else plain(value * scale)
        for value in values
    )


def scale_of(metric: Metric, values: FloatArray) -> tuple[float, str]:
    """Factor for a column and its header; big numbers of a user's own metric go by thousands."""
    stem, _, unit = metric.name.rpartition("/")
    if metric.form == "util":
        return 100.0, "util (%)"
    if metric.unit == "s" and not stem:  # its unit is ours to choose
        longest = float(np.nanmax(np.abs(values), initial=0.0)) * metric.scale
        size = next((size for size in _SECONDS if longest >= 10 * size), min(_SECONDS))
        return metric.scale / size, f"{metric.name} ({_SECONDS[size]})"
    if metric.unit == "s" or metric.unit == "%":
        return 1.0, f"{stem} ({unit.replace('us', 'µs')})"
    if metric.name == "count" or metric.unit in ("B/s", "FLOP/s"):
        return 1.0, metric.name
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    for power, prefix in ((9, "G"), (6, "M"), (3, "k")):
        if largest >= 10.0 ** (power + 1):
            return 10.0**-power, f"{metric.name} ({prefix})"
    return 1.0, metric.name


def why_no_util(profile: Profile, metrics: Sequence[Metric], values: pd.DataFrame) -> Iterator[str]:
    """Say why `util` is missing, where it was asked for and no row of the values has it."""
    for each in metrics:
        if each.form == "util" and len(values) and values[each.name].isna().all():
            reasons = [device.why_no_peak for device in profile.devices]
            known = "no kernel told of its bytes or flops"
            yield f"util is missing: {reasons[0] if reasons and all(reasons) else known}."
