"""Rows of several ranks put together: by kernel, or by the frame that they are in one tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protonlab.model.frames import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RankGroups:
    """Rows of ranks' frames put together: a group on a rank is a pair.

    Parameters
    ----------
    ranks
        In their order.
    size
        How many groups there are.
    group, place
        Group and position in `ranks` of each pair, in order of both, shape (pairs,).
    rows
        Rows that belong to a group, shape (m,).
    pair
        Pair of each of these rows, shape (m,).
    """

    ranks: tuple[int, ...]
    size: int
    group: IntArray
    place: IntArray
    rows: IntArray
    pair: IntArray

    @classmethod
    def of(cls, ranks: tuple[int, ...], place: IntArray, group: IntArray, size: int) -> RankGroups:
        """Put rows together.

        Parameters
        ----------
        ranks, place
            As in `RankFrames`.
        group
            Group of each row, -1 for none, shape (n,).
        size
            How many groups there are.
        """
        rows = np.flatnonzero(group >= 0)
        number = max(len(ranks), 1)
        keys, pair = np.unique(group[rows] * number + place[rows], return_inverse=True)
        return cls(ranks, size, keys // number, keys % number, rows, pair)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up a column, shape (n,), within each pair; NaN where a pair has no value at all."""
        return _added(values[self.rows], self.pair, len(self.group))

    def totals(self, values: FloatArray) -> FloatArray:
        """Add up values, shape (pairs,), over the ranks of each group; NaN where none has one."""
        return _added(values, self.group, self.size)


def _added(values: FloatArray, place: IntArray, size: int) -> FloatArray:
    known = ~np.isnan(values)
    total = np.bincount(place, np.where(known, values, 0.0), size)
    return np.where(np.bincount(place, known, size) > 0, total, np.nan)
