"""A tree to draw: how wide each node is, what it is called, and what can be said of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model import Metric, Profile
from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS, ideal_times
from protonlab.model.frames import (
    BoolArray,
    FloatArray,
    IntArray,
    inclusive_column,
    levels,
    subtree_ends,
)
from protonlab.views.hover import metric_lines, own_lines


@dataclass(frozen=True, eq=False)
class Tree(ABC):
    """A tree; a parent stands before its children, the root first. Arrays have shape (n,).

    Parameters
    ----------
    parent, depth
        Row of the parent, -1 for the root; depth 0 for the root.
    value
        What the node and all below it add up to, NaN where it is missing: the width of its box.
    shown
        Nodes that take part.
    frame
        Row of `frames` that gives the node its names.
    metric
        Of `value`.
    frames
        A frame table: ``name``, ``label``, ``kind``, and ``hook`` where a profile was recorded.
    """

    parent: IntArray
    depth: IntArray
    value: FloatArray
    shown: BoolArray
    frame: IntArray
    metric: Metric
    frames: pd.DataFrame

    @property
    @abstractmethod
    def title(self) -> str:
        """What the root is called."""

    @abstractmethod
    def lines(self, nodes: IntArray) -> list[str]:
        """Say what is known of each node, as escaped lines joined by ``<br>``."""

    def below(self, marked: BoolArray) -> BoolArray:
        """Nodes that are marked or lie below a marked node, shape (n,)."""
        inside = marked.copy()
        for level in list(levels(self.depth))[1:]:
            inside[level] |= inside[self.parent[level]]
        return inside


@dataclass(frozen=True, eq=False)
class MeasuredTree(Tree):
    """A tree over one profile; its nodes have sums of every additive column.

    Parameters
    ----------
    profile
        The profile.
    """

    profile: Profile

    @property
    def title(self) -> str:
        """Name of the profile."""
        return self.profile.info.name or "all"

    @abstractmethod
    def sums(self, nodes: IntArray) -> pd.DataFrame:
        """Additive columns summed over each node, and its ideal times, as metrics need them."""

    def lines(self, nodes: IntArray) -> list[str]:
        """Every metric with its unit."""
        return metric_lines(self.profile, self.sums(nodes))


@dataclass(frozen=True, eq=False)
class ProfileTree(MeasuredTree):
    """A profile's own tree; nodes are frames.

    Parameters
    ----------
    end
        Row behind the last descendant of each frame.
    left_out
        Frames whose values do not count.
    """

    end: IntArray
    left_out: BoolArray

    @classmethod
    def of(cls, profile: Profile, metric: Metric, *, overhead: bool) -> ProfileTree:
        """Take a profile as a tree.

        Parameters
        ----------
        profile, metric
            The profile, and a metric of it that may be summed.
        overhead
            Whether what profiling itself and autotuning launched takes part.
        """
        frames = profile.frames
        parent = frames["parent_id"].to_numpy(dtype=np.int64)
        depth = frames["depth"].to_numpy(dtype=np.int64)
        end = subtree_ends(parent, depth)
        left_out = np.zeros(len(frames), dtype=np.bool_) if overhead else profile.overhead
        sums = inclusive_column(frames[metric.sources[0]], parent, depth, end, left_out)
        value = metric.values(pd.DataFrame({metric.sources[0]: sums}))
        row = np.arange(len(frames), dtype=np.int64)
        return cls(parent, depth, value, ~left_out, row, metric, frames, profile, end, left_out)

    def sums(self, nodes: IntArray) -> pd.DataFrame:
        """Additive columns summed over each frame's subtree; ideal times of the frame alone."""
        bounds = np.stack([nodes, self.end[nodes]], axis=1).ravel()
        table, totals = pd.DataFrame(index=nodes), {}
        for column in self.profile.columns:
            if column.additive:
                own = self.frames[column.column].to_numpy(dtype=np.float64, na_value=np.nan)
                known = ~(np.isnan(own) | self.left_out)
                counted = np.where(known, own, 0.0)
                present = np.logical_or.reduceat(np.append(known, False), bounds)[::2]
                sums = np.add.reduceat(np.append(counted, 0.0), bounds)[::2]
                table[column.column] = np.where(present, sums, np.nan)
                totals[column.column] = float(counted.sum()) if known.any() else np.nan
        ideal = ideal_times(self.frames.iloc[nodes], self.profile.devices)
        for name in (IDEAL_FLOPS, IDEAL_BYTES):
            table[name] = ideal[name].to_numpy()
        table.attrs["total"] = totals
        return table

    def lines(self, nodes: IntArray) -> list[str]:
        """Every metric with its unit, then what cannot be summed, as it was recorded."""
        own = own_lines(self.profile, self.frame[nodes].tolist())
        pairs = zip(super().lines(nodes), own, strict=True)
        return ["<br>".join(filter(None, pair)) for pair in pairs]
