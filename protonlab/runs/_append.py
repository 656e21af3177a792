"""Appending to an archive: parts first, by any number of workers, then the commit that counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model import MetricColumn
from protonlab.model.frames import columns_of_all
from protonlab.model.parquet import parquet_table
from protonlab.model.sentences import some
from protonlab.model.units import counted
from protonlab.runs._commits import Commit, Holding, parts_table, run_of
from protonlab.runs._kernel_sums import KernelSums
from protonlab.runs._parts import (
    DIGITS,
    common_types,
    digest_of,
    folder_of,
    part_name,
    storable,
    types_of,
    written,
)
from protonlab.runs._sources import Batch
from protonlab.runs._store import Store

SUMS_FOLDER = "_kernels"
_MOST_KEYS = 6

Key = tuple[int, int]


@dataclass(frozen=True)
class Stored:
    """What became of one batch.

    Parameters
    ----------
    rows
        Rows of a table of parts that were written and count once a commit names them.
    columns, types
        Their metric columns, and the arrow type of each.
    present
        How many profiles the archive holds already.
    differing
        Ranks and steps of which it holds other contents.
    warnings
        Sentences on ranks that have no profile.
    problem
        Why nothing of the batch was written; empty where it was.
    """

    rows: tuple[dict[str, Any], ...] = ()
    columns: tuple[MetricColumn, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    present: int = 0
    differing: tuple[Key, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Plan:
    """How a run is to be appended.

    Parameters
    ----------
    commit
        Name of the commit to write.
    where
        Its folder, empty where it is at hand.
    held
        What the archive held of it at the beginning.
    replace
        Whether what is appended takes the place of what the archive holds of a rank and step.
    """

    commit: str
    where: str = ""
    held: Holding | None = None
    replace: bool = False

    @property
    def run(self) -> str:
        """Name of the run."""
        return run_of(self.commit)

    @property
    def known(self) -> dict[Key, str]:
        """Rank and step -> digest of what need not be written again."""
        return {} if self.held is None or self.replace else self.held.digests


@dataclass(frozen=True)
class Appended:
    """What became of one run.

    Parameters
    ----------
    run
        Its name.
    added, present, frames, nbytes
        Profiles that were added, those that were there already, and frames and bytes of parquet
        that were added.
    commit
        The commit that was written, None where there was nothing to add.
    warnings
        Sentences on ranks that have no profile.
    problem
        Why nothing of the run was added.
    """

    run: str
    added: int = 0
    present: int = 0
    frames: int = 0
    nbytes: int = 0
    commit: Commit | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()
    problem: str = ""


def store_batch(store: Store, batch: Batch, known: Mapping[Key, str]) -> Stored:
    """Write the parts of a batch, and a file with the sums of their kernels.

    Parts are named by their contents: written twice, as by a worker that was killed and by the one
    that took its place, they are there once.
    """
    rows: list[dict[str, Any]] = []
    columns, types, sums = [], [], KernelSums()
    differing: list[Key] = []
    warnings: list[str] = []
    seen: dict[Key, str] = {}
    present = 0
    try:
        for given, row in batch.read(warnings):
            profile = storable(given)
            table = parquet_table(profile)
            key, digest = (row["rank"], row["step"]), digest_of(table)
            if key in known:
                present += known[key] == digest
                differing += [key] * (known[key] != digest)
                continue
            data = written(table)
            store.write(part_name(batch.run, *key, digest), data)
            seen[key] = digest
            rows.append({**row, "digest": digest, "bytes": len(data)})
            columns.append(profile.columns)
            types.append(types_of(profile, table))
            sums.add(profile, table, *key)
        if not rows:
            return Stored(present=present, differing=tuple(differing), warnings=tuple(warnings))
        name = f"{SUMS_FOLDER}/{folder_of(batch.run)}/{_digest_of_batch(seen)}.parquet"
        store.write(name, written(sums.table()))
    except Exception as error:  # one run's fault is not another's: it is told with the run
        return Stored(warnings=tuple(warnings), problem=_told(error))
    for row in rows:
        row["kernels"] = name
    return Stored(
        tuple(rows),
        columns_of_all(columns),
        common_types(types),
        present,
        tuple(differing),
        tuple(warnings),
    )


def commit_run(store: Store, plan: Plan, batches: Sequence[Stored]) -> Appended:
    """Write the commit of a run whose batches are stored, or none where something is wrong."""
    name, run = plan.commit, plan.run
    warnings = tuple(text for batch in batches for text in batch.warnings)
    present = sum(batch.present for batch in batches)
    problem = next((batch.problem for batch in batches if batch.problem), "")
    differing = sorted(key for batch in batches for key in batch.differing)
    rows = [row for batch in batches for row in batch.rows]
    if differing and not problem:
        problem = differing_text(run, differing)
    if not rows and not present and not problem:
        problem = f"no rank of it has a whole profile. {' '.join(warnings)}".strip()
    if problem or not rows:
        return Appended(run, present=present, warnings=warnings, problem=problem)
    columns = [batch.columns for batch in batches]
    types = [batch.types for batch in batches]
    table = parts_table(rows)
    replaces: tuple[str, ...] = ()
    if plan.replace and plan.held is not None:
        new = {(row["rank"], row["step"]) for row in rows}
        kept = [row for row in plan.held.parts.to_pylist() if (row["rank"], row["step"]) not in new]
        table = parts_table([*kept, *rows])
        columns.append(plan.held.columns)
        types.append(plan.held.types)
        replaces = tuple(commit.name for commit in plan.held.commits)
    commit = Commit(name, table, columns_of_all(columns), common_types(types), replaces)
    try:
        commit.write(store)
    except Exception as error:
        return Appended(run, present=present, warnings=warnings, problem=_told(error))
    return Appended(
        run,
        len(rows),
        present,
        sum(row["frames"] for row in rows),
        sum(row["bytes"] for row in rows),
        commit,
        warnings,
    )


def differing_text(run: str, keys: Sequence[Key], where: str = "the archive") -> str:
    """Say that two contents claim the same place."""
    shown = some([f"rank {rank} at step {step}" for rank, step in keys], _MOST_KEYS)
    return (
        f"{where} holds other contents of {counted(len(keys), 'profile')} of run {run!r} "
        f"({shown}), and nothing was changed. Give the run another name (name=), or "
        "replace=True to put this in its place"
    )


def _digest_of_batch(parts: Mapping[Key, str]) -> str:
    told = hashlib.sha256()
    for (rank, step), digest in sorted(parts.items()):
        told.update(f"{rank} {step} {digest}\n".encode())
    return told.hexdigest()[:DIGITS]


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, ProtonLabError) else f"{type(error).__name__}: {error}"
