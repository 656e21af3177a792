"""Sums of kernels over many profiles: read file by file, added up before anything is kept."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from protonlab.errors import ProfileFormatError
from protonlab.runs._cluster import computed
from protonlab.runs._commits import KEY, Holding
from protonlab.runs._kernel_sums import KERNEL, SUM_COLUMNS, TOTAL, added, joined
from protonlab.runs._packages import dask, pyarrow
from protonlab.runs._parts import ROW
from protonlab.runs._store import Store

# Files of sums that one task reads, one after the other; those of one run stay together.
FILES_A_TASK = 64
PROFILES = "_profiles"  # how many rows were added up


@dataclass(frozen=True)
class SumsFile:
    """A file with the sums of some profiles of a run.

    Parameters
    ----------
    run, name
        Its run, and its name within the archive.
    keys
        Rank and step of the profiles that count, shape (n, 2).
    """

    run: str
    name: str
    keys: tuple[tuple[int, int], ...]

    def read(self, store: Store, metrics: Sequence[str], kernels: Sequence[str] | None) -> Any:
        """Read its rows, with those of `metrics` that it has.

        Parameters
        ----------
        store
            The archive.
        metrics
            Columns to read beside the keys; one that no profile in the file recorded is left out.
        kernels
            Names, labels or compiled names of the kernels to read; None: all. An empty one: the
            sums over all frames.

        Raises
        ------
        ProfileFormatError
            If the file is not there or not whole.
        """
        arrow = pyarrow()
        compute = arrow.compute
        try:
            file = arrow.parquet.ParquetFile(io.BytesIO(store.read(self.name)))
            there = set(file.schema_arrow.names)
            wanted = [name for name in (*SUM_COLUMNS, *metrics) if name in there]
            table = file.read(columns=wanted)
            table = self._living(table)
        except (arrow.ArrowException, OSError, KeyError) as error:
            raise ProfileFormatError(
                f"{store.url}: {self.name} is not whole ({type(error).__name__}); it holds the "
                f"kernels of run {self.run!r}. Append that run again with replace=True"
            ) from error
        if kernels is not None and not kernels:
            return table.filter(compute.equal(table[ROW], TOTAL))
        table = table.filter(compute.equal(table[ROW], KERNEL))
        if kernels is None:
            return table
        named = arrow.array(list(kernels), arrow.string())
        flags = [compute.is_in(table[name], value_set=named) for name in _NAMES]
        return table.filter(compute.or_(compute.or_(flags[0], flags[1]), flags[2]))

    def _living(self, table: Any) -> Any:
        """Leave out profiles that another commit has, or that were replaced."""
        arrow = pyarrow()
        held = arrow.compute.sum(arrow.compute.equal(table[ROW], TOTAL)).as_py() or 0
        if held == len(self.keys):
            return table
        living = set(self.keys)
        pairs = zip(table["rank"].to_pylist(), table["step"].to_pylist(), strict=True)
        return table.filter(arrow.array([pair in living for pair in pairs], arrow.bool_()))


_NAMES = ("name", "label", "kernel")


def files_of(holding: Holding) -> Iterator[SumsFile]:
    """Find the files with the sums of a run."""
    columns = (holding.parts[name].to_pylist() for name in (*KEY, "kernels"))
    keys: dict[str, list[tuple[int, int]]] = {}
    for rank, step, name in zip(*columns, strict=True):
        keys.setdefault(name, []).append((rank, step))
    for name, own in keys.items():
        yield SumsFile(holding.run, name, tuple(own))


def grouped(table: Any, keys: Sequence[str], metrics: Collection[str]) -> Any:
    """Add up rows of the same keys; a value is missing where all of them lack it.

    `PROFILES` counts the rows that were added, or adds up such counts.
    """
    arrow = pyarrow()
    values = [name for name in table.column_names if name in metrics]
    if PROFILES not in table.column_names:
        ones = arrow.array([1], arrow.int64()).take(arrow.array([0] * len(table), arrow.int64()))
        table = table.append_column(PROFILES, ones)
    return added(table, keys, [*values, PROFILES])


def over_runs(
    store: Store,
    runs: Iterable[Holding],
    work: Callable[[Store, Sequence[SumsFile]], Any],
    *,
    progress: bool,
) -> list[Any]:
    """Call `work` on the files of several runs at a time, on the cluster that is there.

    Returns
    -------
    list
        What it returned, in the order of `runs`. All files of a run are in one call.

    Raises
    ------
    ProtonLabError
        If a file cannot be read.
    """
    tasks: list[Any] = []
    pending: list[SumsFile] = []
    delayed = dask().delayed

    def flush() -> None:
        if pending:
            tasks.append(delayed(work, pure=False)(store, tuple(pending)))
            pending.clear()

    for holding in runs:
        own = list(files_of(holding))
        if len(pending) + len(own) > FILES_A_TASK:
            flush()
        pending += own
    flush()
    results = computed(tasks, progress=progress, here=store.is_in_memory)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def by_kernel(
    store: Store, files: Sequence[SumsFile], metrics: Sequence[str], kernels: Sequence[str] | None
) -> Any:
    """Add up the kernels of each run over its ranks and steps.

    Returns
    -------
    pyarrow.Table
        ``run``, ``name``, ``label``, then the metrics, and `PROFILES`.
    """
    keys = ("run", "name", "label")
    parts: list[Any] = []
    for file in files:
        table = with_run(file.read(store, metrics, kernels), file.run)
        parts.append(grouped(table, keys, metrics))
    return grouped(joined(parts), keys, metrics)


def by_profile(
    store: Store, files: Sequence[SumsFile], metrics: Sequence[str], kernels: Sequence[str] | None
) -> Any:
    """Add up kernels within each profile: ``run``, ``rank``, ``step``, then the metrics."""
    keys = ("run", "rank", "step")
    parts = []
    for file in files:
        table = with_run(file.read(store, metrics, kernels), file.run)
        parts.append(grouped(table, keys, metrics))
    return joined(parts)


def with_run(table: Any, run: str) -> Any:
    """Add the run's name as a column."""
    arrow = pyarrow()
    names = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * len(table), arrow.int32()), arrow.array([run])
    )
    return table.append_column("run", names.cast(arrow.string()))
