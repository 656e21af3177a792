"""Which frames of a tree get a box of their own, and what the others are folded into.

All of it is array arithmetic on the frame table, so a million frames take milliseconds; only the
boxes that remain are walked one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protonlab.model.frames import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Boxes:
    """Boxes of a flame graph, frames first, then the folded ones; each array of shape (n,).

    Parameters
    ----------
    frame
        ``frame_id`` of the box; for a folded box that of the parent whose children it holds.
    depth
        Depth of the box; 0 for the root.
    start, width
        Where the box begins and how wide it is, in units of the metric.
    folded
        How many frames the box stands for; 0 for a frame of its own.
    """

    frame: IntArray
    depth: IntArray
    start: FloatArray
    width: FloatArray
    folded: IntArray

    def __len__(self) -> int:
        return len(self.frame)


def fold(
    parent: IntArray, depth: IntArray, value: FloatArray, shown: BoolArray, *, limit: int
) -> Boxes:
    """Give the widest frames a box each and fold the rest, at most `limit` boxes in all.

    Parameters
    ----------
    parent, depth
        Columns of the frame table.
    value
        Inclusive sums of a metric that is nowhere negative, NaN where it is missing.
    shown
        Frames that take part; what lies below a frame that does not must not either.
    limit
        Most boxes to make, at least 2.

    Returns
    -------
    Boxes
        The boxes on a box, folded one included, add up to what the frame's children add up to.
        There is none when the root has no positive value.
    """
    drawn = shown & (value > 0)
    ids = _widest(np.flatnonzero(drawn), parent, value, limit)
    kept = np.zeros(len(value), dtype=np.bool_)
    kept[ids] = True

    nearest = np.where(kept, np.arange(len(value)), parent)  # becomes: nearest ancestor with a box
    hidden = np.flatnonzero(drawn & ~kept)
    above = nearest[hidden]
    while not kept[above].all():
        above = nearest[above]
    counts = np.bincount(above, minlength=len(value))
    top = hidden[parent[hidden] == above]  # the highest of the frames that are folded
    sums = np.bincount(parent[top], weights=value[top], minlength=len(value))
    over = ids[counts[ids] > 0]

    frame = np.concatenate([ids, over])
    folded = np.concatenate([np.zeros(len(ids), dtype=np.int64), counts[over]])
    width = np.concatenate([value[ids], sums[over]])
    return Boxes(
        frame=frame,
        depth=depth[frame] + (folded > 0),
        start=_starts(np.concatenate([parent[ids], over]), frame, width),
        width=width,
        folded=folded,
    )


def _widest(ids: IntArray, parent: IntArray, value: FloatArray, limit: int) -> IntArray:
    """Rows of the widest frames such that they and the folded boxes they need fit `limit`.

    A frame is never wider than its parent and stands behind it in the table, so the first frames
    in the order (widest first, then by row) never lack a parent.
    """
    if len(ids) <= limit:
        return ids
    narrowest = np.partition(value[ids], -limit)[-limit]
    wider = ids[value[ids] > narrowest]
    wider = wider[np.argsort(-value[wider], kind="stable")]
    order = np.concatenate([wider, ids[value[ids] == narrowest][: limit - len(wider)]])
    children = np.bincount(parent[ids[1:]], minlength=len(value))
    missing = children[order].tolist()
    row = {frame: index for index, frame in enumerate(order.tolist())}
    folds = most = 0
    for index, frame in enumerate(order.tolist()):
        folds += missing[index] > 0
        if index:
            above = row[int(parent[frame])]
            missing[above] -= 1
            folds -= missing[above] == 0
        if index + 1 + folds <= limit:
            most = index + 1
    widest: IntArray = np.sort(order[:most])
    return widest


def _starts(parent: IntArray, frame: IntArray, width: FloatArray) -> FloatArray:
    """Begin each box behind the siblings before it; parents come before their children."""
    free: dict[int, float] = {-1: 0.0}
    starts = np.empty(len(frame))
    own = np.arange(len(frame)) < len(np.unique(frame))
    for index, (above, row, wide) in enumerate(
        zip(parent.tolist(), frame.tolist(), width.tolist(), strict=True)
    ):
        starts[index] = free[above]
        free[above] += wide
        if own[index]:
            free[row] = starts[index]
    return starts
