"""Medians as samples come in, with intervals that assume nothing of how samples spread."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

import numpy as np
import scipy

from protonlab.model.frames import FloatArray


@dataclass(frozen=True)
class RunningMedian:
    """Median of the first 1, 2, …, n samples.

    Parameters
    ----------
    median
        Shape (n,).
    low, high
        Bounds of its 95 % interval, shape (n,); NaN below six samples, which give none.
    """

    median: FloatArray
    low: FloatArray
    high: FloatArray


def running_median(values: FloatArray) -> RunningMedian:
    """Compute medians and intervals of growing parts of a series.

    The interval goes from one order statistic to another, such that a fair coin falls outside of
    their ranks at most 5 % of the time (Conover, Practical Nonparametric Statistics, 1999, 3.2).

    Parameters
    ----------
    values
        Samples without missing ones, shape (n,).

    Examples
    --------
    >>> running_median(np.array([3.0, 1.0, 2.0])).median.tolist()
    [3.0, 2.0, 2.0]
    """
    n = len(values)
    ranks = scipy.stats.binom.ppf(0.025, np.arange(1, n + 1), 0.5).astype(int) if n else ()
    ordered: list[float] = []
    found = np.full((3, n), np.nan)
    for at, (value, rank) in enumerate(zip(values.tolist(), ranks, strict=True)):
        insort(ordered, value)
        middle = at // 2
        found[0, at] = (
            ordered[middle] if at % 2 == 0 else (ordered[middle] + ordered[middle + 1]) / 2
        )
        if rank > 0:
            found[1:, at] = ordered[rank - 1], ordered[-rank]
    return RunningMedian(found[0], found[1], found[2])
