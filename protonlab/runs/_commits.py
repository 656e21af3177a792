"""Commits of an archive: small files that say which parts count, each written as a whole.

A part is there once a commit names it, so a reader sees all of an append or nothing of it, on any
store in which a file is whole or not there: no rename of folders and no lock is needed. A commit
names the commits that it replaces. Where two hold the same rank and step, the older one counts.
"""

from __future__ import annotations

import io
import json
import secrets
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.model import MetricColumn
from protonlab.model.frames import columns_of_all
from protonlab.runs._packages import pyarrow
from protonlab.runs._parts import common_types, written
from protonlab.runs._store import Store

FOLDER = "_commits"
_KEY = b"protonlab"
_VERSION = 1
_SUFFIX = ".parquet"
_MOST_READINGS = 20
# One row a part: where it belongs, what it is, and what its rank said of itself.
PART_COLUMNS = {
    "rank": "int64",
    "step": "int64",
    "digest": "string",
    "bytes": "int64",
    "frames": "int64",
    "kernels": "string",
    "started": "string",
    "steps": "int64",
    "world_size": "int64",
    "host": "string",
    "gpu": "string",
    "gpu_uuid": "string",
    "versions": "string",
}
_REPEATED = ["kernels", "started", "host", "gpu", "gpu_uuid", "versions"]
KEY = ("rank", "step")


