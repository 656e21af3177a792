"""Two trees laid over each other: which frame before is which frame after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model.frames import IntArray, subtree_ends
from protonlab.model.renames import Spellings, one_to_one

_ABSENT = -1
_EXACT = 2  # ways to read a name that are no renames


@dataclass(frozen=True, eq=False)
class Alignment:
    """The frames of two trees as one tree in preorder; all arrays have shape (n,).

    Parameters
    ----------
    parent, depth
        As in a frame table.
    before, after
        Row of each frame in either table, -1 where it is absent.
    """

    parent: IntArray
    depth: IntArray
    before: IntArray
    after: IntArray


@dataclass(frozen=True, eq=False)
class _Side:
    """What one of the trees brings."""

    names: Sequence[str]
    kinds: Sequence[str]
    devices: Sequence[tuple[Hashable, ...]]
    children: Sequence[Sequence[int]]
    parent: IntArray
    depth: IntArray
    end: IntArray

    @classmethod
    def of(cls, frames: pd.DataFrame) -> _Side:
        types, numbers = frames["device_type"].astype(str), frames["device_id"].fillna(_ABSENT)
        parent, depth = frames["parent_id"].to_numpy(), frames["depth"].to_numpy()
        children: list[list[int]] = [[] for _ in parent]
        for row, above in enumerate(parent.tolist()):
            if above >= 0:
                children[above].append(row)
        end = subtree_ends(parent, depth)
        return cls(
            frames["name"].astype(str).tolist(),
            frames["kind"].astype(str).tolist(),
            list(zip(types.tolist(), numbers.tolist(), strict=True)),
            children,
            parent,
            depth,
            end,
        )

    def key(self, level: int, spelling: Callable[[str], str]) -> Callable[[int], Hashable]:
        """Return what tells the rows apart at a level of strictness."""
        if level == 0:
            return lambda row: (self.names[row], self.kinds[row], self.devices[row])
        return lambda row: (spelling(self.names[row]), self.kinds[row])


def align(before: pd.DataFrame, after: pd.DataFrame, names: Spellings) -> Alignment:
    """Lay two frame tables over each other, by the rule `protonlab.model.renames.RULE`.

    Below one parent stand first the frames before, in their order, then what was added.
    """
    one, other = _Side.of(before), _Side.of(after)
    # From strict to loose: with the device, as they are, then as renames.
    spellings = (str, str, names.without_numbers, names.base_name)
    # What goes into the result as one piece: a pair of frames, or a frame with all below it that
    # the other side has not. First row before and after, parent in the result, depth, rows.
    pieces: list[tuple[int, int, int, int, int]] = []
    size = 0
    stack = [(0, 0, _ABSENT, 0)]
    while stack:
        left, right, above, depth = stack.pop()
        length = 1
        if left >= 0 and right >= 0:
            pairs = _paired(one, other, left, right, spellings)
            stack += [(*pair, size, depth + 1) for pair in reversed(pairs)]
        else:
            length = int(one.end[left] - left if left >= 0 else other.end[right] - right)
        pieces.append((left, right, above, depth, length))
        size += length
    return _laid_out(np.array(pieces, dtype=np.int64), one, other)


def _laid_out(pieces: IntArray, one: _Side, other: _Side) -> Alignment:
    """Turn pieces of rows into rows."""
    length = pieces[:, 4]
    offset = np.repeat(np.cumsum(length) - length, length)
    left, right, above, depth = np.repeat(pieces[:, :4], length, axis=0).T
    within = np.arange(len(offset)) - offset
    before = np.where(left >= 0, left + within, _ABSENT)
    after = np.where(right >= 0, right + within, _ABSENT)
    here = left >= 0
    first = np.where(here, left, right)
    parent = np.where(here, one.parent[before], other.parent[after]) - first + offset
    below = np.where(
        here, one.depth[before] - one.depth[left], other.depth[after] - other.depth[right]
    )
    return Alignment(np.where(within == 0, above, parent), depth + below, before, after)


def _paired(
    one: _Side, other: _Side, left: int, right: int, spellings: Sequence[Callable[[str], str]]
) -> list[tuple[int, int]]:
    """Pair the children of a frame; -1 stands where the other side has none."""
    ones, others = one.children[left], other.children[right]
    partner: dict[int, int] = {}
    free = dict.fromkeys(others)
    for level, spelling in enumerate(spellings):
        rest = [row for row in ones if row not in partner]
        if not rest or not free:
            break
        pair = _in_order if level < _EXACT else one_to_one
        for row, fitting in pair(
            rest, [*free], one.key(level, spelling), other.key(level, spelling)
        ):
            partner[row] = fitting
            del free[fitting]
    added = [(_ABSENT, row) for row in others if row in free]
    return [*((row, partner.get(row, _ABSENT)) for row in ones), *added]


def _in_order(
    ones: Sequence[int],
    others: Sequence[int],
    key: Callable[[int], Hashable],
    there: Callable[[int], Hashable],
) -> list[tuple[int, int]]:
    """Pair what has the same key: the first with the first, the second with the second."""
    queues: dict[Hashable, list[int]] = defaultdict(list)
    for other in reversed(others):
        queues[there(other)].append(other)
    return [(row, queues[at].pop()) for row in ones if queues.get(at := key(row))]
