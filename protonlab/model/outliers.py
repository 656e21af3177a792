"""What lies apart from the rest, by measures that the outlying values themselves do not move."""

from __future__ import annotations

import numpy as np

from protonlab.model.frames import FloatArray

OUTLYING = 3.5


def robust_z(values: FloatArray, *, floor: float = 0.0) -> FloatArray:
    """Say how far each value lies from the median of all, in robust standard deviations.

    The distance to the median by 1.4826 times the median absolute deviation, which a few outlying
    values do not widen. Beyond 3.5 a value counts as outlying (B. Iglewicz and D. Hoaglin, How to
    Detect and Handle Outliers, 1993).

    Parameters
    ----------
    values
        Shape (n,); missing ones stay missing.
    floor
        Least deviation to divide by, in the unit of the values: what measuring cannot tell apart.

    Returns
    -------
    numpy.ndarray
        Shape (n,); NaN where all values are the same and `floor` is 0.

    Examples
    --------
    >>> robust_z(np.array([1.0, 2.0, 3.0, 4.0, 10.0])).round(2)
    array([-1.35, -0.67,  0.  ,  0.67,  4.72])
    """
    if np.isnan(values).all():
        return np.full(len(values), np.nan)
    distance = values - np.nanmedian(values)
    deviation = max(float(np.nanmedian(np.abs(distance))), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        z: FloatArray = distance / (1.4826 * deviation)
    z[~np.isfinite(z)] = np.nan
    return z
