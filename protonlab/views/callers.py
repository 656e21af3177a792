"""The tree upside down: below the root each kernel, below a kernel those that called it.

What a frame spent itself goes to its name, then along the chain of its callers. Chains that begin
with the same names are merged, so each box is an exact sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS, ideal_times
from protonlab.model.frames import KINDS, BoolArray, FloatArray, IntArray, levels
from protonlab.views.tree import MeasuredTree, ProfileTree

# A level goes on below this many of its nodes, the widest: far more than are ever drawn.
_FOLLOWED = 20_000


@dataclass(frozen=True, eq=False)
class CallersTree(MeasuredTree):
    """A profile from its kernels to their callers; nodes are merged chains of names.

    Parameters
    ----------
    source
        The tree that was turned over.
    name
        Number of each node's name.
    """

    source: ProfileTree
    name: IntArray

    @classmethod
    def of(cls, source: ProfileTree) -> CallersTree:
        """Turn a profile's tree over."""
        names = _names(source.frames)
        own = np.nan_to_num(source.metric.values(source.frames))
        row = np.flatnonzero(source.shown & (own > 0))
        total = own[row].sum()
        at = row = row[row > 0]  # the root has no name
        node = np.zeros(len(row), dtype=np.int64)
        nodes = [_Level(np.array([-1]), np.array([total]), np.array([0]), np.array([-1]))]
        count = 1
        while len(row):
            level, place = _Level.of(node, names[at], at, own[row])
            nodes.append(level)
            goes_on = (source.parent[at] > 0) & level.followed[place]
            row, at = row[goes_on], source.parent[at[goes_on]]
            node = count + place[goes_on]
            count += len(level.value)
        depth = np.repeat(np.arange(len(nodes)), [len(level.value) for level in nodes])
        return cls(
            np.concatenate([level.parent for level in nodes]),
            depth,
            np.concatenate([level.value for level in nodes]),
            np.ones(count, dtype=np.bool_),
            np.concatenate([level.frame for level in nodes]),
            source.metric,
            source.frames,
            source.profile,
            source,
            np.concatenate([level.name for level in nodes]),
        )

    def sums(self, nodes: IntArray) -> pd.DataFrame:
        """Additive columns and ideal times, each summed over the frames of a chain."""
        columns = self._columns()
        result = {name: np.full(len(self.value), np.nan) for name in columns}
        for node, row in self._members(nodes):
            for name, values in columns.items():
                own = values[row]
                present = ~np.isnan(own)
                sums = np.bincount(node[present], weights=own[present], minlength=len(self.value))
                found = np.bincount(node[present], minlength=len(self.value)) > 0
                result[name][found] = sums[found]
        table = pd.DataFrame({name: values[nodes] for name, values in result.items()}, index=nodes)
        table.attrs["total"] = {name: float(values[0]) for name, values in result.items()}
        return table

    def _columns(self) -> dict[str, FloatArray]:
        """Return what each frame of the profile spent itself."""
        profile = self.profile
        table = self.frames[[each.column for each in profile.columns if each.additive]]
        table = table.join(ideal_times(self.frames, profile.devices)[[IDEAL_FLOPS, IDEAL_BYTES]])
        return {
            str(name): column.to_numpy(dtype=np.float64, na_value=np.nan)
            for name, column in table.items()
        }

    def _members(self, nodes: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Walk up the callers; at each step yield nodes, and the frames that count towards them."""
        wanted = np.zeros(len(self.value), dtype=np.bool_)
        wanted[nodes] = True
        deeper = list(levels(self.depth))[1:]
        for level in reversed(deeper):
            wanted[self.parent[level[wanted[level]]]] = True
        names = _names(self.frames)
        row = np.flatnonzero(self.source.shown)
        node = np.zeros(len(row), dtype=np.int64)
        yield node, row
        row = at = row[row > 0]
        node = np.zeros(len(row), dtype=np.int64)
        span = int(names.max(initial=0)) + 1
        for level in deeper:
            known = level[wanted[level]]
            keys = self.parent[known] * span + self.name[known]
            order = np.argsort(keys)
            key = node * span + names[at]
            place = np.searchsorted(keys, key, sorter=order)
            place = order[np.minimum(place, len(order) - 1)] if len(order) else place
            hit = keys[place] == key if len(order) else np.zeros(len(key), dtype=np.bool_)
            row, at, node = row[hit], at[hit], known[place[hit]]
            yield node, row
            above = self.source.parent[at]
            row, at, node = row[above > 0], above[above > 0], node[above > 0]


@dataclass(frozen=True, eq=False)
class _Level:
    """The nodes of one depth.

    Parameters
    ----------
    parent, value, name
        As in the tree.
    frame
        One of the frames that the node is made of.
    """

    parent: IntArray
    value: FloatArray
    frame: IntArray
    name: IntArray

    @classmethod
    def of(
        cls, parent: IntArray, name: IntArray, frame: IntArray, own: FloatArray
    ) -> tuple[_Level, IntArray]:
        """Merge what has the same parent and name; also say where each went."""
        span = int(name.max()) + 1
        place, keys = pd.factorize(parent * span + name)
        first = np.empty(len(keys), dtype=np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]
        value: FloatArray = np.bincount(place, weights=own).astype(np.float64)
        return cls(parent[first], value, frame[first], name[first]), place

    @property
    def followed(self) -> BoolArray:
        """Whether the callers of each node are looked at."""
        mask = np.ones(len(self.value), dtype=np.bool_)
        if len(mask) > _FOLLOWED:
            mask[np.argsort(-self.value, kind="stable")[_FOLLOWED:]] = False
        return mask


def _names(frames: pd.DataFrame) -> IntArray:
    """Give each name and kind a number; a scope and a kernel of one name have two."""
    names = frames["name"].cat.codes.to_numpy(dtype=np.int64)
    numbers: IntArray = names * len(KINDS) + frames["kind"].cat.codes.to_numpy(dtype=np.int64)
    return numbers
