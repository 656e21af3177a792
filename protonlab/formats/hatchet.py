"""Proton's tree files to profiles: every Proton since Triton 3.6, JSON or msgpack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats._flatten import column_of, finite, preorder, raw_columns
from protonlab.formats._kinds import kinds_of
from protonlab.formats._stored import check_times, convert, repeats_of
from protonlab.formats._tree import DeviceTable, Extra, StoredColumn, collector_paused, decode
from protonlab.model import Device, MetricColumn, Profile, ProfileInfo
from protonlab.model.document import DOCUMENT_VERSION, EXTRA_COLUMNS
from protonlab.model.frames import (
    FRAME_COLUMNS,
    HOOK_STATES,
    KINDS,
    BoolArray,
    IntArray,
    ancestors,
    below,
    categorical,
    objects_of,
    subtree_ends,
    text_column,
)
from protonlab.model.labels import label_of
from protonlab.model.sentences import some
from protonlab.model.vectors import parted, vector_notes

# Largest tree that is read unless more is asked for.
MAX_DEPTH, MAX_FRAMES = 10_000, 20_000_000

_NAME = attrgetter("frame.name")
_METRICS = attrgetter("metrics")
# Triton's and our own frames between a launch in the user's code and its kernel.
_MOST_NAMES = 3
_LAUNCHING = re.compile(
    r"/triton/(runtime/(jit|autotuner|interpreter)|backends/\w+/driver|compiler/compiler|knobs"
    r"|profiler/(\w+/)?\w+)\.py$|/protonlab/capture/\w+\.py$"
)


def read_hatchet(
    data: bytes,
    *,
    source: str,
    info: ProfileInfo | None = None,
    max_depth: int = MAX_DEPTH,
    max_frames: int = MAX_FRAMES,
) -> Profile:
    """Read a tree that Proton wrote.

    Parameters
    ----------
    data
        JSON or msgpack.
    source
        What to call the data in errors: the file's path.
    info
        How the profile came to be; by default what the document itself says.
    max_depth, max_frames
        Largest tree to accept.

    Raises
    ------
    ProfileFormatError
        If the data is no tree of Proton's or larger than the bounds.
    """
    with collector_paused():
        return _read(data, source, info, max_depth, max_frames)


def _read(
    data: bytes, source: str, info: ProfileInfo | None, max_depth: int, max_frames: int
) -> Profile:
    root, table = decode(data, source)
    nodes, position, parent, depth = preorder(root, source, max_depth, max_frames)
    names: npt.NDArray[np.object_] = np.empty(len(nodes), dtype=object)
    names[position] = list(map(_NAME, nodes))
    metrics = list(map(_METRICS, nodes))
    # The root lists metrics with 0, to say that viewers may sum them; that is no measurement.
    metrics[0] = {name: value for name, value in metrics[0].items() if value}
    stored = root.protonlab
    del root, nodes  # a large tree's memory is needed for its columns
    raw = raw_columns(metrics, position)
    del metrics
    _check_version(stored, source)
    extra = convert(stored, Extra, f"{source}: protonlab")
    if info is None:
        info = convert(extra.info, ProfileInfo, f"{source}: protonlab.info")

    codes, distinct = pd.factorize(names)
    labels = [label_of(name, info.cells) for name in distinct]
    device_type, device_id = _devices_of(raw, len(names), info, source)
    has_device = ~np.asarray(device_id.isna())
    end = subtree_ends(parent, depth)
    nowhere = np.full(len(names), -1, dtype=np.int8)
    columns, metrics_of = _metric_columns(raw, extra.columns, len(names), source)
    info = replace(info, notes=(*info.notes, *_not_finite(raw, names)))
    frames = pd.DataFrame(
        {
            "parent_id": parent,
            "depth": depth,
            "name": categorical(codes, distinct.tolist()),
            "kernel": categorical(nowhere, ()),
            "label": text_column(objects_of(labels)[codes]),
            "kind": kinds_of(distinct.tolist(), codes, has_device, end),
            "hook": categorical(nowhere, HOOK_STATES),
            "device_type": device_type,
            "device_id": device_id,
            **metrics_of,  # all at once: pandas takes a column alone in time that grows with them
        },
        index=pd.RangeIndex(len(names), name="frame_id"),
        copy=False,
    )
    del metrics_of
    check_times(frames, source)
    held = columns
    frames, columns = parted(frames, columns)
    if columns != held:
        info = replace(info, notes=(*info.notes, *vector_notes(frames, columns)))
    _restore(frames, extra, source)
    repeats = repeats_of(extra.repeats, frames, columns, source)
    profile = Profile(frames, columns, _device_table(table, frames, source), info, repeats)
    if info.context != "python":
        return profile
    return profile.take(~_machinery(frames, info.cells, end))


def _metric_columns(
    raw: Mapping[str, tuple[IntArray, list[Any]]],
    stored: Sequence[StoredColumn],
    n: int,
    source: str,
) -> tuple[tuple[MetricColumn, ...], dict[str, Any]]:
    """Make a column of each metric, in the order that is stored; ``count``, ``time_ns`` always."""
    known = {each.raw: each for each in stored}
    first = ("count", "time (ns)")
    columns: list[MetricColumn] = []
    added: dict[str, Any] = {}
    for name in dict.fromkeys((*known, *first, *sorted(raw))):
        rows, values = raw.get(name, (np.empty(0, dtype=np.int64), []))
        own = known.get(name)
        column = MetricColumn.from_raw(name, added)
        if own is not None and own.column:
            column = MetricColumn(own.column, name, own.unit, own.additive)
        taken = column.column in (*FRAME_COLUMNS, *added)
        if taken or (name in first and column.column != MetricColumn.from_raw(name).column):
            raise ProfileFormatError(
                f"{source}: protonlab.columns calls the metric {name!r} {column.column!r}, which "
                f"is {'the name of another column' if taken else 'not what it is called'}"
            )
        data, additive = column_of(rows, values, n, own.kind if own else None)
        added[column.column] = data
        columns.append(replace(column, additive=column.additive and additive))
    return tuple(columns), added


def _not_finite(
    raw: Mapping[str, tuple[IntArray, list[Any]]], names: npt.NDArray[np.object_]
) -> Iterator[str]:
    """Say which metrics are missing for NaN or infinity, which Proton writes as null in JSON."""
    for metric, (rows, values) in raw.items():
        types = set(map(type, values))
        if types <= {float}:
            odd = ~np.isfinite(np.array(values, dtype=np.float64))
        elif types & {float, list, type(None)}:
            odd = np.array([not _all_finite(value) for value in values])
        else:
            continue
        if odd.any():
            whose = list(dict.fromkeys(names[rows[odd]]))
            shown = some(whose, _MOST_NAMES)
            yield f"{metric} of {shown} came to NaN or infinity, so it is missing"


def _all_finite(value: Any) -> bool:
    return all(map(_all_finite, value)) if isinstance(value, list) else finite(value) is not None


def _devices_of(
    raw: dict[str, tuple[IntArray, list[Any]]], n: int, info: ProfileInfo, source: str
) -> tuple[pd.Categorical, pd.arrays.IntegerArray]:
    """Take device type and ordinal out of the raw metrics."""
    kind = np.full(n, None, dtype=object)
    number, missing = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)
    if info.backend.startswith("interpreter") and "device_id" not in raw and "time (ns)" in raw:
        rows, times = raw["time (ns)"]
        timed = rows[[isinstance(time, int | float) and time > 0 for time in times]]
        kind[timed], missing[timed] = "CPU", False
        return text_column(kind), pd.arrays.IntegerArray(number, missing)
    rows, values = raw.pop("device_id", (np.empty(0, dtype=np.int64), []))
    try:
        codes, distinct = pd.factorize(objects_of(values))
        number[rows] = np.array([int(value) for value in distinct], dtype=np.int64)[codes]
    except (TypeError, ValueError, OverflowError):
        raise ProfileFormatError(
            f'{source}: a frame\'s device_id is no integer; expected one such as "0"'
        ) from None
    missing[rows] = False
    rows, values = raw.pop("device_type", (np.empty(0, dtype=np.int64), []))
    odd = [value for value in values if not isinstance(value, str)]
    if odd:
        raise ProfileFormatError(
            f'{source}: a frame\'s device_type is {odd[0]!r}; expected text such as "CUDA"'
        )
    kind[rows] = values
    return text_column(kind), pd.arrays.IntegerArray(number, missing)


def _device_table(table: DeviceTable, frames: pd.DataFrame, source: str) -> tuple[Device, ...]:
    """Devices that the document lists, and any that a kernel names without an entry there."""
    devices = {}
    for kind, entries in table.items():
        for number, entry in entries.items():
            if not number.isdecimal():
                raise ProfileFormatError(
                    f"{source}: the device table lists {kind} {number!r}; expected an ordinal such "
                    'as "0"'
                )
            key = (kind, int(number))
            devices[key] = Device(
                *key,
                arch=entry.arch,
                num_sms=entry.num_sms,
                clock_rate_khz=finite(entry.clock_rate),
                memory_clock_rate_khz=finite(entry.memory_clock_rate),
                bus_width=entry.bus_width,
            )
    types: Any = frames["device_type"].array
    somewhere = (types.codes >= 0) & ~np.asarray(frames["device_id"].array.isna())
    if somewhere.any():
        used = frames.loc[somewhere, ["device_type", "device_id"]].drop_duplicates()
        for kind, number in used.itertuples(index=False):
            devices.setdefault((kind, int(number)), Device(kind, int(number)))
    return tuple(devices[key] for key in sorted(devices))


def _check_version(extra: Mapping[str, Any], source: str) -> None:
    version = extra.get("version", DOCUMENT_VERSION)
    if version != DOCUMENT_VERSION:
        raise ProfileFormatError(
            f"{source}: written by a protonlab with document version {version!r}; this one reads "
            f"{DOCUMENT_VERSION}. Update protonlab."
        )


def _restore(frames: pd.DataFrame, extra: Extra, source: str) -> None:
    """Put back the columns that a saved profile carries beside Proton's own."""
    for name in EXTRA_COLUMNS & extra.frames.keys():
        stored = extra.frames[name]
        known = {"kind": KINDS, "hook": HOOK_STATES}.get(name, stored.names)
        lowest = -1 if name in ("kernel", "hook") else 0  # every frame has a kind and a label
        try:
            if min(stored.codes, default=0) < lowest or not {*stored.names} <= {*known}:
                raise ValueError
            place = {text: code for code, text in enumerate(known)}
            moved = np.array([*(place[text] for text in stored.names), -1], dtype=np.int64)
            frames[name] = categorical(moved[np.asarray(stored.codes, dtype=np.int64)], known)
        except (ValueError, IndexError, OverflowError):
            raise ProfileFormatError(
                f"{source}: protonlab.frames.{name} does not fit the tree's {len(frames)} frames"
            ) from None


def _machinery(frames: pd.DataFrame, cells: Mapping[str, int], end: IntArray) -> BoolArray:
    """Python frames that are not the user's: the notebook's shell above a cell, and launching."""
    names = frames["name"]
    files = {name: name.rpartition("@")[0].rpartition(":")[0] for name in names.cat.categories}
    python = (frames["kind"] == "python").to_numpy()
    launching = names.isin([name for name, file in files.items() if _LAUNCHING.search(file)])
    in_cell = names.isin([name for name, file in files.items() if file in cells]).to_numpy()
    shell = ancestors(in_cell, end) & ~below(in_cell, end)
    cut: BoolArray = python & (launching.to_numpy() | shell)
    return cut
