"""What two values of the same thing say: added, removed, changed or not, and how surely.

Values are the same where they differ by no more than 1 %: of single values the ratio, of repeated
ones the whole interval of the ratio. An interval that reaches farther and holds 1 cannot tell.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from protonlab.model.frames import BoolArray, FloatArray
from protonlab.model.metrics import Metric
from protonlab.model.statistics import paired_ratio_bounds, ratio_bounds
from protonlab.model.units import counted, plain

CANNOT_TELL = "cannot tell"
# What is there before and after, but has the metric on neither side.
NO_VALUE = "no value"
CHANGES = ("added", "removed", "changed", "unchanged", CANNOT_TELL, NO_VALUE)
VALUE_COLUMNS = ("change", "before", "after", "difference", "ratio", "low", "high", "verdict")
WITHIN_PERCENT = 1
SAME = f"the same within {WITHIN_PERCENT} %"
CONFIDENCE = 0.95

_ENOUGH_DIGITS = 5  # to tell two ratios apart

Samples = tuple[FloatArray, FloatArray]


def change_columns(
    metric: Metric,
    before: FloatArray,
    after: FloatArray,
    present: tuple[BoolArray, BoolArray],
    samples: Samples | None,
    *,
    of: str = "repeat",
    paired: bool = False,
) -> dict[str, object]:
    """Compare two columns of values.

    Parameters
    ----------
    metric
        What was measured.
    before, after
        Values, shape (k,); NaN where missing.
    present
        Whether each thing is there at all, before and after.
    samples
        Where both were repeated, what each repeat measured, shapes (n, k) and (m, k).
    of
        What measured them, for verdicts: ``"repeat"``, ``"rank"``.
    paired
        Whether the n-th before and the n-th after belong together.

    Returns
    -------
    dict
        Columns ``change``, ``before``, ``after``, ``difference`` and ``ratio``; with samples also
        ``low``, ``high`` and ``verdict``.
    """
    absent = np.nan_to_num if metric.additive else np.asarray
    difference = absent(after) - absent(before)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(before == 0, np.nan, after / before)
    missing = np.isnan(before) & np.isnan(after)
    same = 100 * np.abs(difference) <= WITHIN_PERCENT * np.abs(before)
    unsure = np.zeros(len(same), dtype=np.bool_)
    columns: dict[str, object] = {
        "before": before,
        "after": after,
        "difference": difference,
        "ratio": ratio,
    }
    if samples is not None:
        if paired and metric.additive:
            # What one of a pair did not run took it no time, so that samples and means agree.
            samples = _filled(*samples), _filled(*reversed(samples))
        low, high = (paired_ratio_bounds if paired else ratio_bounds)(*samples, CONFIDENCE)
        if not metric.additive:
            # The ratio of two rates is that of their sums; it scatters as the rates do.
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = ratio / np.sqrt(low * high)
            low, high = low * moved, high * moved
        holds_1 = (low <= 1) & (high >= 1)
        near = 100 * np.fmax(1 - low, high - 1) <= WITHIN_PERCENT
        same, unsure = np.where(np.isnan(low), same, holds_1 & near), holds_1 & ~near
        columns |= {"low": low, "high": high}
    change = np.where(same, "unchanged", "changed").astype(object)
    change[unsure] = CANNOT_TELL
    change[missing] = NO_VALUE
    change[~present[0]] = "added"
    change[~present[1]] = "removed"
    columns["change"] = pd.Categorical(change, list(CHANGES))
    if samples is not None:
        counts = [(~np.isnan(side)).sum(axis=0).tolist() for side in samples]
        if paired:
            both = (~np.isnan(samples[0] + samples[1])).sum(axis=0).tolist()
            counts = [both, both]
        rows = zip(change, ratio, low, high, *counts, strict=True)
        of = f"paired {of}" if paired else of
        columns["verdict"] = [_verdict(metric, of, *row) for row in rows]
    return columns


def _filled(samples: FloatArray, others: FloatArray) -> FloatArray:
    """Write zeros for missing samples whose partner in the pair is there."""
    return np.where(np.isnan(samples) & ~np.isnan(others), 0.0, samples)


def _verdict(
    metric: Metric, of: str, change: str, ratio: float, low: float, high: float, n: int, m: int
) -> str:
    """Say in words what an interval of a ratio means."""
    if change in ("added", "removed"):
        return "new" if change == "added" else "gone"
    if change == NO_VALUE:
        return f"no {metric.name} on either side"
    repeats = counted(n, of) if n == m else f"{n} and {m} {of}s"
    interval = f"{100 * CONFIDENCE:g} % interval"
    if change == CANNOT_TELL:
        bounds = " to ".join(ratio_texts(low, high))
        return f"cannot tell: the interval of the ratio, {bounds}, holds 1 ({repeats})"
    words = SAME if change == "unchanged" else moved(metric, ratio)
    if math.isnan(low):
        return f"{words}, no interval from {repeats}"
    if change == "unchanged":
        bounds = " to ".join(ratio_texts(low, high))
        return f"{words}, {interval} of the ratio {bounds}, {repeats}"
    shares = sorted(abs(100 * (bound - 1)) for bound in (low, high))
    return f"{words}, {interval} {' to '.join(map(_percent, shares))}, {repeats}"


def moved(metric: Metric, ratio: float) -> str:
    """Write by how much a value is more or less: ``16.7 % less time``."""
    if math.isnan(ratio):
        return "no ratio"
    more, less = ("more time", "less time") if metric.unit == "s" else ("higher", "lower")
    return f"{percent_of(ratio)} {more if ratio > 1 else less}"


def percent_of(ratio: float) -> str:
    """Write by how much a ratio differs from 1: ``2.7 %``."""
    return f"{_percent(abs(100 * (ratio - 1)))} %"


def _percent(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"


def ratio_texts(*ratios: float) -> list[str]:
    """Write ratios with three digits; with more where one that is not 1 would read so.

    Up to five digits also where two would read the same.

    Examples
    --------
    >>> ratio_texts(1.0002, 1.25)
    ['1.0002', '1.2500']
    """
    texts: list[str] = []
    for digits in range(3, 9):
        texts = [plain(ratio, digits) for ratio in ratios]
        tells_1 = all(
            ratio == 1 or float(text) != 1 for ratio, text in zip(ratios, texts, strict=True)
        )
        if tells_1 and (digits >= _ENOUGH_DIGITS or len({*texts}) == len({*ratios})):
            break
    return texts
