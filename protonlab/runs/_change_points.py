"""Where a series of measurements changed its level."""

from __future__ import annotations

import math

import numpy as np

from protonlab.model.frames import FloatArray, IntArray
from protonlab.runs._packages import ruptures

# Fewer values do not tell a change from noise.
FEWEST = 4
# The penalty for a change, in variances, and more for series too short to know their noise. Chosen
# by simulation: of series of normal noise at most 5 % show a change (of 10 values and more 3 %, of
# 60 and more 1 %), and a last value that lies 8 standard deviations off is found in 9 of 10 series
# of 10 values and more.
_PENALTY, _FOR_SHORT = 4.0, 80.0
# Noise is taken from the steps between neighbours, without the largest quarter of them: changes of
# level are among these. What is left of a normal distribution's squares has this mean.
_KEPT, _MEAN_OF_KEPT = 0.75, 0.366
# Less noise than this is not believed, in logarithms: 0.2 %.
_LEAST_NOISE = 0.002


def segments(values: FloatArray) -> IntArray:
    """Divide a series into stretches of one level.

    PELT for changes of the mean (ruptures' ``KernelCPD`` with a linear kernel), on logarithms where
    all values are positive.

    Parameters
    ----------
    values
        In the order of time, shape (n,); NaN where missing.

    Returns
    -------
    numpy.ndarray
        Number of each value's stretch, from 0, shape (n,); -1 where the value is missing.
    """
    result = np.full(len(values), -1, dtype=np.int64)
    known = np.flatnonzero(np.isfinite(values))
    series = values[known]
    result[known] = 0
    n = len(series)
    if n < FEWEST:
        return result
    if series.min() > 0:
        series, least = np.log(series), _LEAST_NOISE
    else:
        least = _LEAST_NOISE * float(np.abs(series).mean())
    if not least:
        return result
    scaled = series / max(_noise(series), least)
    penalty = _PENALTY * math.log(n) + _FOR_SHORT / (n - 2)
    search = ruptures().KernelCPD(kernel="linear", min_size=1).fit(scaled[:, None])
    bounds = [0, *map(int, search.predict(pen=penalty))]
    for number, first in enumerate(bounds[:-1]):
        result[known[first : bounds[number + 1]]] = number
    return result


def _noise(series: FloatArray) -> float:
    """Estimate the standard deviation of a series around its levels, whatever these are."""
    steps = np.sort(np.diff(series) ** 2)
    kept = steps[: max(1, int(_KEPT * len(steps)))]
    return math.sqrt(float(kept.mean()) / 2 / _MEAN_OF_KEPT)
