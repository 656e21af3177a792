"""Which ranks, hosts and GPUs are slow again and again, over the runs of an archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.collectives import is_collective
from protonlab.model.outliers import OUTLYING
from protonlab.model.straggler_totals import judge_totals
from protonlab.model.stragglers import FEW_RANKS, LEAST_SHARE
from protonlab.runs._commits import Holding
from protonlab.runs._moments import moments
from protonlab.runs._packages import pyarrow
from protonlab.runs._store import Store
from protonlab.runs._sums import SumsFile, grouped, over_runs, with_run

_COLLECTIVE = "collective"
RANK_COLUMNS = ("run", "rank", "longer", "z", "waited_for")
GPU_COLUMNS = (
    *("gpu_uuid", "host", "ranks", "slow_runs", "runs", "share", "waited_for"),
    *("longer", "z", "since", "last"),
)
RUN_COLUMNS = ("run", "ranks", "waited_for", "verdict")


def stragglers(store: Store, runs: Sequence[Holding], *, by: str, progress: bool) -> pd.DataFrame:
    """Compute what `Archive.stragglers` returns."""
    if by not in ("gpu", "run"):
        raise ProtonLabError(f"by={by!r}; use 'gpu' or 'run'")
    found = over_runs(store, runs, judged_runs, progress=progress)
    order = moments(runs)[["run", "when"]]
    per_run = _laid([each[0] for each in found], RUN_COLUMNS)
    if by == "run":
        return order.merge(per_run, on="run")
    per_rank = _laid([each[1] for each in found], RANK_COLUMNS)
    return _by_place(runs, order, per_rank)


def judged_runs(store: Store, files: Sequence[SumsFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judge each run by the time of its kernels, collectives and others, on each rank.

    Returns
    -------
    per_run, per_rank
        A row a run, `RUN_COLUMNS`; and a row for each rank that stands out in it, `RANK_COLUMNS`.
    """
    tables = []
    for file in files:
        table = file.read(store, ("time_ns",), None)
        names = table["name"].unique().to_pylist()
        waiting = pyarrow().array([n for n in names if is_collective(n)], pyarrow().string())
        flags = pyarrow().compute.is_in(table["name"], value_set=waiting)
        table = with_run(table.append_column(_COLLECTIVE, flags), file.run)
        tables.append(grouped(table, ("run", "rank", _COLLECTIVE), ("time_ns",)))
    times = pyarrow().concat_tables(tables).to_pandas()
    per_run, per_rank = [], []
    for run, own in times.groupby("run", sort=False):
        wide = own.pivot_table("time_ns", "rank", _COLLECTIVE, "sum", fill_value=0.0)
        wide = wide.reindex(columns=[False, True], fill_value=0.0).astype(np.float64)
        totals = wide.set_axis(["compute_ns", "collective_ns"], axis=1)
        result = judge_totals(totals)
        per_run.append((run, len(totals), ", ".join(map(str, result.ranks)), result.verdict))
        if len(totals) > 1:
            per_rank += _standing_out(str(run), result.table, result.ranks)
    return pd.DataFrame(per_run, columns=RUN_COLUMNS), pd.DataFrame(per_rank, columns=RANK_COLUMNS)


def _standing_out(
    run: str, table: pd.DataFrame, waited_for: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Find ranks whose kernels take longer than those of the others do."""
    compute, z = table["compute_ns"].to_numpy(), table["z"].to_numpy()
    usual = float(np.median(compute))
    longer = compute - usual
    whole = float(np.median(compute + table["collective_ns"].to_numpy()))
    out = (longer >= LEAST_SHARE * whole) & (z >= OUTLYING) & (len(table) >= FEW_RANKS)
    out |= table.index.isin(list(waited_for))
    return [
        (run, int(rank), longer[place] / usual if usual else np.nan, z[place], rank in waited_for)
        for place, rank in enumerate(table.index)
        if out[place]
    ]


def _by_place(runs: Sequence[Holding], order: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Add up by GPU where it is known, else by host and rank."""
    columns = ["run", "rank", "host", "gpu_uuid"]
    wanted = set(found["run"])
    places = [
        each.parts.select(columns[1:])
        .to_pandas()
        .astype({"host": object, "gpu_uuid": object})
        .drop_duplicates("rank")
        .assign(run=each.run)
        for each in runs
        if each.run in wanted
    ]
    table = found.merge(_laid(places, columns), on=["run", "rank"], how="left")
    known = table["gpu_uuid"].notna()
    key = table["gpu_uuid"].where(
        known, table["host"].fillna("").astype(str) + " rank " + table["rank"].astype(str)
    )
    seen = _seen(runs)
    position = pd.Series(range(len(order)), index=order["run"])
    rows = []
    for where, own in table.groupby(key, sort=False):
        own = own.assign(place=position.loc[own["run"]].to_numpy()).sort_values("place")
        first, last = own.iloc[0], own.iloc[-1]
        total = seen.get(where, len(own))
        rows.append(
            (
                last["gpu_uuid"],
                last["host"],
                ", ".join(map(str, sorted(own["rank"].unique()))),
                *(len(own), total, len(own) / total, int(own["waited_for"].sum())),
                *(own["longer"].median(), own["z"].median()),
                *(first["run"], last["run"]),
            )
        )
    result = pd.DataFrame(rows, columns=GPU_COLUMNS)
    return result.sort_values(["slow_runs", "longer"], ascending=False, kind="stable").reset_index(
        drop=True
    )


def _seen(runs: Sequence[Holding]) -> dict[str, int]:
    """In how many runs each place took part."""
    counts: dict[str, int] = {}
    for each in runs:
        columns = (each.parts[name].to_pylist() for name in ("gpu_uuid", "host", "rank"))
        places = {
            uuid or f"{host or ''} rank {rank}" for uuid, host, rank in zip(*columns, strict=True)
        }
        for place in places:
            counts[place] = counts.get(place, 0) + 1
    return counts


def _laid(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=list(columns))
