"""The metric grammar: proton-viewer's names, extended to any metric that a kernel records.

============================ =============================================================
name                         meaning
============================ =============================================================
``time/us``, ``cpu_time/ms`` a time in s, ms, us or ns
``avg_time/us``              time per launch
``gbyte/s``, ``tflop16/s``   a rate: bytes or flops by inclusive time, with k, m, g, t
``n_tokens``, ``count``      a recorded metric as it is
``n_tokens/s``               any recorded metric by inclusive time
``bytes/n_tokens``           any recorded metric by any other
``time/%``                   share of the profile's total; ``time/%parent`` of the parent's
``util``                     achieved share of the peak, by the nearer of two bounds
``util_bound``               that bound: ``bytes`` or ``flops``
============================ =============================================================

A rate is a ratio of inclusive sums, never a mean of rates. Times and counts are measured; bytes,
flops and a kernel's own metrics are modelled: they come from its launch metadata.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from protonlab.errors import MetricError
from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS
from protonlab.model.frames import FloatArray, IntArray, MetricColumn
from protonlab.model.metric_errors import unknown_metric, without_sum
from protonlab.model.units import format_quantity

MOST_METRICS = 16  # that a view shows by itself
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"([kmgt]?)(byte|flop(?:8|16|32|64)?)")
_FLOPS = re.compile(r"flops(8|16|32|64)?")
Form = Literal["value", "ratio", "share", "share_of_parent", "util", "util_bound"]


@dataclass(frozen=True)
class Metric:
    """A metric that can be computed from the columns of a profile.

    Parameters
    ----------
    name
        As asked for, in the grammar.
    unit
        Base unit: ``"s"``, ``"B/s"``, ``"FLOP/s"``, ``"%"``, ``"n_tokens/s"`` or empty.
    form
        How it is computed.
    sources
        Columns it needs: numerator, then denominator.
    scale
        Value in the base unit by value in the name's unit: 1e-6 for ``time/us``.
    factor
        Value in the name's unit by the ratio of the columns.
    additive
        Whether values of frames may be summed, as the width of a flame graph needs.
    measured
        True for time and count; false for what launch metadata models.
    """

    name: str
    unit: str
    form: Form
    sources: tuple[str, ...]
    scale: float = 1.0
    factor: float = 1.0
    additive: bool = False
    measured: bool = False

    @classmethod
    def parse(cls, name: str, columns: Sequence[MetricColumn]) -> Metric:
        """Read a metric name against the columns that a profile has.

        Raises
        ------
        MetricError
            If it is no text, the grammar does not know it, or the profile lacks a column for it.
        """
        if not isinstance(name, str):
            raise MetricError(f"{name!r} is no metric name; give a string such as 'time/us'")
        found = _Grammar(columns).parse(name)
        if found is None:
            raise MetricError(unknown_metric(name, columns, available_metrics(columns)))
        return found

    @property
    def is_better_high(self) -> bool:
        """Whether more of it is good: of a rate or a share of the peak, not of time or amounts."""
        return self.form == "util" or self.unit.endswith("/s")

    def values(self, sums: pd.DataFrame, parent: IntArray | None = None) -> FloatArray:
        """Compute the metric for each row of a table of sums.

        Parameters
        ----------
        sums
            Inclusive or exclusive sums of the columns, shape (n, columns); the totals for shares
            stand in ``sums.attrs["total"]``.
        parent
            Row of the parent of each row, for ``/%parent``.

        Raises
        ------
        MetricError
            If the table has no numbers of a source: a vector, text, or a property has no sum.
        """
        for source in self.sources:
            if source not in sums or pd.api.types.is_object_dtype(sums[source].dtype):
                raise MetricError(without_sum(self.name, source))
        arrays = [
            sums[source].to_numpy(dtype=np.float64, na_value=np.nan) for source in self.sources
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.form == "value":
                result = arrays[0] * self.factor
            elif self.form == "ratio":
                result = arrays[0] / arrays[1] * self.factor
                result[arrays[1] == 0] = np.nan
            elif self.form == "share":
                result = arrays[0] / sums.attrs["total"][self.sources[0]] * 100
            elif self.form == "share_of_parent":
                above = np.full(len(sums), np.nan)
                if parent is not None:
                    above = np.where(parent >= 0, arrays[0][parent], np.nan)  # the root has none
                result = arrays[0] / above * 100
            else:
                ideal = np.fmax(arrays[1], arrays[2])
                result = ideal / arrays[0]
                result[arrays[0] == 0] = np.nan
        result[~np.isfinite(result)] = np.nan
        return result

    def bounds(self, sums: pd.DataFrame) -> pd.Series:
        """Name of the bound behind ``util`` for each row; missing where util is."""
        flops = sums[IDEAL_FLOPS].to_numpy(dtype=np.float64, na_value=np.nan)
        nbytes = sums[IDEAL_BYTES].to_numpy(dtype=np.float64, na_value=np.nan)
        by_flops = np.isnan(nbytes) | (flops > nbytes)
        bound = pd.Series(np.where(by_flops, "flops", "bytes"), index=sums.index, dtype=object)
        return bound.where(~(np.isnan(flops) & np.isnan(nbytes)))

    def format(self, value: float) -> str:
        """Write one value for a person: ``12.3 µs``, ``2.65 TB/s``."""
        return format_quantity(value * self.scale, self.unit)


class _Grammar:
    """The grammar, against one profile's columns; case matters only between the user's metrics."""

    def __init__(self, columns: Sequence[MetricColumn]) -> None:
        stems = {column.stem: column for column in columns}
        names = {column.column: column for column in columns}
        lowered = {name.lower(): column for name, column in (stems | names).items()}
        self._columns = lowered | stems | names  # what is written exactly so wins
        self.names = names
        self.time = names.get("time_ns")

    def column(self, name: str) -> MetricColumn | None:
        """Find a column by its name or stem, as it is written or else in lower case."""
        return self._columns.get(name) or self._columns.get(name.lower())

    def parse(self, name: str) -> Metric | None:
        wanted = name.strip()
        if self.column(wanted) or "/" not in wanted:
            return self._plain(name, wanted)
        left, right = wanted.rsplit("/", 1)
        unit = right.lower()
        if unit in ("%", "%parent"):
            column = self.column(left)
            if column is None or not column.additive:
                return None
            form: Form = "share" if unit == "%" else "share_of_parent"
            return Metric(name, "%", form, (column.column,), measured=_measured(column))
        if unit in _SECONDS:
            return self._time(name, left, unit) or (self._rate(name, left) if unit == "s" else None)
        above, below = self.column(left), self.column(right)
        if above is None or below is None or not (above.additive and below.additive):
            return None
        return Metric(
            name,
            f"{_unit(above)}/{_unit(below)}",
            "ratio",
            (above.column, below.column),
            scale=_to_base(above) / _to_base(below),
            measured=_measured(above) and _measured(below),
        )

    def _plain(self, name: str, wanted: str) -> Metric | None:
        column = self.column(wanted)
        if column is not None:
            return Metric(
                name,
                _unit(column) if column.unit or column.column == "bytes" else "",
                "value",
                (column.column,),
                scale=_to_base(column),
                additive=column.additive,
                measured=_measured(column),
            )
        if wanted.lower() in ("util", "util_bound") and self.time is not None:
            form: Form = "util" if wanted.lower() == "util" else "util_bound"
            sources = (self.time.column, IDEAL_FLOPS, IDEAL_BYTES)
            return Metric(name, "%", form, sources, scale=100.0)
        return None

    def _time(self, name: str, left: str, unit: str) -> Metric | None:
        """``time/us``, ``avg_time/us`` and the same for ``cpu_time``."""
        stem = re.sub("^avg_", "", left, flags=re.IGNORECASE)
        column = self.column(stem)
        if column is None or column.unit not in _SECONDS:
            return None
        factor = _SECONDS[column.unit] / _SECONDS[unit]
        if stem == left:
            return Metric(
                name, "s", "value", (column.column,), _SECONDS[unit], factor, column.additive, True
            )
        if "count" not in self.names:
            return None
        return Metric(
            name, "s", "ratio", (column.column, "count"), _SECONDS[unit], factor, measured=True
        )

    def _rate(self, name: str, left: str) -> Metric | None:
        """``n_tokens/s``, ``gbyte/s``, ``tflop16/s``: a column by inclusive time."""
        if self.time is None:
            return None
        column, prefix = self.column(left), ""
        if column is None:
            match = _RATE.fullmatch(left.lower())
            if match is None:
                return None
            prefix, stem = match.groups()
            column = self.names.get("bytes" if stem == "byte" else stem.replace("flop", "flops"))
        if column is None or not column.additive:
            return None
        factor = 1.0 / (_SECONDS[self.time.unit] * _PREFIXES[prefix])
        sources = (column.column, self.time.column)
        return Metric(name, f"{_unit(column)}/s", "ratio", sources, _PREFIXES[prefix], factor)


def available_metrics(columns: Sequence[MetricColumn]) -> list[str]:
    """Metrics worth showing for these columns: time first, then rates of what was recorded.

    At most `MOST_METRICS`: nobody reads a table of a thousand columns.
    """
    grammar = _Grammar(columns)
    names = ["time/us", "time/%", "count", "avg_time/us"]
    for column in columns:
        if column.column == "bytes":
            names.append("gbyte/s")
        elif _FLOPS.fullmatch(column.column):
            names.append(f"t{column.column.replace('flops', 'flop')}/s")
        elif column.additive and column.column not in ("time_ns", "count"):
            names.append(f"{column.stem}/s" if not column.unit else f"{column.stem}/{column.unit}")
    suiting = (name for name in names if grammar.parse(name) is not None)
    return list(itertools.islice(suiting, MOST_METRICS))


def metric_names(asked: Sequence[str] | str | None, default: Sequence[str]) -> list[str]:
    """List the names that a person gave: one, several, or None for the default.

    Raises
    ------
    MetricError
        If these are no names.
    """
    if isinstance(asked, str):
        return [asked]
    if asked is not None and not isinstance(asked, Iterable):
        raise MetricError(f"metrics={asked!r}; give names such as ['time/us', 'gbyte/s']")
    return list(default if asked is None else asked)


def _measured(column: MetricColumn) -> bool:
    return column.stem in ("time", "cpu_time", "count")


def _to_base(column: MetricColumn) -> float:
    return _SECONDS.get(column.unit, 1.0)


def _unit(column: MetricColumn) -> str:
    if column.unit in _SECONDS:
        return "s"
    if column.column == "bytes":
        return "B"
    return "FLOP" if _FLOPS.fullmatch(column.column) else column.unit or column.stem
