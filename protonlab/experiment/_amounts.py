"""What one call of a variant does, by its launch metadata, so that a time becomes a metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.errors import MetricError
from protonlab.model import Metric, Profile
from protonlab.model.frames import FloatArray
from protonlab.model.sums import Sums
from protonlab.model.variant_text import SAME_WORK

_TIME, _LAUNCHES = "time_ns", "count"


@dataclass(frozen=True, eq=False)
class Amounts:
    """Sums of one call.

    Parameters
    ----------
    table
        One row: each column that the call's kernels sum up to, and the time their device would need
        at its peak.
    metric
        Computed from them and a time.
    """

    table: pd.DataFrame
    metric: Metric

    def by(self, other: Amounts) -> float:
        """Work of a call by that of another's; 1 where a rate says who is faster."""
        ratio = self.values(np.ones(1))[0] / other.values(np.ones(1))[0]
        return 1.0 if abs(ratio - 1) <= SAME_WORK else float(ratio)

    def values(self, times_ns: FloatArray) -> FloatArray:
        """Compute the metric for calls that took so long, shape (n,)."""
        rows = self.table.loc[self.table.index.repeat(len(times_ns))].reset_index(drop=True)
        rows[_TIME] = times_ns
        return self.metric.values(rows)


def kernels_of_call(profile: Profile) -> int:
    """How many kernels one call launches; 0 where calls differ."""
    launches = int(profile.kernels["count"].sum())
    calls = profile.repeats.number if profile.repeats else 1
    return launches // calls if launches % calls == 0 else 0


def amounts_of(profile: Profile, name: str, variant: str) -> Amounts:
    """Take the sums of a call from a profile of some.

    Raises
    ------
    MetricError
        If the variant does not record the metric or counts nothing, or it does not depend on time.
    """
    try:
        metric = profile.metric(name)
    except MetricError as error:
        raise MetricError(
            f"variant {variant!r}: {error}\nThe launch metadata of its kernels has to record what "
            "the metric counts; metric='time/us' needs none"
        ) from None
    if not _is_of_speed(metric):
        launches = {_TIME, _LAUNCHES} <= set(metric.sources)
        per_launch = "; a variant may do the same in more launches" if launches else ""
        raise MetricError(
            f"metric={name!r} says nothing about the speed of a call{per_launch}; use a time "
            f"(time/us) or a rate: {', '.join(_speeds(profile))}"
        )
    calls = profile.repeats.number if profile.repeats else 1
    sums = Sums(profile.frames, profile.columns, profile.devices).by_frame(inclusive=True).iloc[[0]]
    table = pd.DataFrame(
        {
            str(column): sums[column].to_numpy(np.float64, na_value=np.nan) / calls
            for column in sums
            if pd.api.types.is_numeric_dtype(sums[column].dtype)
        }
    )
    amounts = Amounts(table, metric)
    work = amounts.values(np.ones(1))[0]
    if work == 0:
        raise MetricError(
            f"variant {variant!r} counts nothing: {name!r} of its calls is 0 whatever they take; "
            "metric='time/us' says which is faster"
        )
    if np.isnan(work):
        raise MetricError(
            f"variant {variant!r} has no {name!r}: its kernels did not record "
            f"{', '.join(source for source in metric.sources if source != _TIME)}. Use "
            f"{', '.join(_speeds(profile))}"
        )
    return amounts


def _is_of_speed(metric: Metric) -> bool:
    """Whether a faster call has a better value; launches are no work."""
    sources, form = metric.sources, metric.form
    return _TIME in sources and _LAUNCHES not in sources and form in ("value", "ratio", "util")


def _speeds(profile: Profile) -> list[str]:
    return [name for name in profile.metrics if _is_of_speed(profile.metric(name))]
