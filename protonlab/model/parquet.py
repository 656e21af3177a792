"""The frame table as parquet, with everything else of a profile in its metadata."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import MissingDependencyError
from protonlab.model.document import repeats_document
from protonlab.model.writing import compact_json, replacing

PARQUET_VERSION = 1
# Where a parquet file holds what its columns do not.
PARQUET_KEY = b"protonlab"


def pyarrow() -> Any:
    """Import pyarrow with its parquet part.

    Raises
    ------
    MissingDependencyError
        If it is not there.
    """
    try:
        import pyarrow  # optional: parquet alone needs it
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError(
            f"parquet needs pyarrow ({error}); pip install 'protonlab[parquet]'"
        ) from error
    return pyarrow


def write_parquet(profile: Any, path: Path) -> None:
    """Write a column for each of the frame table's, nulls where missing; vectors as lists.

    `protonlab.load` gives back an equal profile; any other reader finds an ordinary table.

    Raises
    ------
    MissingDependencyError
        If pyarrow is not there.
    """
    table = parquet_table(profile)
    with replacing(path) as file:
        pyarrow().parquet.write_table(table, file)


def parquet_table(profile: Any) -> Any:
    """Make the pyarrow.Table that `write_parquet` writes, what else the profile holds in metadata.

    Raises
    ------
    MissingDependencyError
        If pyarrow is not there.
    """
    arrow = pyarrow()
    frames = profile.frames
    as_json: list[str] = []
    arrays = {"frame_id": arrow.array(frames.index.to_numpy())}
    for name in frames:
        arrays[name] = _array(arrow, frames[name], as_json)
    about = {
        "version": PARQUET_VERSION,
        "info": dataclasses.asdict(profile.info),
        "devices": [dataclasses.asdict(device) for device in profile.devices],
        "columns": [dataclasses.asdict(column) for column in profile.columns],
        "json": as_json,
        "repeats": repeats_document(profile.repeats),
    }
    text = compact_json(about)
    return arrow.table(arrays).replace_schema_metadata({PARQUET_KEY: text.encode()})


def _array(arrow: Any, column: pd.Series, as_json: list[str]) -> Any:
    """Make an array of one column; `as_json` collects the names of those that hold mixed things."""
    own: Any = column.array  # quicker than the column's accessors, for thousands of profiles
    if isinstance(column.dtype, pd.CategoricalDtype):
        missing = own.codes < 0
        codes = np.full(len(column), -1, dtype=np.int32)
        codes[~missing], used = pd.factorize(own.codes[~missing])
        names = arrow.array([str(name) for name in own.categories[used]], arrow.string())
        return arrow.DictionaryArray.from_arrays(arrow.array(codes, mask=missing), names)
    missing = np.asarray(own.isna())
    if pd.api.types.is_integer_dtype(column.dtype):
        return arrow.array(own.to_numpy(dtype=np.int64, na_value=0), mask=missing)
    if pd.api.types.is_float_dtype(column.dtype):
        return arrow.array(own.to_numpy(dtype=np.float64, na_value=np.nan), mask=missing)
    values = [None if gap else value for gap, value in zip(missing, column, strict=True)]
    try:
        return arrow.array(_plain(values))
    except (arrow.ArrowException, OverflowError):
        as_json.append(str(column.name))
        return arrow.array([None if value is None else json.dumps(value) for value in values])


def _plain(values: Sequence[Any]) -> list[Any]:
    return [list(value) if isinstance(value, tuple) else value for value in values]