@dataclass(frozen=True, eq=False)
class Commit:
    """What one append put into an archive.

    Parameters
    ----------
    name
        Name of its file; commits sort by the time at which their append began.
    parts
        pyarrow.Table with the columns `PART_COLUMNS`, one row a profile.
    columns, types
        Metric columns of the parts, and the arrow type of each.
    replaces
        Names of the commits that count no more.
    """

    name: str
    parts: Any
    columns: tuple[MetricColumn, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """Name of the run that it belongs to."""
        return run_of(self.name)

    def write(self, store: Store) -> None:
        """Write it; from then on its parts count."""
        about = {
            "version": _VERSION,
            "columns": [asdict(column) for column in self.columns],
            "types": dict(self.types),
            "replaces": list(self.replaces),
        }
        table = self.parts.replace_schema_metadata({_KEY: json.dumps(about).encode()})
        store.write(f"{FOLDER}/{self.name}", written(table))


class _About(msgspec.Struct):
    version: int
    columns: list[MetricColumn]
    types: dict[str, str]
    replaces: list[str]


def new_name(run: str) -> str:
    """Make a name for a commit that begins now; no two are the same."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{quote(run, safe='')}@{moment}@{secrets.token_hex(4)}{_SUFFIX}"


def run_of(name: str) -> str:
    """Name of the run that a commit belongs to, by the name of its file."""
    return unquote(name.partition("@")[0])


def parts_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a table of parts, in the order of rank and step."""
    arrow = pyarrow()
    ordered = sorted(rows, key=lambda row: (row["rank"], row["step"]))
    schema = arrow.schema([(name, _type(name)) for name in PART_COLUMNS])
    return arrow.Table.from_pylist(
        [{name: row.get(name) for name in PART_COLUMNS} for row in ordered],
        arrow.schema([(name, kind) for name, kind in PART_COLUMNS.items()]),
    ).cast(schema)


def _type(name: str) -> Any:
    arrow = pyarrow()
    kind = arrow.type_for_alias(PART_COLUMNS[name])
    return arrow.dictionary(arrow.int32(), kind) if name in _REPEATED else kind


def committed(store: Store) -> list[str]:
    """List the names of all commits, in the order of run and time."""
    return sorted(name for name in store.files(FOLDER) if name.endswith(_SUFFIX) and "@" in name)


def read_commits(
    store: Store, runs: Collection[str] | None = None, known: dict[str, Commit] | None = None
) -> list[Commit]:
    """Read the commits that are there at one moment, in the order of run and time.

    One that is not whole is left out, with a warning that says so.

    Parameters
    ----------
    store
        The archive.
    runs
        Names of the runs whose commits are wanted; None: all.
    known
        Commits that were read before, by name; those that are read now are added.

    Raises
    ------
    ProfileFormatError
        If a later protonlab wrote one.
    """
    held = {} if known is None else known
    for _ in range(_MOST_READINGS):
        names = [name for name in committed(store) if runs is None or run_of(name) in runs]
        new = [name for name in names if name not in held]
        contents = store.read_all([f"{FOLDER}/{name}" for name in new])
        for name, data in zip(new, contents, strict=True):
            commit = None if data is None else _parsed(name, data, store.url)
            if commit is not None:
                held[name] = commit
        # What was taken back or replaced in between may stand in a commit that was not listed.
        if None not in contents:
            return [held[name] for name in names if name in held]
    raise ProtonLabError(f"{store.url} was written to all the time while it was read; try again")


def _parsed(name: str, data: bytes, url: str) -> Commit | None:
    arrow = pyarrow()
    source = f"{url}: {FOLDER}/{name}"
    try:
        table = arrow.parquet.read_table(io.BytesIO(data), read_dictionary=_REPEATED)
        about = json.loads(table.schema.metadata[_KEY])
        version = about["version"]
        if version == _VERSION:
            held = msgspec.convert(about, _About)
            parts = table.select(list(PART_COLUMNS)).unify_dictionaries()
            return Commit(name, parts, tuple(held.columns), held.types, tuple(held.replaces))
    except (arrow.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        warnings.warn(
            f"{source} is no whole commit ({type(error).__name__}), so what it held of run "
            f"{run_of(name)!r} is left out; append that run again",
            UserWarning,
            stacklevel=2,
        )
        return None
    raise ProfileFormatError(
        f"{source}: written by a protonlab whose archives have version {version!r}; this one reads "
        f"{_VERSION}. Update protonlab"
    )


@dataclass(frozen=True, eq=False)
class Holding:
    """What an archive holds of one run, by those of its commits that count.

    Parameters
    ----------
    run
        Name of the run.
    commits
        In the order of time, none of them replaced by another.
    """

    run: str
    commits: tuple[Commit, ...]

    @cached_property
    def parts(self) -> Any:
        """Rows of `PART_COLUMNS`, one for each rank and step, whatever the commits."""
        arrow = pyarrow()
        tables = [commit.parts for commit in self.commits]
        if not tables:
            return parts_table([])
        table = arrow.concat_tables(tables).unify_dictionaries()
        if len(tables) == 1:
            return table
        again = table.select(list(KEY)).to_pandas().duplicated()
        return table.filter(arrow.array(~again.to_numpy())) if again.any() else table

    @cached_property
    def columns(self) -> tuple[MetricColumn, ...]:
        """Metric columns of all of its parts."""
        return columns_of_all(commit.columns for commit in self.commits)

    @cached_property
    def types(self) -> dict[str, str]:
        """Arrow type of each metric column, as text."""
        return common_types(commit.types for commit in self.commits)

    @property
    def digests(self) -> dict[tuple[int, int], str]:
        """Rank and step -> digest of the part that counts."""
        columns = (self.parts[name].to_pylist() for name in (*KEY, "digest"))
        return {(rank, step): digest for rank, step, digest in zip(*columns, strict=True)}


def holdings(commits: Iterable[Commit]) -> dict[str, Holding]:
    """Sort commits by run, without those that others replace, nor runs of which nothing is left."""
    known = sorted(commits, key=lambda commit: commit.name)
    gone = {name for commit in known for name in commit.replaces}
    of_run: dict[str, list[Commit]] = {}
    for commit in known:
        if commit.name not in gone:
            of_run.setdefault(commit.run, []).append(commit)
    found = {run: Holding(run, tuple(own)) for run, own in of_run.items()}
    return {run: holding for run, holding in found.items() if len(holding.parts)}


def in_conflict(one: Commit, other: Commit) -> list[tuple[int, int]]:
    """Ranks and steps of which two commits hold different contents."""
    mine, theirs = (Holding(each.run, (each,)).digests for each in (one, other))
    return sorted(key for key in mine.keys() & theirs.keys() if mine[key] != theirs[key])
