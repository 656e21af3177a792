"""How repeated measurements vary: quantiles, and intervals with the number they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # which loads scipy.stats on first use: that takes most of a second

from protonlab.errors import ProtonLabError
from protonlab.model.frames import FloatArray

IntervalMethod = Literal["t", "bootstrap"]
RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, as far as `n` measurements tell.

    Parameters
    ----------
    estimate
        The mean (``"t"``) or the median (``"bootstrap"``).
    low, high
        Bounds; NaN when fewer than two measurements leave no way to tell.
    n
        Number of measurements.
    confidence
        How often such an interval holds the true value.
    method
        How it was computed.
    """

    estimate: float
    low: float
    high: float
    n: int
    confidence: float
    method: IntervalMethod


def interval(
    samples: Sequence[float] | FloatArray,
    *,
    method: IntervalMethod = "t",
    confidence: float = 0.95,
) -> Interval:
    """Compute an interval for what independent measurements have in common.

    Parameters
    ----------
    samples
        Measurements, shape (n,); missing ones are left out.
    method
        ``"t"``: Student's t, for the mean; exact when measurements scatter normally. Of
        measurements none of which is negative, as of times, the interval ends at 0.
        ``"bootstrap"``: percentiles of resampled medians, for skewed measurements of which there
        are 10 or more. Its random numbers are always the same.
    confidence
        Between 0 and 1.

    Raises
    ------
    ProtonLabError
        If `method` or `confidence` is not legal.

    Examples
    --------
    >>> interval([10.0, 12.0, 14.0]).low.round(2)
    np.float64(7.03)
    """
    if method not in ("t", "bootstrap"):
        raise ProtonLabError(f"interval={method!r}; use 't' or 'bootstrap'")
    if not 0 < confidence < 1:
        raise ProtonLabError(f"confidence={confidence!r}; use a number between 0 and 1")
    values = np.asarray(samples, dtype=np.float64)
    values = values[~np.isnan(values)]
    estimate = np.nan
    if len(values):
        estimate = float(np.mean(values) if method == "t" else np.median(values))
    low, high = np.nan, np.nan
    if len(values) > 1:
        low, high = bounds(values, method, confidence)
        if values.min() >= 0:
            low = max(low, 0.0)  # what is measured cannot lie below, so nothing is lost
    return Interval(estimate, low, high, len(values), confidence, method)


def bounds(values: FloatArray, method: IntervalMethod, confidence: float) -> tuple[float, float]:
    """Compute bounds of the interval of two measurements or more; see `interval`."""
    if np.ptp(values) == 0:
        return values[0], values[0]
    if method == "t":
        half = scipy.stats.t.ppf((1 + confidence) / 2, len(values) - 1) * scipy.stats.sem(values)
        return np.mean(values) - half, np.mean(values) + half
    found = scipy.stats.bootstrap(
        (values,),
        np.median,
        confidence_level=confidence,
        n_resamples=RESAMPLES,
        method="percentile",  # the corrections of the other methods need a smoother statistic
        random_state=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)


def ratio_bounds(
    before: FloatArray, after: FloatArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute intervals for ratios of the means of two independent series of measurements.

    Student's t on the logarithm of each ratio, whose standard error follows from the relative
    errors of both means, with Welch's degrees of freedom.

    Parameters
    ----------
    before, after
        Measurements, shape (n, k) and (m, k): n and m of each of k quantities; missing ones are
        left out.
    confidence
        Between 0 and 1.

    Returns
    -------
    low, high
        Bounds of ``after / before``, shape (k,); NaN where a side has fewer than two measurements,
        or where both means are not positive.

    Examples
    --------
    >>> low, high = ratio_bounds(np.array([[9.0], [11.0]]), np.array([[10.0], [10.0]]))
    >>> low.round(2), high.round(2)
    (array([0.28]), array([3.56]))
    """
    (mean, error, free), (other_mean, other_error, other_free) = map(_relative, (before, after))
    squares = error**2 + other_error**2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = squares**2 / (error**4 / free + other_error**4 / other_free)
        ratio = other_mean / mean
    half = scipy.stats.t.ppf((1 + confidence) / 2, freedom) * np.sqrt(squares)
    half = np.where(squares == 0, 0.0, half)
    ratio[~((free >= 1) & (other_free >= 1) & (mean > 0) & (other_mean > 0))] = np.nan
    return ratio * np.exp(-half), ratio * np.exp(half)


def paired_ratio_bounds(
    before: FloatArray, after: FloatArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Compute intervals for ratios of the means of many quantities, each measured in pairs.

    Student's t on the logarithm of each ratio, whose standard error follows from how far each pair
    deviates from its means, after less before: what a pair always has more of falls out.

    Parameters
    ----------
    before, after
        Measurements, shape (n, k): n pairs of each of k quantities; a pair with a missing one, or
        of zeros, is left out.
    confidence
        Between 0 and 1.

    Returns
    -------
    low, high
        Bounds of the mean of ``after`` by that of ``before``, shape (k,); NaN below two pairs, or
        where both means are not positive.

    Examples
    --------
    >>> bounds = paired_ratio_bounds(np.array([[10.0], [20.0]]), np.array([[11.0], [22.0]]))
    >>> [float(each[0].round(3)) for each in bounds]
    [1.1, 1.1]
    """
    known = ~np.isnan(before + after) & ((before != 0) | (after != 0))
    n = known.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, other_mean = (np.where(known, side, 0.0).sum(axis=0) / n for side in (before, after))
        apart = np.where(known, after / other_mean - before / mean, 0.0)
        error = np.sqrt((apart**2).sum(axis=0) / (n - 1) / n)
        half = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * error
        ratio = other_mean / mean
    ratio[~((n > 1) & (mean > 0) & (other_mean > 0))] = np.nan
    return ratio * np.exp(-half), ratio * np.exp(half)


def _relative(samples: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean of each column, its relative standard error, and its degrees of freedom."""
    n = (~np.isnan(samples)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(samples, axis=0) / n
        variance = np.nansum((samples - mean) ** 2, axis=0) / (n - 1)
        return mean, np.sqrt(variance / n) / mean, (n - 1).astype(np.float64)


def described(
    samples: FloatArray, quantiles: Sequence[float], method: IntervalMethod, confidence: float
) -> dict[str, float]:
    """Describe one row of measurements.

    Returns
    -------
    dict
        ``n``, ``min``, ``q05`` and so on for each quantile, ``median``, ``max``, then
        ``estimate``, ``low`` and ``high`` of the interval.

    Raises
    ------
    ProtonLabError
        If a quantile, the method or the confidence is not legal.
    """
    for quantile in quantiles:
        if not isinstance(quantile, (int, float)) or not 0 <= quantile <= 1:
            raise ProtonLabError(f"quantiles holds {quantile!r}; use numbers from 0 to 1")
    values = samples[~np.isnan(samples)]
    found = interval(values, method=method, confidence=confidence)
    result: dict[str, float] = {"n": len(values)}
    if not len(values):
        values = np.array([np.nan])
    result["min"] = values.min()
    for quantile in sorted(quantiles):
        result[_quantile_name(quantile)] = float(np.quantile(values, quantile))
    result["median"] = float(np.median(values))
    result["max"] = values.max()
    return result | {"estimate": found.estimate, "low": found.low, "high": found.high}


def _quantile_name(quantile: float) -> str:
    """Name a quantile by its percent: ``q05``, ``q02.5``, ``q99.99``."""
    whole, point, rest = f"{100 * quantile:.10g}".partition(".")
    return f"q{whole.zfill(2)}{point}{rest}"
