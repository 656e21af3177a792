"""Which nodes of a tree get a box of their own, and what the others are folded into.

All of it is array arithmetic on the tree, so a million nodes take milliseconds; only the boxes
that remain are walked one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protonlab.model.frames import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of a flame graph, nodes first, then the folded ones; each array of shape (n,).

    Parameters
    ----------
    node
        Row of the box in the tree; for a folded box that of the parent whose children it holds.
    depth
        Depth of the box; 0 for the root.
    start, width
        Where the box begins and how wide it is, in units of the metric.
    folded
        How many nodes the box stands for; 0 for a node of its own.
    """

    node: IntArray
    depth: IntArray
    start: FloatArray
    width: FloatArray
    folded: IntArray

    def __len__(self) -> int:
        return len(self.node)

    @property
    def own(self) -> BoolArray:
        """Boxes that stand for one node."""
        mask: BoolArray = self.folded == 0
        return mask

    @property
    def ids(self) -> IntArray:
        """What a page calls each box: its node, and ``~node`` for what is folded below it."""
        names: IntArray = np.where(self.own, self.node, ~self.node)
        return names


def fold(
    parent: IntArray,
    depth: IntArray,
    value: FloatArray,
    shown: BoolArray,
    *,
    limit: int,
    widest_first: bool = False,
) -> Boxes:
    """Give the widest nodes a box each and fold the rest, at most `limit` boxes in all.

    Parameters
    ----------
    parent, depth
        The tree; a parent stands before its children, the root first.
    value
        Inclusive sums of a metric that is nowhere negative, NaN where it is missing.
    shown
        Nodes that take part; what lies below a node that does not must not either.
    limit
        Most boxes to make, at least 2.
    widest_first
        Order siblings by width, else as they stand in the tree. A folded box is always the last.

    Returns
    -------
    Boxes
        The boxes on a box, folded one included, add up to what the node's children add up to.
        There is none when the root has no positive value.
    """
    drawn = np.flatnonzero(shown & (value > 0))
    ids = _widest(drawn, parent, value, limit)
    kept = np.zeros(len(value), dtype=np.bool_)
    kept[ids] = True

    hidden = drawn[~kept[drawn]]
    above = parent[hidden]
    top = hidden[kept[above]]  # the highest of the nodes that are folded
    waiting = np.flatnonzero(~kept[above])
    while len(waiting):  # climb to the nearest node with a box
        above[waiting] = parent[above[waiting]]
        waiting = waiting[~kept[above[waiting]]]
    counts = np.bincount(above, minlength=len(value))
    over = ids[counts[ids] > 0]
    place = np.searchsorted(over, parent[top])
    sums = np.bincount(place, weights=value[top], minlength=len(over))

    node = np.concatenate([ids, over])
    folded = np.concatenate([np.zeros(len(ids), dtype=np.int64), counts[over]])
    width = np.concatenate([value[ids], sums])
    level = depth[node] + (folded > 0)
    order = np.lexsort((-width if widest_first else node, folded > 0, level))
    starts = _starts(np.concatenate([parent[ids], over]), node, width, folded, order)
    return Boxes(node, level, starts, width, folded)


def _widest(ids: IntArray, parent: IntArray, value: FloatArray, limit: int) -> IntArray:
    """Rows of the widest nodes such that they and the folded boxes they need fit `limit`.

    A node is never wider than its parent and stands behind it in the tree, so the first nodes in
    the order (widest first, then by row) never lack a parent.
    """
    if len(ids) <= limit:
        return ids
    narrowest = np.partition(value[ids], -limit)[-limit]
    wider = ids[value[ids] > narrowest]
    wider = wider[np.argsort(-value[wider], kind="stable")]
    order = np.concatenate([wider, ids[value[ids] == narrowest][: limit - len(wider)]])
    children = np.bincount(parent[ids[1:]], minlength=len(value))
    missing = children[order].tolist()
    row = {node: index for index, node in enumerate(order.tolist())}
    folds = most = 0
    for index, node in enumerate(order.tolist()):
        folds += missing[index] > 0
        if index:
            above = row[int(parent[node])]
            missing[above] -= 1
            folds -= missing[above] == 0
        if index + 1 + folds <= limit:
            most = index + 1
    widest: IntArray = np.sort(order[:most])
    return widest


def _starts(
    parent: IntArray, node: IntArray, width: FloatArray, folded: IntArray, order: IntArray
) -> FloatArray:
    """Begin each box behind the siblings before it; `order` has parents before their children."""
    free: dict[int, float] = {-1: 0.0}
    starts = np.empty(len(node))
    parents, nodes = parent.tolist(), node.tolist()
    widths, is_own = width.tolist(), (folded == 0).tolist()
    for row in order.tolist():
        start = free[parents[row]]
        starts[row] = start
        free[parents[row]] = start + widths[row]
        if is_own[row]:
            free[nodes[row]] = start
    return starts
