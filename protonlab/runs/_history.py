"""How a metric of a kernel moved over the runs of an archive, and where its level changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from protonlab.errors import MetricError
from protonlab.model import Metric
from protonlab.model.frames import FloatArray
from protonlab.model.sentences import some
from protonlab.model.steps import step_ratio
from protonlab.runs._change_points import segments
from protonlab.runs._commits import Holding
from protonlab.runs._moments import difference, moments
from protonlab.runs._packages import pyarrow
from protonlab.runs._store import Store
from protonlab.runs._sums import SumsFile, by_kernel, by_profile, over_runs

_VALUES = ("value", "profiles", "median", "lowest", "highest", "highest_rank")
_LISTED = 12


def history(
    store: Store, runs: Sequence[Holding], kernel: str | None, metric: Metric, *, progress: bool
) -> pd.DataFrame:
    """Compute what `Archive.history` returns."""
    kernels = () if kernel is None else (kernel,)
    work = partial(run_values, metric=metric, kernels=kernels)
    found = over_runs(store, runs, work, progress=progress)
    table = moments(runs)
    rows = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["run"])
    if kernel is not None and not len(rows):
        raise MetricError(_unknown(store, runs, kernel, progress=progress))
    table = table.merge(rows, on="run", how="left" if kernel is None else "inner")
    return _with_changes(table)


def run_values(
    store: Store, files: Sequence[SumsFile], metric: Metric, kernels: Sequence[str]
) -> pd.DataFrame:
    """Compute one value a run, and how the profiles of the run lie around it.

    Returns
    -------
    pandas.DataFrame
        ``run`` and the columns of a history. A rate is the ratio of sums over all profiles; what
        adds up (time, bytes, count) is the mean over the profiles that have the kernel.
    """
    table = by_profile(store, files, metric.sources, kernels).to_pandas()
    for source in metric.sources:
        table[source] = table[source].astype(np.float64) if source in table else np.nan
    totals = None
    if metric.form == "share":
        totals = by_profile(store, files, metric.sources, ()).to_pandas()
        totals = table[["run", "rank", "step"]].merge(totals, how="left")[metric.sources[0]]
    table["_total"] = 0.0 if totals is None else totals.to_numpy(np.float64)
    rows = []
    for run, own in table.groupby("run", sort=False):
        own.attrs["total"] = {metric.sources[0]: own["_total"].to_numpy()}
        values = pd.Series(metric.values(own), index=own["rank"])
        known = values.dropna()
        rows.append(
            {
                "run": run,
                "value": _over_profiles(own, metric),
                "profiles": len(known),
                "median": known.median(),
                "lowest": known.min(),
                "highest": known.max(),
                "highest_rank": known.idxmax() if len(known) else -1,
            }
        )
    return pd.DataFrame(rows, columns=["run", *_VALUES])


def _over_profiles(own: pd.DataFrame, metric: Metric) -> float:
    sums = own[[*metric.sources]].sum(min_count=1).to_frame().T
    sums.attrs["total"] = {metric.sources[0]: own["_total"].sum()}
    value = float(metric.values(sums)[0])
    profiles = int(own[metric.sources[0]].notna().sum())
    return value / max(profiles, 1) if metric.form == "value" else value


def _with_changes(table: pd.DataFrame) -> pd.DataFrame:
    """Add the columns on levels and changes to a table of runs in the order of time."""
    values = table["value"].to_numpy(np.float64)
    number = segments(values)
    n = len(table)
    level, ratio, low, high = (np.full(n, np.nan) for _ in range(4))
    changed_with = np.full(n, None, dtype=object)
    about = table[["gpu", "versions"]].to_dict("records")
    for segment in range(number.max(initial=-1) + 1):
        own = number == segment
        level[own] = np.median(values[own])
        if segment == 0:
            continue
        before = np.flatnonzero(number == segment - 1)
        first = int(np.flatnonzero(own)[0])
        ratio[first], low[first], high[first] = stepped(values[before], values[own])
        changed_with[first] = difference(about[before[-1]], about[first]) or None
    result = table.drop(columns="versions")
    return result.assign(
        level=level,
        change=ratio > 0,
        ratio=ratio,
        low=low,
        high=high,
        changed_with=changed_with,
    )


def stepped(before: FloatArray, after: FloatArray) -> tuple[float, float, float]:
    """Ratio of two levels with its interval; NaN where they are not positive."""
    if min(before.min(), after.min()) <= 0:
        return float(np.median(after) / np.median(before) or np.nan), np.nan, np.nan
    found = step_ratio(before, after)
    return found.estimate, found.low, found.high


def kernel_names(store: Store, runs: Sequence[Holding], *, progress: bool) -> list[str]:
    """Names of all kernels, those that took most time first."""
    work = partial(by_kernel, metrics=("time_ns",), kernels=None)
    found = over_runs(store, runs, work, progress=progress)
    if not found:
        return []
    table = pyarrow().concat_tables(found, promote_options="permissive").to_pandas()
    times = table.groupby("name")["time_ns"].sum().sort_values(ascending=False)
    return [str(name) for name in times.index]


def _unknown(store: Store, runs: Sequence[Holding], kernel: str, *, progress: bool) -> str:
    names = kernel_names(store, runs, progress=progress)
    close = difflib.get_close_matches(kernel, names, n=3)
    close += [name for name in names if kernel and kernel in name and name not in close][:3]
    hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
    return f"no run has a kernel {kernel!r}.{hint} There are {some(names, _LISTED) or 'none'}"
