"""What became slower over the runs of an archive, and still is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model import Metric
from protonlab.model.frames import FloatArray
from protonlab.model.sentences import some
from protonlab.model.units import counted
from protonlab.runs._change_points import segments
from protonlab.runs._commits import Holding
from protonlab.runs._history import stepped
from protonlab.runs._moments import difference, moments
from protonlab.runs._packages import pyarrow
from protonlab.runs._store import Store
from protonlab.runs._sums import PROFILES, by_kernel, over_runs

_MOST_GONE = 4
COLUMNS = (
    "name",
    "label",
    "since",
    "when",
    "before",
    "after",
    "ratio",
    "low",
    "high",
    "runs_before",
    "runs_after",
    "share",
    "changed_with",
)


def regressions(
    store: Store, runs: Sequence[Holding], metric: Metric, threshold: float, *, progress: bool
) -> pd.DataFrame:
    """Compute what `Archive.regressions` returns."""
    columns = (*dict.fromkeys((*metric.sources, "time_ns")),)
    work = partial(by_kernel, metrics=columns, kernels=None)
    found = over_runs(store, runs, work, progress=progress)
    table = moments(runs)
    if not found:
        return pd.DataFrame(columns=list(COLUMNS))
    sums = pyarrow().concat_tables(found, promote_options="permissive").to_pandas()
    for source in metric.sources:
        sums[source] = sums[source].astype(np.float64) if source in sums else np.nan
    times = sums.groupby("run")["time_ns"].transform("sum").to_numpy(np.float64)
    sums.attrs["total"] = {metric.sources[0]: times}
    values = metric.values(sums)
    if metric.form == "value":
        values = values / sums[PROFILES].to_numpy()
    sums["share"] = sums["time_ns"].to_numpy(np.float64) / times
    sums["value"] = values
    place = pd.Series(range(len(table)), index=table["run"])
    sums["place"] = place.loc[sums["run"]].to_numpy()
    rows, gone = [], []
    newest = sums["place"].max()  # a job that crashed has no kernel, and says nothing
    for (name, label), own in sums.groupby(["name", "label"], sort=False):
        series = np.full(len(table), np.nan)
        series[own["place"]] = own["value"]
        share = own.loc[own["place"].idxmax(), "share"]
        for row in _standing(series, metric, threshold, table):
            if own["place"].max() < newest:
                gone.append(str(label))
            else:
                rows.append({"name": name, "label": label, "share": share, **row})
    if gone:
        _warn_of(gone, table["run"].iloc[newest])
    result = pd.DataFrame(rows, columns=list(COLUMNS))
    cost = result["share"].astype(float) * (
        1 - 1 / np.exp(np.abs(np.log(result["ratio"].astype(float))))
    )
    return result.loc[cost.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _warn_of(gone: Sequence[str], run: str) -> None:
    warnings.warn(
        f"{counted(len(gone), 'kernel')} had become slower and not faster again, but the newest "
        f"run, {run!r}, is without: {some(gone, _MOST_GONE)}. If it is of another job, "
        "leave it out with runs=",
        UserWarning,
        stacklevel=4,
    )


def _standing(
    series: FloatArray, metric: Metric, threshold: float, table: pd.DataFrame
) -> Iterator[Mapping[str, Any]]:
    """Find the last step for the worse that is more than the threshold and was not taken back."""
    number = segments(series)
    last = number.max(initial=-1)
    worse = -1.0 if metric.is_better_high else 1.0
    bound = np.log1p(threshold)
    level = [np.median(series[number == segment]) for segment in range(last + 1)]
    for segment in range(last, 0, -1):
        if min(level[segment - 1 :]) <= 0:
            return
        before = level[segment - 1]
        step, now = worse * np.log(level[segment] / before), worse * np.log(level[last] / before)
        if step <= bound or now <= bound:
            continue
        own, older = number == last, number == segment - 1
        first = int(np.flatnonzero(number == segment)[0])
        ratio, low, high = stepped(series[older], series[own])
        about = table[["gpu", "versions"]]
        yield {
            "since": table["run"].iloc[first],
            "when": table["when"].iloc[first],
            "before": before,
            "after": level[last],
            "ratio": ratio,
            "low": low,
            "high": high,
            "runs_before": int(older.sum()),
            "runs_after": int(own.sum()),
            "changed_with": difference(
                about.iloc[int(np.flatnonzero(older)[-1])].to_dict(), about.iloc[first].to_dict()
            )
            or None,
        }
        return
