"""More boxes for a part of a flame graph: what was folded there gets boxes of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from protonlab.model.frames import BoolArray
from protonlab.views.fold import Boxes, fold
from protonlab.views.tree import Tree


def refined(
    tree: Tree, boxes: Boxes, focus: int, *, limit: int, widest_first: bool
) -> tuple[Tree, Boxes] | None:
    """Fold one part of a tree anew, so that more of it is seen.

    Parameters
    ----------
    tree, boxes
        The tree, and the boxes that are shown of it.
    focus
        Id of the box that fills the width (`Boxes.ids`): of a node, or of a folded box.
    limit, widest_first
        As `fold` takes them.

    Returns
    -------
    tuple or None
        The same tree with less shown, and its boxes, where they were: those on the path to the
        focus and those in it. None when nothing in the focus is folded.
    """
    found = np.flatnonzero(boxes.ids == focus)
    if not len(found):
        return None
    box, top = int(found[0]), int(boxes.node[found[0]])
    inside = tree.shown & tree.below(_marked(tree, [top]))
    if focus < 0:  # the part of `top` that has no boxes yet
        own = boxes.node[boxes.own]
        inside &= ~tree.below(_marked(tree, own[tree.parent[own] == top]))
        inside[top] = True
    elif not inside[boxes.node[~boxes.own]].any():
        return None
    path = [] if focus >= 0 else [top]
    above = int(tree.parent[top])
    while above >= 0:
        path.insert(0, above)
        above = int(tree.parent[above])

    rows = np.flatnonzero(inside)
    value = tree.value[rows]
    if focus < 0:
        value[0] = boxes.width[box]
    inner = fold(
        np.where(rows == top, -1, np.cumsum(inside)[tree.parent[rows]] - 1),
        tree.depth[rows] - tree.depth[top],
        value,
        np.ones(len(rows), dtype=np.bool_),
        limit=max(2, limit - len(path) + (focus < 0)),
        widest_first=widest_first,
    )
    drawn = slice(1 if focus < 0 else 0, None)  # there the root is `top`, which is on the path
    outer = [int(np.flatnonzero(boxes.ids == node)[0]) for node in path]
    shown = inside | _marked(tree, path)
    return replace(tree, shown=shown), Boxes(
        np.concatenate([boxes.node[outer], rows[inner.node[drawn]]]),
        np.concatenate([boxes.depth[outer], inner.depth[drawn] + tree.depth[top]]),
        np.concatenate([boxes.start[outer], inner.start[drawn] + boxes.start[box]]),
        np.concatenate([boxes.width[outer], inner.width[drawn]]),
        np.concatenate([boxes.folded[outer], inner.folded[drawn]]),
    )


def _marked(tree: Tree, nodes: list[int] | np.ndarray) -> BoolArray:
    mask = np.zeros(len(tree.value), dtype=np.bool_)
    mask[nodes] = True
    return mask
