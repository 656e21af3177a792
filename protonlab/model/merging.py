"""Several recordings of the same code as one profile: frames by path, metrics summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.devices import Device
from protonlab.model.frames import (
    FRAME_COLUMNS,
    HOOK_STATES,
    KINDS,
    IntArray,
    MetricColumn,
    ancestors,
    below,
    columns_of_all,
    subtree_ends,
    text_column,
)
from protonlab.model.profile import Profile
from protonlab.model.repeats import REPEAT_SCOPE, Repeats
from protonlab.model.vectors import parted

# What makes frames below one parent the same frame.
_SAME = ("name", "kernel", "kind", "hook", "device_type", "device_id")
_TEXT = ("name", "kernel", "label", "kind", "hook", "device_type")


def merged(parts: Sequence[tuple[int | None, Profile]]) -> Profile:
    """Add profiles up, and keep what each repeat recorded.

    Parameters
    ----------
    parts
        Repeat (None: outside of repeats) and what was recorded in it; several parts of one repeat
        are added. Repeats are numbered anew, in their order.

    Returns
    -------
    Profile
        With the `info` of the first part; `repeats` is None when no part is one.
    """
    first = parts[0][1]
    sources, parent, depth, order = _union([profile.frames for _, profile in parts])
    columns = columns_of_all(profile.columns for _, profile in parts)
    values = pd.concat(
        [
            _metrics(profile.frames, columns).assign(
                frame_id=order[source], repeat=-1 if repeat is None else repeat
            )
            for (repeat, profile), source in zip(parts, sources, strict=True)
        ],
        ignore_index=True,
    )
    values, columns = parted(values, columns)
    text = pd.concat(
        [
            profile.frames[[*_TEXT, "device_id"]].astype(dict.fromkeys(_TEXT, object))
            for _, profile in parts
        ],
        ignore_index=True,
    ).groupby(values["frame_id"].to_numpy())
    frames = text.first().assign(parent_id=parent, depth=depth)
    frames.index = pd.RangeIndex(len(parent), name="frame_id")
    for name in _TEXT:
        categories = {"kind": KINDS, "hook": HOOK_STATES}.get(name)
        if categories:
            frames[name] = pd.Categorical(frames[name].to_numpy(object), list(categories))
        else:
            frames[name] = text_column(frames[name].to_numpy(object))
    for column in columns:
        values[column.column] = _typed(values[column.column])
        frames[column.column] = _summed(values[column.column], values["frame_id"], column)
    frames = frames[[*FRAME_COLUMNS, *(column.column for column in columns)]]
    devices = {(each.device_type, each.device_id): each for _, p in parts for each in p.devices}
    return Profile(
        frames,
        columns,
        _sorted(devices),
        first.info,
        _repeats(values, columns),
    )


def places(profile: Profile) -> IntArray:
    """Row of each frame in what `merged` makes of a profile alone, shape (n,)."""
    sources, _, _, order = _union([profile.frames])
    return order[sources[0]]


def split(profile: Profile, scope: str) -> list[tuple[int | None, Profile]]:
    """Take a session's own repeat scopes apart; those of other sessions only disappear.

    Parameters
    ----------
    scope
        What the names of the own scopes start with; the number of the repeat follows.
    """
    frames = profile.frames
    if not any(name.startswith(REPEAT_SCOPE) for name in frames["name"].cat.categories):
        return [(None, profile)]
    names = frames["name"].astype(str)
    scopes = (names.str.startswith(REPEAT_SCOPE) & (frames["kind"] == "scope")).to_numpy()
    if not scopes.any():
        return [(None, profile)]
    own = scopes & names.str.startswith(scope).to_numpy() if scope else np.zeros_like(scopes)
    end = subtree_ends(frames["parent_id"].to_numpy(), frames["depth"].to_numpy())
    inside = below(own, end)
    # A frame that stood in several of these scopes is now there several times; once is right.
    rest = merged([(None, profile.take(~inside & ~scopes))])
    parts: list[tuple[int | None, Profile]] = [(None, rest)]
    for name in names[own].unique():
        mine = own & (names == name).to_numpy()
        keep = below(mine, end) | ancestors(mine, end)
        parts.append((int(name.removeprefix(scope)), profile.take(keep & ~scopes)))
    return parts


def _union(tables: Sequence[pd.DataFrame]) -> tuple[list[IntArray], IntArray, IntArray, IntArray]:
    """Lay trees over each other.

    Returns
    -------
    sources
        For each table, the node of each of its rows.
    parent, depth
        Columns of the union, in preorder.
    order
        Preorder row of each node.
    """
    node_of: dict[tuple[Any, ...], int] = {}
    children: list[list[int]] = []
    sources = []
    for table in tables:
        nodes: list[int] = []
        keys = zip(*(_plain(table[name]) for name in _SAME), strict=True)
        for parent, key in zip(table["parent_id"].tolist(), keys, strict=True):
            above = nodes[parent] if parent >= 0 else -1
            # One root, whatever it is called: a part without a kernel has no other frame.
            place = (above, *key) if above >= 0 else ()
            node = node_of.setdefault(place, len(children))
            if node == len(children):
                children.append([])
                if above >= 0:
                    children[above].append(node)
            nodes.append(node)
        sources.append(np.array(nodes, dtype=np.int64))
    order = np.zeros(len(children), dtype=np.int64)
    parents: list[int] = []
    depths: list[int] = []
    stack = [(0, -1, 0)]
    while stack:
        node, above, depth = stack.pop()
        order[node] = len(parents)
        stack += [(child, len(parents), depth + 1) for child in reversed(children[node])]
        parents.append(above)
        depths.append(depth)
    return sources, np.array(parents, dtype=np.int64), np.array(depths, dtype=np.int64), order


def _plain(column: pd.Series) -> list[Any]:
    """Values that compare equal when they are missing."""
    return [None if pd.isna(value) else value for value in column.astype(object)]


def _metrics(frames: pd.DataFrame, columns: Sequence[MetricColumn]) -> pd.DataFrame:
    """Metric columns, each of the one type that fits all parts."""
    return pd.DataFrame(
        {
            each.column: frames[each.column].astype(object)
            if each.column in frames
            else pd.Series(None, index=frames.index, dtype=object)
            for each in columns
        }
    )


def _typed(values: pd.Series) -> pd.Series:
    """Integers as Int64, numbers as float64, anything else as it is."""
    present = values[values.notna()]
    if present.map(lambda value: isinstance(value, (int, np.integer))).all():
        return values.where(values.notna(), pd.NA).astype("Int64")
    if present.map(lambda value: isinstance(value, (int, float, np.number))).all():
        return values.where(values.notna(), np.nan).astype(np.float64)
    return values


def _summed(values: pd.Series, frame: pd.Series, column: MetricColumn) -> pd.Series:
    """Sum a column over the parts; a property keeps its last value, vectors add up."""
    groups = values.groupby(frame.to_numpy(), sort=True)
    if values.dtype == object:
        return groups.agg(_vector_sum)
    return groups.last() if column.raw.endswith("(pty)") else groups.sum(min_count=1)


def _vector_sum(values: pd.Series) -> Any:
    present = [value for value in values if isinstance(value, tuple)]
    if len({len(value) for value in present}) != 1:
        known = values[values.notna()]
        return known.iloc[-1] if len(known) else None
    return tuple(map(sum, zip(*present, strict=True)))


def _sorted(devices: dict[tuple[str, int], Device]) -> tuple[Device, ...]:
    return tuple(devices[key] for key in sorted(devices))


def _repeats(values: pd.DataFrame, columns: Sequence[MetricColumn]) -> Repeats | None:
    """Keep the rows of repeats that recorded something, with additive metrics."""
    seen = sorted(set(values["repeat"]) - {-1})
    if not seen:
        return None
    additive = [column.column for column in columns if column.additive]
    rows = values[(values["repeat"] >= 0) & values[additive].notna().any(axis=1)]
    keys = ["repeat", "frame_id"]
    sums = rows.groupby(keys, sort=True)[additive].sum(min_count=1).reset_index()
    position = {repeat: index for index, repeat in enumerate(seen)}
    return Repeats(len(seen), sums.assign(repeat=sums["repeat"].map(position).astype(np.int64)))
