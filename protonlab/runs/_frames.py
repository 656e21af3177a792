"""The frames of many profiles as one table, read when they are asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.model.frames import FRAME_COLUMNS
from protonlab.runs._commits import Holding
from protonlab.runs._packages import dask_dataframe, pyarrow
from protonlab.runs._parts import PARTITIONS, arrow_type, common_types, part_name
from protonlab.runs._store import Store

# Frames that one partition holds, as a rule: a few hundred bytes each.
FRAMES_A_PARTITION = 250_000
_NUMBERS = ("parent_id", "depth", "device_id")


@dataclass(frozen=True)
class FrameFile:
    """The file of one profile: where it belongs, and its name within the archive."""

    run: str
    rank: int
    step: int
    name: str


def frame_files(holding: Holding) -> list[tuple[FrameFile, int]]:
    """List the files of a run, with how many frames each has."""
    columns = ("rank", "step", "digest", "frames")
    values = (holding.parts[name].to_pylist() for name in columns)
    return [
        (FrameFile(holding.run, rank, step, part_name(holding.run, rank, step, digest)), frames)
        for rank, step, digest, frames in zip(*values, strict=True)
    ]


def schema_of(runs: Sequence[Holding]) -> dict[str, str]:
    """Columns of the frames of several runs -> their arrow types, as text."""
    text = {name: "int64" if name in _NUMBERS else "string" for name in FRAME_COLUMNS}
    metrics = common_types(holding.types for holding in runs)
    return {"run": "string", "rank": "int64", "step": "int64", "frame_id": "int64"} | text | metrics


def lazy_frames(store: Store, runs: Sequence[Holding], columns: Sequence[str] | None) -> Any:
    """Make what `Archive.to_dask` returns."""
    schema = schema_of(runs)
    if columns is not None:
        unknown = [name for name in columns if name not in schema]
        if unknown:
            raise ProtonLabError(
                f"no column {unknown[0]!r} in these runs; there are {', '.join(schema)}"
            )
        schema = {name: schema[name] for name in columns}
    if not runs:
        raise ProtonLabError(f"{store.url} holds no such run, so there are no frames")
    partitions: list[list[FrameFile]] = []
    room = 0
    for holding in runs:
        for file, frames in frame_files(holding):
            if room < frames:
                partitions.append([])
                room = FRAMES_A_PARTITION
            partitions[-1].append(file)
            room -= frames
    meta = empty_frames(schema)
    return dask_dataframe().from_map(
        _Reader(store, schema), partitions, meta=meta, enforce_metadata=False
    )


@dataclass(frozen=True)
class _Reader:
    """Reads a partition."""

    store: Store
    schema: dict[str, str]

    def __call__(self, files: Sequence[FrameFile]) -> pd.DataFrame:
        return read_frames(self.store, files, self.schema)


def empty_frames(schema: dict[str, str]) -> pd.DataFrame:
    """Make a table of no rows."""
    return _as_pandas(_typed(pyarrow().table({}), schema, 0))


def read_frames(store: Store, files: Sequence[FrameFile], schema: dict[str, str]) -> pd.DataFrame:
    """Read the frames of some profiles, those columns that `schema` names.

    Raises
    ------
    ProfileFormatError
        If a file is not there or not whole.
    """
    arrow = pyarrow()
    tables = []
    for file in files:
        try:
            parquet = arrow.parquet.ParquetFile(io.BytesIO(store.read(file.name)))
            there = set(parquet.schema_arrow.names)
            wanted = [name for name in schema if name in there and name not in PARTITIONS]
            table = parquet.read(columns=wanted)
            rows = parquet.metadata.num_rows
        except (arrow.ArrowException, OSError) as error:
            raise ProfileFormatError(
                f"{store.url}: {file.name} is not whole ({type(error).__name__}). Append run "
                f"{file.run!r} again with replace=True"
            ) from error
        values = {"run": file.run, "rank": file.rank, "step": file.step}
        for name in PARTITIONS:
            if name in schema:
                array = arrow.repeat(arrow.scalar(values[name], arrow_type(schema[name])), rows)
                table = table.append_column(name, array)
        tables.append(_typed(table, schema, rows))
    return _as_pandas(arrow.concat_tables(tables))


def _typed(table: Any, schema: dict[str, str], rows: int) -> Any:
    """Give a table the columns and types of a schema."""
    arrow = pyarrow()
    columns = {}
    for name, text in schema.items():
        kind = arrow_type(text)
        if name not in table.column_names:
            columns[name] = arrow.nulls(rows, kind)
            continue
        column = table[name]
        if column.type != kind:
            plain = kind != arrow.string() or arrow.types.is_dictionary(column.type)
            column = column.cast(kind, safe=False) if plain else _as_json(column)
        columns[name] = column
    return arrow.table(columns)


def _as_json(column: Any) -> Any:
    texts = [None if value is None else json.dumps(value) for value in column.to_pylist()]
    return pyarrow().array(texts, pyarrow().string())


def _as_pandas(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
