"""The frame tables of all ranks as one, and the one tree that their trees make together.

Everything here works on whole columns: 512 ranks of 10,000 frames are five million rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.frames import (
    HOOK_STATES,
    KINDS,
    OVERHEAD_KINDS,
    BoolArray,
    IntArray,
    MetricColumn,
    columns_of_all,
    levels,
    subtree_ends,
)
from protonlab.model.joining import cells, joined_numbers, joined_text
from protonlab.model.kernels import kernel_columns
from protonlab.model.profile import Profile
from protonlab.model.rank_groups import RankGroups
from protonlab.model.vectors import parted

_CONSTANT = {"kind": KINDS, "hook": HOOK_STATES}
_TEXT = ("name", "kernel", "label", "kind", "hook", "device_type")


@dataclass(frozen=True, eq=False)
class RankFrames:
    """Frame tables of ranks, one behind the other; arrays have shape (n,).

    Parameters
    ----------
    ranks
        In their order.
    table
        ``rank``, ``frame_id`` and ``parent_id`` within the rank's own table, ``depth``, and the
        other columns of a frame table; metric columns are those of all ranks, missing where a
        rank's profile has none.
    columns
        Metric columns of the table.
    place
        Position in `ranks` of each row.
    """

    ranks: tuple[int, ...]
    table: pd.DataFrame
    columns: tuple[MetricColumn, ...]
    place: IntArray

    @classmethod
    def of(cls, profiles: Mapping[int, Profile]) -> RankFrames:
        """Lay the frames of profiles behind each other, in the order of their ranks."""
        ranks = tuple(sorted(profiles))
        # Ranks that recorded nothing may share a profile: its columns are looked at once.
        number: dict[int, int] = {}
        which = np.array(
            [number.setdefault(id(profiles[rank]), len(number)) for rank in ranks], dtype=np.int64
        )
        own = [profiles[ranks[at]] for at in np.unique(which, return_index=True)[1].tolist()]
        tables = [profile.frames for profile in own]
        columns = columns_of_all(profile.columns for profile in own)
        lengths = np.array([len(table) for table in tables], dtype=np.int64)
        sizes = lengths[which]
        place = np.repeat(np.arange(len(ranks)), sizes)
        frame = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        data: dict[str, Any] = {
            **{
                name: np.concatenate([table[name].to_numpy() for table in tables])
                for name in ("parent_id", "depth")
            },
            **{
                name: joined_text([table[name] for table in tables], _CONSTANT.get(name, ()))
                for name in _TEXT
            },
        }
        for name in ("device_id", *(each.column for each in columns)):
            data[name] = joined_numbers([cells(table, name) for table in tables])
        if len(own) < len(ranks):
            rows = (np.cumsum(lengths) - lengths)[which][place] + frame
            data = {name: column.take(rows) for name, column in data.items()}
        data = {"rank": np.array(ranks, dtype=np.int64)[place], "frame_id": frame, **data}
        table, columns = parted(pd.DataFrame(data, copy=False), columns)
        return cls(ranks, table, columns, place)

    @cached_property
    def parent(self) -> IntArray:
        """Row of the parent in this table, -1 for the root of a rank."""
        own = self.table["parent_id"].to_numpy()
        return np.where(own < 0, -1, own + self.roots[self.place])

    @cached_property
    def roots(self) -> IntArray:
        """Row of each rank's root, shape (ranks,)."""
        return np.flatnonzero(self.table["frame_id"].to_numpy() == 0)

    @cached_property
    def depth(self) -> IntArray:
        """Depth of each row."""
        return self.table["depth"].to_numpy()

    @cached_property
    def ends(self) -> IntArray:
        """Row behind the last descendant of each row."""
        # As if all roots lay below one more, which then goes away.
        parent = np.concatenate([[-1], self.parent + 1])
        depth = np.concatenate([[0], self.depth + 1])
        ends: IntArray = subtree_ends(parent, depth)[1:] - 1
        return ends

    @cached_property
    def overhead(self) -> BoolArray:
        """Rows of what profiling itself and autotuning launched."""
        flags: BoolArray = self.table["kind"].isin(OVERHEAD_KINDS).to_numpy()
        return flags

    @cached_property
    def kernel(self) -> IntArray:
        """Number of each kernel row's name in ``table["name"]``, -1 on rows that are no kernel."""
        kernels = (self.table["kind"] == "kernel").to_numpy()
        codes = self.table["name"].cat.codes.to_numpy().astype(np.int64)
        return np.where(kernels, codes, -1)

    @cached_property
    def kernel_groups(self) -> RankGroups:
        """Kernel rows by name."""
        return RankGroups.of(
            self.ranks, self.place, self.kernel, len(self.table["name"].cat.categories)
        )

    @cached_property
    def kernel_rows(self) -> tuple[IntArray, IntArray]:
        """The first row of each kernel, and its number in `kernel`; most time first."""
        codes, first = np.unique(self.kernel, return_index=True)
        codes, first = codes[codes >= 0], first[codes >= 0]
        time = np.zeros(len(codes))
        if "time_ns" in self.table:
            rows = np.flatnonzero(self.kernel >= 0)
            own = self.table["time_ns"].to_numpy(np.float64, na_value=0.0)[rows]
            time += np.bincount(self.kernel[rows], own)[codes]
        order = np.lexsort((first, -time))
        return first[order], codes[order]

    @cached_property
    def kernel_columns(self) -> list[MetricColumn]:
        """Columns that a kernel has a value in, not scopes alone."""
        return kernel_columns(self.table, self.columns)

    @cached_property
    def tree(self) -> RankTree:
        """The one tree of all ranks."""
        return RankTree.of(self)


