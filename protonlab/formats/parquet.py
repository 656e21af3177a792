"""Parquet files that protonlab saved, to profiles."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats._stored import check_times, convert, repeats_of
from protonlab.model import Device, MetricColumn, Profile, ProfileInfo
from protonlab.model.frames import FRAME_COLUMNS, HOOK_STATES, KINDS, objects_of, text_column
from protonlab.model.parquet import PARQUET_KEY, PARQUET_VERSION, pyarrow

_TREE = ("parent_id", "depth")
_TEXT = ("name", "kernel", "label", "kind", "hook", "device_type")
_ALWAYS_THERE = ("name", "label", "kind")


class _About(msgspec.Struct):
    """The metadata of the file."""

    version: int
    info: ProfileInfo
    devices: list[Device]
    columns: list[MetricColumn]
    json: list[str]
    repeats: Any = None


def read_parquet(
    data: bytes, *, source: str, info: ProfileInfo | None, max_depth: int, max_frames: int
) -> Profile:
    """Read a profile that was saved as parquet.

    Parameters
    ----------
    data
        The file.
    source
        What to call the data in errors: the file's path.
    info
        How the profile came to be; by default what the file says.
    max_depth, max_frames
        Largest tree to accept.

    Raises
    ------
    ProfileFormatError
        If this is no such file, or larger than the bounds.
    MissingDependencyError
        If pyarrow is not there.
    """
    arrow = pyarrow()
    try:
        file = arrow.parquet.ParquetFile(arrow.BufferReader(data))
        if file.metadata.num_rows > max_frames:
            raise ProfileFormatError(
                f"{source}: more than max_frames={max_frames} frames; pass a larger max_frames to "
                "load it"
            )
        stored = (file.schema_arrow.metadata or {}).get(PARQUET_KEY)
        if stored is None:
            raise ProfileFormatError(
                f"{source}: a parquet file that protonlab did not write; expected one that "
                "Profile.save made"
            )
        about = _about(json.loads(stored), source)
        table = file.read()
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise ProfileFormatError(f"{source}: not whole parquet: {error}") from None
    metrics = [column.column for column in about.columns]
    if not {"count", "time_ns"} <= {*metrics} or len({*metrics, *FRAME_COLUMNS}) < len(
        [*metrics, *FRAME_COLUMNS]
    ):
        raise ProfileFormatError(
            f"{source}: its metrics are {', '.join(metrics) or 'none'}; expected count, time_ns "
            "and others, each once, and none that is named as a column of every frame table"
        )
    wanted = [*FRAME_COLUMNS, *metrics]
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise ProfileFormatError(f"{source}: column {missing[0]!r} is missing")
    try:
        columns = {name: _column(table.column(name), name, about.json) for name in wanted}
    except (arrow.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ProfileFormatError(f"{source}: a column is not as it was saved: {error}") from None
    frames = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows, name="frame_id"), copy=False)
    _check_tree(frames, source, max_depth)
    check_times(frames, source)
    for column in about.columns:
        if column.additive and not pd.api.types.is_numeric_dtype(frames[column.column].dtype):
            raise ProfileFormatError(
                f"{source}: {column.column} is to be summed, and holds no numbers"
            )
    own = tuple(about.columns)
    repeats = repeats_of(about.repeats, frames, own, source)
    return Profile(frames, own, tuple(about.devices), info or about.info, repeats)


def _about(stored: Any, source: str) -> _About:
    version = stored.get("version") if isinstance(stored, dict) else None
    if version != PARQUET_VERSION:
        raise ProfileFormatError(
            f"{source}: parquet version {version!r}; this protonlab reads {PARQUET_VERSION}. "
            "Update protonlab"
        )
    return convert(stored, _About, f"{source}: {PARQUET_KEY.decode()}")


def _column(chunks: Any, name: str, as_json: list[str]) -> Any:
    """Make a column of the frame table from an arrow column."""
    if name in _TEXT:
        known = {"kind": KINDS, "hook": HOOK_STATES}.get(name)
        text = objects_of(chunks.to_pylist())
        if name in _ALWAYS_THERE and pd.isna(text).any():
            raise ValueError(f"{name} has a gap")
        if known is None:
            return text_column(text)
        if not {*text} - {None} <= {*known}:
            raise ValueError(f"{name} is none of {', '.join(known)}")
        return pd.Categorical(text, pd.Index(list(known), dtype=object))
    missing: npt.NDArray[np.bool_] = chunks.is_null().to_numpy(zero_copy_only=False)
    kind = str(chunks.type)
    if name in _TREE:
        if kind != "int64" or missing.any():
            raise ValueError(f"{name} is no int64")
        return chunks.to_numpy()
    if kind == "int64":
        return pd.arrays.IntegerArray(chunks.fill_null(0).to_numpy().copy(), missing)
    if kind == "double":
        numbers = chunks.to_numpy().copy()
        numbers[missing] = np.nan
        return numbers
    values = chunks.to_pylist()
    if name in as_json:
        values = [None if value is None else json.loads(value) for value in values]
    return objects_of([tuple(value) if isinstance(value, list) else value for value in values])


def _check_tree(frames: pd.DataFrame, source: str, max_depth: int) -> None:
    """Check that the rows are a tree in preorder: sums over subtrees rely on it."""
    open_frames: list[int] = []  # the row last seen at each depth, down to the one before
    steps = zip(frames["parent_id"].tolist(), frames["depth"].tolist(), strict=True)
    for row, (parent, depth) in enumerate(steps):
        above = open_frames[depth - 1] if 0 < depth <= len(open_frames) else -1
        if parent != above or (above < 0) != (row == 0) or (row == 0 and depth):
            raise ProfileFormatError(f"{source}: parent_id and depth of row {row} fit no tree")
        if depth > max_depth:
            raise ProfileFormatError(
                f"{source}: deeper than max_depth={max_depth} frames; pass a larger max_depth to "
                "load it"
            )
        open_frames[depth:] = [row]
    if not open_frames:
        raise ProfileFormatError(f"{source}: no frame; expected at least the root")
