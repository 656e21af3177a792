"""What the pairs of a comparison themselves say against it: clocks, peaks, drift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy

from protonlab.model.clocks import ClockReading, clock_notes
from protonlab.model.frames import FloatArray
from protonlab.model.paired import round_means

ROUND = "round"  # the column that says which pairs share what was made anew
# Fewer pairs show neither peaks nor drift.
_FEWEST = 12
# Two groups of samples are peaks when their means are so many of their own spreads apart, which
# rises where there are few: the best cut of normal, evenly spread or exponential samples, none of
# which has two, comes so far in 1 of 100 runs (12 samples: 7; 64: 4; of very many: 2.7 to 3.5).
_APART, _APART_OF_FEW, _MORE_BY_SAMPLES = 4.5, 3.5, 48
_SMALLEST_PEAK = 0.15
_SMALLEST_SHIFT = 0.005
_SURE = 0.001
_POWER_CAP, _MOSTLY = "power cap", 0.5


def pair_warnings(names: tuple[str, str], pairs: pd.DataFrame) -> tuple[str, ...]:
    """Say what is odd about the samples, one sentence each.

    Parameters
    ----------
    names
        Of A and B.
    pairs
        As `VariantComparison.pairs` describes them.
    """
    return (*_clocks(pairs), *_one_clock(pairs), *_peaks(names, pairs), *_drift(names, pairs))


def _clocks(pairs: pd.DataFrame) -> Iterator[str]:
    columns = ("sm_clock_mhz", "power_w", "temperature_c")
    numbers = pairs[list(columns)].to_numpy(np.float64).tolist()
    yield from clock_notes(
        [
            ClockReading(
                when="",
                uuid="",
                sm_mhz=_whole(clock),
                power_w=None if np.isnan(watts) else watts,
                temperature_c=_whole(degrees),
                throttle=tuple(filter(None, str(reasons or "").split(", "))),
            )
            for (clock, watts, degrees), reasons in zip(numbers, pairs["throttle"], strict=True)
        ]
    )


def _one_clock(pairs: pd.DataFrame) -> Iterator[str]:
    """Say what pairs at the power cap cannot tell."""
    capped = [_POWER_CAP in str(reasons or "") for reasons in pairs["throttle"]]
    if capped and np.mean(capped) >= _MOSTLY:
        yield (
            "Both ran in turn, at the one clock that the power cap left them. Alone for some "
            "tenths of a second each finds a clock of its own, at which they are nearer or further "
            "apart."
        )


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else round(value)


def _peaks(names: tuple[str, str], pairs: pd.DataFrame) -> Iterator[str]:
    for name, column in zip(names, ("time_ns_a", "time_ns_b"), strict=True):
        times = pairs[column].to_numpy(np.float64)
        found = _two_peaks(_within_rounds(times, pairs) if ROUND in pairs else times)
        if found is not None:
            low, high, share = found
            yield (
                f"The samples of {name} have two peaks, {100 * (high / low - 1):.1f} % apart "
                f"({100 * share:.0f} % in the upper one): something besides the variant decides "
                "its speed, and a mean of both describes neither."
            )


def _within_rounds(times: FloatArray, pairs: pd.DataFrame) -> FloatArray:
    """Take away by what rounds differ: that is in the interval, and no sign against it."""
    logs, rounds = np.log(times), pairs[ROUND].to_numpy(np.float64)
    _, places = np.unique(rounds, return_inverse=True)
    within: FloatArray = np.exp(logs - round_means(logs, rounds)[places] + logs.mean())
    return within


def _two_peaks(times: FloatArray) -> tuple[float, float, float] | None:
    """Means of two groups far apart, and the share of the upper one; None when there is one."""
    n = len(times)
    if n < _FEWEST or not np.all(times > 0):
        return None
    logs = np.sort(np.log(times))
    least = max(3, int(np.ceil(_SMALLEST_PEAK * n)))
    cuts = np.arange(least, n - least + 1)
    if not len(cuts):
        return None
    sums, squares = np.cumsum(logs), np.cumsum(logs**2)
    low = sums[cuts - 1] / cuts
    high = (sums[-1] - sums[cuts - 1]) / (n - cuts)
    within = (squares[cuts - 1] - cuts * low**2) + (
        squares[-1] - squares[cuts - 1] - (n - cuts) * high**2
    )
    best = int(np.argmin(within))
    cut = int(cuts[best])
    spread = np.sqrt((np.var(logs[:cut], ddof=1) + np.var(logs[cut:], ddof=1)) / 2)
    gap = high[best] - low[best]
    apart = max(_APART, _APART_OF_FEW + _MORE_BY_SAMPLES / n)
    if gap < _SMALLEST_SHIFT or gap < apart * spread:
        return None
    return float(np.exp(low[best])), float(np.exp(high[best])), (n - cut) / n


def _drift(names: tuple[str, str], pairs: pd.DataFrame) -> Iterator[str]:
    """Whether the ratio itself moves; what both variants share falls out of it."""
    logs = np.log(pairs["time_ns_b"].to_numpy(np.float64) / pairs["time_ns_a"].to_numpy(np.float64))
    if ROUND in pairs:
        logs = round_means(logs, pairs[ROUND].to_numpy(np.float64))
    n = len(logs)
    if n < _FEWEST or not np.all(np.isfinite(logs)) or np.ptp(logs) == 0:
        return
    trend = scipy.stats.linregress(np.arange(n), logs)
    moved = np.expm1(trend.slope * (n - 1))
    if trend.pvalue < _SURE and abs(moved) > _SMALLEST_SHIFT:
        yield (
            f"The pairs drift: the time of {names[1]} by that of {names[0]} "
            f"{'rose' if moved > 0 else 'fell'} by {100 * abs(moved):.1f} % from the first pair to "
            "the last, so the interval holds for their mean only; a longer warm-up or budget shows "
            "whether it settles."
        )
