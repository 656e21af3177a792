"""A tree of structs as arrays: preorder rows, parents, depths, and a column for each metric.

Everything is done a level or a metric at a time, so that the cost of a frame is a few C calls.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, count
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats._tree import Node, Root
from protonlab.model.frames import IntArray

_CHILDREN = attrgetter("children")


def preorder(
    root: Root, source: str, max_depth: int, max_frames: int
) -> tuple[list[Root | Node], IntArray, IntArray, IntArray]:
    """Lay the tree out level by level, and tell where each frame stands in preorder.

    Returns
    -------
    nodes
        In breadth-first order, shape (n,).
    position
        Preorder row of each of them, shape (n,).
    parent, depth
        Columns of the frame table, in preorder, shape (n,).
    """
    level: list[Any] = [root]
    levels: list[list[Any]] = []
    fan_outs: list[IntArray] = []
    total = 0
    while level:
        total += len(level)
        if len(levels) > max_depth:
            raise ProfileFormatError(
                f"{source}: deeper than max_depth={max_depth} frames; pass a larger max_depth to "
                "load it"
            )
        if total > max_frames:
            raise ProfileFormatError(
                f"{source}: more than max_frames={max_frames} frames; pass a larger max_frames to "
                "load it"
            )
        children = list(map(_CHILDREN, level))
        levels.append(level)
        fan_outs.append(np.fromiter(map(len, children), np.int64, len(children)))
        level = list(chain.from_iterable(children))

    sizes = [np.ones(len(each), dtype=np.int64) for each in levels]
    for above in range(len(levels) - 2, -1, -1):
        running = np.concatenate([[0], np.cumsum(sizes[above + 1])])
        stops = np.cumsum(fan_outs[above])
        sizes[above] += running[stops] - running[stops - fan_outs[above]]
    positions = [np.zeros(1, dtype=np.int64)]
    parents = [np.full(1, -1, dtype=np.int64)]
    for above, fan_out in enumerate(fan_outs[:-1]):
        before = np.cumsum(sizes[above + 1]) - sizes[above + 1]
        firsts = (np.cumsum(fan_out) - fan_out)[fan_out > 0]
        start = np.repeat(before[firsts], fan_out[fan_out > 0])
        parents.append(np.repeat(positions[above], fan_out))
        positions.append(parents[-1] + 1 + before - start)
    position = np.concatenate(positions)
    parent, depth = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    parent[position] = np.concatenate(parents)
    depth[position] = np.repeat(np.arange(len(levels)), [len(each) for each in levels])
    return list(chain.from_iterable(levels)), position, parent, depth


def raw_columns(
    metrics: list[dict[str, Any]], position: IntArray
) -> dict[str, tuple[IntArray, list[Any]]]:
    """Raw metric name -> (rows that have it, their values).

    Frames with the same metrics in the same order are handled together: there are few such shapes.
    """
    first_of: dict[tuple[str, ...], int] = {}  # shape -> the first frame that has it
    shapes = np.fromiter(map(first_of.setdefault, map(tuple, metrics), count()), np.int64)
    pieces: dict[str, list[tuple[IntArray, list[Any]]]] = {}
    for shape, first in first_of.items():
        if not shape:
            continue
        members = np.flatnonzero(shapes == first)
        flat = list(
            chain.from_iterable(map(dict.values, map(metrics.__getitem__, members.tolist())))
        )
        for index, name in enumerate(shape):
            pieces.setdefault(name, []).append((position[members], flat[index :: len(shape)]))
    return {
        name: (
            np.concatenate([rows for rows, _ in parts]),
            list(chain.from_iterable(values for _, values in parts)),
        )
        for name, parts in pieces.items()
    }


def column_of(
    rows: IntArray, values: list[Any], n: int, kind: str | None = None
) -> tuple[Any, bool]:
    """Make a column of n out of values at rows, and tell whether it can be summed.

    `kind` is the column's type where the document says it: ``"int"``, ``"float"`` or ``"other"``.
    What is not finite is missing: Proton's JSON has no word for it.
    """
    types = set(map(type, values))
    if types <= {int, bool} and kind in (None, "int"):
        whole = np.zeros(n, dtype=np.int64)
        missing = np.ones(n, dtype=np.bool_)
        with suppress(OverflowError):
            whole[rows] = values
            missing[rows] = False
            return pd.arrays.IntegerArray(whole, missing), True
    if types <= {int, bool, float, type(None)} and kind != "other":
        numbers = np.full(n, np.nan)
        with suppress(OverflowError):
            numbers[rows] = np.array(values, dtype=np.float64)
            numbers[~np.isfinite(numbers)] = np.nan
            return numbers, True
    objects = np.full(n, None, dtype=object)
    for row, value in zip(rows.tolist(), values, strict=True):
        objects[row] = tuple(map(finite, value)) if isinstance(value, list) else finite(value)
    if int in types:  # pandas before 3 looks for dates in an array, and fails at one of 400 digits
        return pd.Series(objects, dtype=object, copy=False), False
    return objects, False


def finite(value: Any) -> Any:
    """Give the value, or None for NaN and infinity."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
