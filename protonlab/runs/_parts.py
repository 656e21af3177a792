"""A part of an archive: one profile as parquet, and its digest."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np

from protonlab.model import Profile
from protonlab.model.parquet import PARQUET_KEY
from protonlab.runs._packages import pyarrow

# Columns that the folders of a dataset say.
PARTITIONS = ("run", "rank", "step")
COMPRESSION = "zstd"
DIGITS = 32  # of a digest
# A metric of that name gets another; `ROW` is a column of kernel sums.
ROW = "_row"
_TAKEN = frozenset({*PARTITIONS, ROW})


def folder_of(run: str) -> str:
    """Name the folder of a run, as hive's partitions are named."""
    return f"run={quote(run, safe='')}"


def part_name(run: str, rank: int, step: int, digest: str) -> str:
    """Name the file of one profile within an archive."""
    return f"{folder_of(run)}/rank={rank}/step={step}/part-{digest}.parquet"


def storable(profile: Profile) -> Profile:
    """Rename metrics whose columns would clash with the dataset's own: ``rank_metric`` for rank."""
    names = {column.column for column in profile.columns}
    renamed: dict[str, str] = {}
    for name in sorted(names & _TAKEN):
        new = f"{name}_metric"
        while new in names or new in renamed.values():
            new += "_metric"
        renamed[name] = new
    if not renamed:
        return profile
    columns = tuple(
        replace(column, column=renamed.get(column.column, column.column))
        for column in profile.columns
    )
    repeats = profile.repeats
    if repeats is not None:
        repeats = replace(repeats, values=repeats.values.rename(columns=renamed))
    frames = profile.frames.rename(columns=renamed)
    return replace(profile, frames=frames, columns=columns, repeats=repeats)


def digest_of(table: Any) -> str:
    """Compute a digest of a profile's contents, by pyarrow's table of it; 32 hexadecimal digits.

    It goes by values, not by bytes of a file: other versions of pyarrow compute the same.
    """
    arrow = pyarrow()
    told = hashlib.sha256(table.schema.metadata[PARQUET_KEY])
    for name in table.column_names[1:]:  # the first one counts the rows
        column = table[name]
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        is_text = arrow.types.is_dictionary(array.type)
        told.update(f"\0{name}\0{'' if is_text else type_text(array.type)}\0".encode())
        if array.null_count:
            there = array.is_valid().to_numpy(zero_copy_only=False)
            told.update(np.packbits(there).tobytes())
            array = array.drop_null()
        if is_text:
            told.update(json.dumps(array.dictionary.to_pylist()).encode())
            array = array.indices
        if arrow.types.is_primitive(array.type):
            told.update(array.to_numpy(zero_copy_only=False))
        else:
            told.update(json.dumps(array.to_pylist()).encode())
    return told.hexdigest()[:DIGITS]


def written(table: Any) -> bytes:
    """Write a table as parquet, in memory."""
    stream = io.BytesIO()
    pyarrow().parquet.write_table(table, stream, compression=COMPRESSION)
    return stream.getvalue()


def types_of(profile: Profile, table: Any) -> dict[str, str]:
    """Types of a part's metric columns, as text: ``int64``, ``double``, ``list<double>``, …."""
    return {
        column.column: type_text(table.schema.field(column.column).type)
        for column in profile.columns
    }


def type_text(kind: Any) -> str:
    """Write an arrow type so that every version of pyarrow writes the same."""
    types = pyarrow().types
    return f"list<{kind.value_type}>" if types.is_list(kind) else str(kind)


def arrow_type(text: str) -> Any:
    """Read what `type_text` wrote; text where it is of another kind."""
    arrow = pyarrow()
    inner = text.removeprefix("list<").removesuffix(">")
    try:
        kind = arrow.type_for_alias(inner)
    except ValueError:
        return arrow.string()
    return arrow.list_(kind) if inner != text else kind


def common_type(one: str, other: str) -> str:
    """Find the type that holds what columns of two types hold; text where no other does."""
    if one == other or other == "null":
        return one
    if one == "null" or {one, other} == {"int64", "double"}:
        return other if one == "null" else "double"
    if {one, other} <= {"list<int64>", "list<double>", "list<null>"}:
        return "list<int64>" if "list<double>" not in (one, other) else "list<double>"
    return "string"


def common_types(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Types of the metric columns of several parts."""
    found: dict[str, str] = {}
    for part in parts:
        for name, kind in part.items():
            found[name] = common_type(found.get(name, kind), kind)
    return found
