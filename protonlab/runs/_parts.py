"""A part of an archive: one profile as parquet, its digest, and the sums of its kernels."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from protonlab.model import MetricColumn, Profile
from protonlab.model.devices import FLOPS_WIDTHS, IDEAL_BYTES, IDEAL_FLOPS, ideal_times
from protonlab.model.frames import KINDS, OVERHEAD_KINDS, FloatArray
from protonlab.model.kernels import KERNEL_TEXT
from protonlab.model.parquet import PARQUET_KEY, parquet_table
from protonlab.runs._packages import pyarrow

# Columns that the folders of a dataset say.
PARTITIONS = ("run", "rank", "step")
COMPRESSION = "zstd"
# What a row of kernel sums is: a kernel's, or all frames of the profile.
ROW, KERNEL, TOTAL = "_row", "kernel", "total"
_DEVICE = "_device"
SUM_COLUMNS = ("rank", "step", ROW, *KERNEL_TEXT, "devices")
# A metric of that name gets another.
_TAKEN = frozenset({*PARTITIONS, ROW, _DEVICE})


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
    told = hashlib.blake2b(digest_size=16)
    told.update(table.schema.metadata[PARQUET_KEY])
    for name, column in zip(table.column_names, table.columns, strict=True):
        (array,) = column.chunks or [arrow.array([], column.type)]
        told.update(f"\0{name}\0{column.type}\0{len(array)}\0".encode())
        if array.null_count:
            there = array.is_valid().to_numpy(zero_copy_only=False)
            told.update(np.packbits(there).tobytes())
        if arrow.types.is_dictionary(array.type):
            told.update(json.dumps(array.dictionary.to_pylist()).encode())
            array = array.indices
        if arrow.types.is_primitive(array.type):
            told.update(array.fill_null(0).to_numpy(zero_copy_only=False).tobytes())
        else:
            told.update(json.dumps(array.to_pylist()).encode())
    return told.hexdigest()


def table_of(profile: Profile) -> Any:
    """Make the table of one part; `protonlab.load` opens its file as an equal profile."""
    return parquet_table(profile)


def written(table: Any) -> bytes:
    """Write a table as parquet, in memory."""
    stream = io.BytesIO()
    pyarrow().parquet.write_table(table, stream, compression=COMPRESSION)
    return stream.getvalue()


def kernel_sums(profile: Profile, table: Any, rank: int, step: int) -> Any:
    """Sum a profile's additive metrics over the frames of each kernel, and over all frames.

    Parameters
    ----------
    profile, table
        The profile and what `table_of` made of it.
    rank, step
        Where it belongs.

    Returns
    -------
    pyarrow.Table
        Columns `SUM_COLUMNS`, then one for each additive metric and the ideal times behind
        ``util``. ``_row`` is `KERNEL`, or `TOTAL` for the sums over all that was not launched by
        profiling itself.
    """
    arrow = pyarrow()
    compute = arrow.compute
    kind = profile.frames["kind"].cat.codes.to_numpy()
    metrics = [column.column for column in profile.columns if column.additive]
    frames = table.select([*KERNEL_TEXT, *metrics])
    for name, values in _ideal(profile, metrics).items():
        frames = frames.append_column(name, arrow.array(values, from_pandas=True))
        metrics.append(name)
    overhead = [KINDS.index(name) for name in OVERHEAD_KINDS]
    counted = frames.filter(arrow.array(~np.isin(kind, overhead)))
    known = compute.ScalarAggregateOptions(min_count=1)
    total = {name: compute.sum(counted[name], options=known).as_py() for name in metrics}
    own = frames.filter(arrow.array(kind == KINDS.index(KERNEL)))
    own = own.append_column(_DEVICE, arrow.array(_devices(profile)[kind == KINDS.index(KERNEL)]))
    asked = [(_DEVICE, "count_distinct"), *((name, "sum", known) for name in metrics)]
    sums = own.group_by([*KERNEL_TEXT], use_threads=False).aggregate(asked)
    n = len(sums) + 1
    columns = {
        "rank": arrow.array(np.full(n, rank)),
        "step": arrow.array(np.full(n, step)),
        ROW: arrow.array([KERNEL] * len(sums) + [TOTAL]),
        **{name: _with(sums[name].cast(arrow.string()), None) for name in KERNEL_TEXT},
        "devices": _with(sums[f"{_DEVICE}_count_distinct"], None),
        **{name: _with(sums[f"{name}_sum"], total[name]) for name in metrics},
    }
    return arrow.table(columns)


def _ideal(profile: Profile, metrics: Sequence[str]) -> dict[str, FloatArray]:
    """Ideal times of the frames, the sources of ``util``, where anything to compute them is."""
    if not {"bytes", *(f"flops{width}" for width in FLOPS_WIDTHS)} & {*metrics}:
        return {}
    ideal = ideal_times(profile.frames, profile.devices)
    return {name: ideal[name].to_numpy() for name in (IDEAL_FLOPS, IDEAL_BYTES)}


def _devices(profile: Profile) -> npt.NDArray[np.int64]:
    """Give each frame a number that its device alone has, shape (n,)."""
    kinds = profile.frames["device_type"].cat
    number = profile.frames["device_id"].to_numpy(dtype=np.float64, na_value=-1).astype(np.int64)
    return number * (len(kinds.categories) + 1) + kinds.codes.to_numpy()


def _with(column: Any, value: Any) -> Any:
    arrow = pyarrow()
    return arrow.chunked_array([*column.chunks, arrow.array([value], column.type)], column.type)


def joined(tables: Sequence[Any]) -> Any:
    """Lay tables of sums behind each other; a column that one lacks is missing there."""
    arrow = pyarrow()
    return arrow.concat_tables(tables, promote_options="permissive").combine_chunks()


def columns_of(parts: Sequence[Sequence[MetricColumn]]) -> tuple[MetricColumn, ...]:
    """Metric columns of several profiles; one may be summed where it may be in all of them."""
    found: dict[str, MetricColumn] = {}
    for column in (each for part in parts for each in part):
        known = found.setdefault(column.column, column)
        found[column.column] = replace(known, additive=known.additive and column.additive)
    return tuple(found.values())


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
