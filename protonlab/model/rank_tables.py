"""Tables of ranks: kernels and frames with a column a rank, one below the other, or added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS
from protonlab.model.frames import FRAME_COLUMNS, BoolArray, MetricColumn
from protonlab.model.metrics import Metric
from protonlab.model.profile import Profile
from protonlab.model.rank_frames import RankFrames
from protonlab.model.rank_groups import RankGroups
from protonlab.model.rank_values import RankValues, rank_values
from protonlab.model.units import counted

# Values in a table of frames by ranks; more would take gigabytes.
MOST_CELLS = 100_000_000


def check_sums(metric: Metric, columns: Sequence[MetricColumn]) -> None:
    """Refuse a metric that has no number a group of frames.

    Raises
    ------
    MetricError
        If it has none.
    """
    summed = {column.column for column in columns if column.additive}
    if metric.form in ("util_bound", "share_of_parent") or not {*metric.sources} <= summed | {
        IDEAL_FLOPS,
        IDEAL_BYTES,
    }:
        raise MetricError(
            f"{metric.name!r} has no number a rank: it is text, a vector, a property or a share of "
            "another frame. Use a metric that sums, such as 'time/us', or a rate, such as 'gbyte/s'"
        )


def kernel_values(
    frames: RankFrames, profiles: Mapping[int, Profile], metric: Metric
) -> RankValues:
    """Compute a metric of each kernel on each rank; groups are the names of `frames`."""
    check_sums(metric, frames.columns)
    return rank_values(frames, frames.kernel_groups, metric, profiles, inclusive=False)


def by_rank(
    frames: RankFrames, profiles: Mapping[int, Profile], metric: Metric, by: str
) -> pd.DataFrame:
    """Make the table of `Run.by_rank`."""
    if by == "kernel":
        values = kernel_values(frames, profiles, metric)
        rows, order = frames.kernel_rows
        text = frames.table[["name", "label"]].iloc[rows].astype(object)
        index: pd.Index = pd.RangeIndex(len(order))
    else:
        tree = MergedTree(frames, profiles)
        cells = len(tree.frames) * len(frames.ranks)
        if cells > MOST_CELLS:
            raise ProtonLabError(
                f"the trees of {counted(len(frames.ranks), 'rank')} have {len(tree.frames):,} "
                "frames between them, too many for a column a rank; by='kernel' is smaller, and "
                "to_dataframe(by='frame') has a row only where a rank has the frame"
            )
        values = tree.values(metric)
        order = np.flatnonzero(~tree.overhead)
        text = tree.frames[["name", "label", "parent_id", "depth", "kind"]].iloc[order]
        index = pd.Index(order, name="frame_id")
    matrix = pd.DataFrame(values.matrix[order], columns=pd.Index(frames.ranks), index=index)
    spread = values.spread.iloc[order].set_axis(index, axis=0)
    return pd.concat([text.set_axis(index, axis=0), matrix, spread], axis=1)


def long_table(
    frames: RankFrames, profiles: Mapping[int, Profile], metrics: Sequence[Metric], by: str
) -> pd.DataFrame:
    """Make the table of `Run.to_dataframe`."""
    ranks = np.array(frames.ranks, dtype=np.int64)
    for metric in metrics:
        check_sums(metric, frames.columns)
    if by == "frame":
        rows = np.flatnonzero(~frames.overhead)
        number = np.full(len(frames.table), -1, dtype=np.int64)
        number[rows] = np.arange(len(rows))
        groups = RankGroups.of(frames.ranks, frames.place, number, len(rows))
        text = ["rank", "frame_id", "parent_id", "depth", "name", "label", "kind"]
        table = frames.table[text].iloc[rows].reset_index(drop=True)
        order = np.arange(len(rows))
    else:
        groups = frames.kernel_groups
        first, kernels = frames.kernel_rows
        position = np.zeros(groups.size, dtype=np.int64)
        position[kernels] = np.arange(len(kernels))
        order = np.lexsort((position[groups.group], groups.place))
        row = first[position[groups.group[order]]]
        table = frames.table[["name", "label", "kind"]].iloc[row].astype(object)
        table = table.reset_index(drop=True)
        table.insert(0, "rank", ranks[groups.place[order]])
    for metric in metrics:
        values = rank_values(frames, groups, metric, profiles, inclusive=by == "frame")
        table[metric.name] = values.value[order]
    return table


@dataclass(frozen=True, eq=False)
class MergedTree:
    """The tree that the trees of ranks make together.

    Parameters
    ----------
    source
        The frames of all ranks.
    profiles
        Rank -> profile.
    """

    source: RankFrames
    profiles: Mapping[int, Profile]

    @cached_property
    def frames(self) -> pd.DataFrame:
        """Frame table without metrics; texts are those of the first rank that has the frame."""
        tree = self.source.tree
        table = self.source.table[list(FRAME_COLUMNS)].iloc[tree.first]
        table = table.assign(parent_id=tree.parent, depth=tree.depth)
        return table.set_axis(pd.RangeIndex(len(table), name="frame_id"), axis=0)

    @cached_property
    def overhead(self) -> BoolArray:
        """Frames that profiling itself or autotuning launched, shape (nodes,)."""
        return self.source.overhead[self.source.tree.first]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks, in order."""
        return self.source.ranks

    @cached_property
    def groups(self) -> RankGroups:
        """Rows of the ranks' frames by the frame of this tree."""
        return RankGroups.of(
            self.source.ranks,
            self.source.place,
            self.source.tree.node,
            len(self.source.tree.parent),
        )

    def values(self, metric: Metric) -> RankValues:
        """Compute a metric of each frame, with all below it, on each rank."""
        check_sums(metric, self.source.columns)
        return rank_values(self.source, self.groups, metric, self.profiles, inclusive=True)

    def profile(
        self, name: str, first: Profile, notes: tuple[str, ...], *, mean: bool = False
    ) -> Profile:
        """Add the ranks up to one profile, which takes its devices and versions from `first`.

        With `mean` by their number, what profiling itself and autotuning launched left out.
        """
        columns = tuple(column for column in self.source.columns if column.additive)
        frames = self.frames
        for column in columns:
            own = self.source.table[column.column]
            pairs = self.groups.sums(own.to_numpy(np.float64, na_value=np.nan))
            sums = self.groups.totals(pairs)
            whole = pd.api.types.is_integer_dtype(own.dtype) and not mean
            sums = sums / len(self.ranks) if mean else sums
            frames[column.column] = pd.Series(sums).astype("Int64") if whole else sums
        number = counted(len(self.ranks), "rank")
        info = replace(
            first.info,
            name=name,
            launches={},
            clocks=(),
            notes=(f"{'Means of' if mean else 'Sums over'} {number}.", *notes),
        )
        whole_tree = Profile(frames, columns, first.devices, info)
        return whole_tree.take(~self.overhead) if mean else whole_tree
