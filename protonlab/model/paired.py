"""Ratios of two things that were measured in pairs, and pairs in rounds."""

from __future__ import annotations

import numpy as np
import scipy  # which loads scipy.stats on first use: that takes most of a second

from protonlab.model.frames import FloatArray
from protonlab.model.statistics import RESAMPLES, Interval, IntervalMethod, bounds

# Fewer pairs give too few different resamples; Student's t then.
BOOTSTRAP_FROM = 20


def paired_ratio(
    before: FloatArray,
    after: FloatArray,
    *,
    rounds: FloatArray | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Compute an interval for the ratio of two things that were measured in pairs.

    Both methods work on the logarithms of the pairs' ratios, so that what a pair has in common, a
    slow drift above all, falls out. Below 20 pairs: Student's t. From there on: percentiles of
    resampled means, at a level widened for what resampling n values lacks in spread (T. Hesterberg,
    What Teachers Should Know about the Bootstrap, 2015, "expanded percentile interval"). Its random
    numbers are always the same.

    Pairs of one round have more in common with each other than with the pairs of another one: then
    the mean of each round counts as one measurement, and 20 rounds in place of 20 pairs.

    Parameters
    ----------
    before, after
        Positive measurements, shape (n,); a pair with a missing one is left out.
    rounds
        Which round each pair belongs to, shape (n,); None where each stands for itself.
    confidence
        Between 0 and 1.

    Returns
    -------
    Interval
        Of ``after / before``; the estimate is the geometric mean of the ratios, ``n`` the number of
        pairs.

    Examples
    --------
    >>> paired_ratio(np.array([10.0, 20.0]), np.array([11.0, 22.0])).estimate.__round__(3)
    1.1
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(after / before)
    known = np.isfinite(logs)
    pairs = int(known.sum())
    logs = logs[known] if rounds is None else round_means(logs[known], rounds[known])
    n = len(logs)
    method: IntervalMethod = "t" if n < BOOTSTRAP_FROM else "bootstrap"
    estimate = float(np.exp(np.mean(logs))) if n else np.nan
    low, high = np.nan, np.nan
    if n > 1 and (method == "t" or np.ptp(logs) == 0):
        low, high = bounds(logs, "t", confidence)
    elif n > 1:
        low, high = _resampled_means(logs, confidence)
    return Interval(estimate, float(np.exp(low)), float(np.exp(high)), pairs, confidence, method)


def round_means(values: FloatArray, rounds: FloatArray) -> FloatArray:
    """Mean of each round's values, in the order of rounds.

    Examples
    --------
    >>> round_means(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [2.0, 5.0]
    """
    _, places, counts = np.unique(rounds, return_inverse=True, return_counts=True)
    means: FloatArray = np.bincount(places, weights=values, minlength=len(counts)) / counts
    return means


def _resampled_means(values: FloatArray, confidence: float) -> tuple[float, float]:
    n = len(values)
    tail = scipy.stats.norm.cdf(
        -np.sqrt(n / (n - 1)) * scipy.stats.t.ppf((1 + confidence) / 2, n - 1)
    )
    found = scipy.stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=1 - 2 * tail,
        n_resamples=RESAMPLES,
        method="percentile",
        vectorized=True,
        random_state=np.random.default_rng(0),
    ).confidence_interval
    return float(found.low), float(found.high)
