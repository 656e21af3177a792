"""A metric of frames or kernels on each rank, and how it differs from rank to rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS, ideal_times
from protonlab.model.frames import FloatArray, inclusive_column
from protonlab.model.metrics import Metric
from protonlab.model.profile import Profile
from protonlab.model.rank_frames import RankFrames
from protonlab.model.rank_groups import RankGroups


@dataclass(frozen=True, eq=False)
class RankValues:
    """A metric of groups of frames on each rank.

    Parameters
    ----------
    metric
        The metric; values are in the unit of its name.
    groups
        Which group and rank each value belongs to.
    value
        Shape (pairs,); NaN where missing.
    """

    metric: Metric
    groups: RankGroups
    value: FloatArray

    @cached_property
    def matrix(self) -> FloatArray:
        """Values as a table, shape (groups, ranks); NaN where a rank has none."""
        table = np.full((self.groups.size, len(self.groups.ranks)), np.nan)
        table[self.groups.group, self.groups.place] = self.value
        return table

    @cached_property
    def spread(self) -> pd.DataFrame:
        """How each group differs from rank to rank, one row a group.

        Columns: ``ranks`` (how many have a value), ``median``, ``min``, ``max``, ``lowest`` and
        ``highest`` (the ranks with these; the first of several), and ``spread``: the range, max
        less min, by the median; NaN where fewer than two ranks have a value.
        """
        groups = self.groups
        known = np.flatnonzero(~np.isnan(self.value))
        order = known[np.lexsort((self.value[known], groups.group[known]))]
        group, value = groups.group[order], self.value[order]
        number = np.bincount(group, minlength=groups.size)
        here = np.flatnonzero(number)
        stop = np.cumsum(number)[here]
        start = stop - number[here]
        ranks = np.array(groups.ranks, dtype=np.int64)[groups.place[order]]
        middle = (value[(start + stop - 1) // 2] + value[(start + stop) // 2]) / 2
        low, high = value[start], value[stop - 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where((number[here] > 1) & (middle > 0), (high - low) / middle, np.nan)

        def whole(values: npt.NDArray[np.generic]) -> FloatArray:
            column = np.full(groups.size, np.nan)
            column[here] = values
            return column

        new = np.concatenate([[True], (value[1:] != value[:-1]) | (group[1:] != group[:-1])])
        first = np.maximum.accumulate(np.where(new[: len(value)], np.arange(len(value)), 0))
        top = first[stop - 1]  # the first of several with the same value
        return pd.DataFrame(
            {
                "ranks": number,
                "median": whole(middle),
                "min": whole(low),
                "max": whole(high),
                "lowest": pd.Series(whole(ranks[start])).astype("Int64"),
                "highest": pd.Series(whole(ranks[top])).astype("Int64"),
                "spread": whole(spread),
            }
        )

    @cached_property
    def totals(self) -> FloatArray:
        """Sum of each group over all ranks, shape (groups,); NaN where no rank has a value."""
        return self.groups.totals(self.value)


def rank_values(
    frames: RankFrames,
    groups: RankGroups,
    metric: Metric,
    profiles: Mapping[int, Profile],
    *,
    inclusive: bool,
) -> RankValues:
    """Compute a metric of each group on each rank.

    Parameters
    ----------
    frames, profiles
        Of all ranks.
    groups
        Groups of the frames' rows.
    metric
        The metric.
    inclusive
        Sum each row with everything below it. What profiling itself and autotuning launched does
        not count towards rows outside of it.

    Raises
    ------
    MetricError
        If the metric has no numbers that sum.
    """
    sums, totals = {}, {}
    able = {column.column for column in frames.columns if column.additive}
    for source in metric.sources:
        if source in (IDEAL_FLOPS, IDEAL_BYTES):
            sums[source] = groups.sums(_ideal(frames, profiles, source))
        elif source in able:
            own = _column(frames, source, inclusive=inclusive)
            sums[source] = groups.sums(own)
            if metric.form == "share":
                whole = _column(frames, source, inclusive=True)[frames.roots]
                totals[source] = whole[groups.place]
    table = pd.DataFrame(sums)
    table.attrs["total"] = totals
    return RankValues(metric, groups, metric.values(table))


def _column(frames: RankFrames, name: str, *, inclusive: bool) -> FloatArray:
    column = frames.table[name]
    if inclusive:
        column = inclusive_column(column, frames.parent, frames.depth, frames.ends, frames.overhead)
        return column.to_numpy(np.float64, na_value=np.nan)
    return np.where(frames.overhead, np.nan, column.to_numpy(np.float64, na_value=np.nan))


def _ideal(frames: RankFrames, profiles: Mapping[int, Profile], name: str) -> FloatArray:
    return np.concatenate(
        [
            ideal_times(profiles[rank].frames, profiles[rank].devices)[name].to_numpy(np.float64)
            for rank in frames.ranks
        ]
    )