@dataclass(frozen=True, eq=False)
class RankTree:
    """Trees of ranks laid over each other: frames of one name and kind below one parent are one.

    Parameters
    ----------
    parent, depth
        As in a frame table, in preorder, shape (nodes,). Below a parent stand the frames of the
        first rank, in their order, then what other ranks add.
    first
        The first row of `RankFrames.table` that is the node, shape (nodes,).
    node
        Node of each row, shape (n,).
    """

    parent: IntArray
    depth: IntArray
    first: IntArray
    node: IntArray

    @classmethod
    def of(cls, frames: RankFrames) -> RankTree:
        """Lay the trees over each other, level by level."""
        name = frames.table["name"].cat.codes.to_numpy().astype(np.int64)
        kind = frames.table["kind"].cat.codes.to_numpy().astype(np.int64)
        key = name * len(KINDS) + kind
        width = int(key.max(initial=0)) + 1
        node = np.zeros(len(key), dtype=np.int64)
        parents, firsts, depths, number = [], [], [], 0
        for depth, rows in enumerate(levels(frames.depth)):
            above = node[frames.parent[rows]] if depth else np.zeros(len(rows), dtype=np.int64)
            place = above * width + key[rows] if depth else above  # one root, whatever it is called
            _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
            node[rows] = number + inverse
            parents.append(above[first] if depth else np.array([-1]))
            firsts.append(rows[first])
            depths.append(np.full(len(first), depth))
            number += len(first)
        return _in_preorder(
            np.concatenate(parents), np.concatenate(depths), np.concatenate(firsts), node
        )


def _in_preorder(parent: IntArray, depth: IntArray, first: IntArray, node: IntArray) -> RankTree:
    """Put nodes that stand level by level into preorder, siblings as they first appear."""
    rows = list(levels(depth))
    size = np.ones(len(parent), dtype=np.int64)
    for level in reversed(rows[1:]):
        np.add.at(size, parent[level], size[level])
    position = np.zeros(len(parent), dtype=np.int64)
    for level in rows[1:]:
        ordered = level[np.lexsort((first[level], parent[level]))]
        above = parent[ordered]
        before = np.cumsum(size[ordered]) - size[ordered]
        start = np.concatenate([[True], above[1:] != above[:-1]])
        within = before - np.repeat(
            before[start], np.diff(np.append(np.flatnonzero(start), len(above)))
        )
        position[ordered] = position[above] + 1 + within
    order = np.argsort(position)
    moved = np.where(parent < 0, -1, position[parent])
    return RankTree(moved[order], depth[order], first[order], position[node])
