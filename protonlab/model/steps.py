"""How much a series of measurements stepped from one level to another."""

from __future__ import annotations

import numpy as np
import scipy

from protonlab.model.frames import FloatArray
from protonlab.model.statistics import Interval


def step_ratio(before: FloatArray, after: FloatArray, *, confidence: float = 0.95) -> Interval:
    """Compute an interval for the ratio of two levels of one series, before and after a step.

    Student's t on logarithms, with one scatter for both sides: so a side may be a single value.

    Parameters
    ----------
    before, after
        Positive measurements, shape (n,) and (m,).
    confidence
        Between 0 and 1.

    Returns
    -------
    Interval
        Of ``after / before``; the estimate is the ratio of the geometric means. Bounds are NaN
        when fewer than three measurements leave no way to tell.

    Examples
    --------
    >>> step_ratio(np.array([10.0, 10.1, 9.9]), np.array([12.0])).low.__round__(2)
    1.14
    """
    sides = [np.log(np.asarray(side, dtype=np.float64)) for side in (before, after)]
    n = sum(map(len, sides))
    step = float(np.mean(sides[1]) - np.mean(sides[0]))
    low = high = np.nan
    if n > 2:
        squares = sum(float(np.sum((side - np.mean(side)) ** 2)) for side in sides)
        error = np.sqrt(squares / (n - 2) * sum(1 / len(side) for side in sides))
        half = scipy.stats.t.ppf((1 + confidence) / 2, n - 2) * error
        low, high = step - half, step + half
    return Interval(
        float(np.exp(step)), float(np.exp(low)), float(np.exp(high)), n, confidence, "t"
    )
