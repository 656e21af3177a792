"""From a baseline and a candidate to what a gate judges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

import numpy as np

from protonlab.errors import MetricError, ProtonLabError
from protonlab.experiment._gate import Judged, Outcome, outcome_of
from protonlab.model import KernelFilter, Metric, Profile, VariantComparison, compare
from protonlab.model.frames import FloatArray
from protonlab.model.pair_warnings import ROUND
from protonlab.model.paired import round_means
from protonlab.model.statistics import ratio_bounds
from protonlab.model.variant_text import SAME_WORK, pairs_in_words

# Kernels that are not judged but shown, greatest difference first.
_MOST_SHOWN = 10
INTERPRETER = (
    "Kernels ran on Triton's interpreter: these times say nothing about a GPU, and neither does "
    "this gate."
)


def judge_pair(comparison: VariantComparison, threshold: float) -> Judged:
    """Hold the second variant of one comparison against the first.

    Raises
    ------
    ProtonLabError
        If it has too few pairs for an interval.
    """
    _check_direction(comparison.metric)
    if not _same(*_work(comparison)):
        comparison = comparison.by_time()
    found, metric = comparison.ratio, comparison.metric
    number = pairs_in_words(comparison)
    _need_interval(f"{number} of {' and '.join(comparison.names)}", comparison)
    values = found.estimate, found.low, found.high
    slowdown, low, high = _slowdowns(metric, *values)
    before, after = (metric.format(median) for median in comparison.medians)
    name = f"{comparison.names[1]} against {comparison.names[0]}"
    outcome = outcome_of(low, high, threshold)
    return Judged(name, before, after, slowdown, low, high, number, outcome)


def judge_comparisons(
    before: VariantComparison, after: VariantComparison, threshold: float, *, absolute: bool
) -> Iterator[Judged]:
    """Hold one measurement of two variants against an earlier one of the same two.

    What is judged is the second variant by the first one, in whose ratio the state of the machine
    falls out. The variants by themselves are judged on demand. Where the metrics differ, both are
    judged by time, which every comparison holds.

    Raises
    ------
    ProtonLabError
        If the two are not comparable, or have too few pairs.
    """
    for what, ours, theirs in (
        ("variants", before.names, after.names),
        ("protocol", before.protocol.get("protocol"), after.protocol.get("protocol")),
    ):
        if ours != theirs:
            raise ProtonLabError(
                f"the baseline has {what} {_listed(ours)}, the candidate {_listed(theirs)}; "
                "measure the candidate as the baseline was measured"
            )
    if before.metric.name != after.metric.name:
        before, after = before.by_time(), after.by_time()
    _check_direction(before.metric)
    if not all(map(_same, _work(before), _work(after))):
        before, after = before.by_time(), after.by_time()
    metric = before.metric
    ratios = before.ratios, after.ratios
    first, second = before.names
    number = _in_words(before, after)
    _need_interval(number, before, after)
    texts = f"{fmean(ratios[0]):.4g} times", f"{fmean(ratios[1]):.4g} times"
    yield _judged(f"{second} by {first}", *ratios, metric, threshold, texts, number)
    for which, name in enumerate(before.names):
        series = before.values[which], after.values[which]
        values = [metric.format(float(np.median(each))) for each in series]
        yield _judged(
            name,
            _independent(before, which),
            _independent(after, which),
            metric,
            threshold if absolute else None,
            (values[0], values[1]),
            number,
        )


def _need_interval(words: str, *comparisons: VariantComparison) -> None:
    if min(len(each.ratios) for each in comparisons) < 2:
        raise ProtonLabError(
            f"no interval follows from {words}; measure again with a larger budget_s"
        )


def _independent(comparison: VariantComparison, which: int) -> FloatArray:
    """Take what a variant's interval rests on: means of rounds, whose pairs share what was made."""
    values, pairs = comparison.values[which], comparison.pairs
    return round_means(values, pairs[ROUND].to_numpy(np.float64)) if ROUND in pairs else values


def _in_words(before: VariantComparison, after: VariantComparison) -> str:
    """Say how many pairs and rounds there are on both sides."""
    pairs = f"{len(before)} and {len(after)} pairs"
    if before.rounds is None and after.rounds is None:
        return pairs
    if before.rounds is not None and after.rounds is not None:
        return f"{pairs} in {before.rounds} and {after.rounds} rounds"
    return f"{pairs_in_words(before)} and {pairs_in_words(after)}"


def _work(comparison: VariantComparison) -> list[float]:
    """Work of a call of each variant, as the metric counts it; the same where it is a time."""
    if comparison.metric.unit == "s":
        return [1.0, 1.0]
    sides = zip(comparison.values, comparison.times_ns, strict=True)
    return [float(np.median(values * times)) for values, times in sides]


def _same(one: float, other: float) -> bool:
    """Whether a rate says which of two is faster."""
    return abs(one - other) <= SAME_WORK * abs(one)


def recorded(found: VariantComparison) -> Iterator[Judged]:
    """Show what `judge_comparisons` will hold the next measurement against.

    Raises
    ------
    ProtonLabError
        If it has too few pairs, so that nothing could be held against it.
    """
    (first, second), number = found.names, pairs_in_words(found)
    _need_interval(number, found)
    values = zip(found.names, map(found.metric.format, found.medians), strict=True)
    for name, text in ((f"{second} by {first}", f"{fmean(found.ratios):.4g} times"), *values):
        yield Judged(name, text, "–", math.nan, math.nan, math.nan, number, "not judged")


def _judged(
    name: str,
    before: FloatArray,
    after: FloatArray,
    metric: Metric,
    threshold: float | None,
    texts: tuple[str, str],
    number: str,
) -> Judged:
    """Judge two independent series; without a threshold only show them."""
    low, high = (float(bound[0]) for bound in ratio_bounds(before[:, None], after[:, None]))
    ratio = fmean(after) / fmean(before)
    slowdown, low, high = _slowdowns(metric, ratio, low, high)
    outcome = "not judged" if threshold is None else outcome_of(low, high, threshold)
    return Judged(name, *texts, slowdown, low, high, number, outcome)


def judge_profiles(
    before: Profile, after: Profile, threshold: float, *, metric: str, include: str | None
) -> Iterator[Judged]:
    """Hold a repeated profile against an earlier one: all of it, and the kernels that match.

    Raises
    ------
    MetricError
        If a profile lacks the metric.
    ProtonLabError
        If one was not repeated, or the pattern is no regular expression.
    """
    for side, profile in (("baseline", before), ("candidate", after)):
        if profile.repeats is None or profile.repeats.number < 2:
            raise ProtonLabError(
                f"the {side} was not repeated, so nothing tells how its times scatter; record it "
                "with %%proton repeat=20 warmup=3 or Session.repeats(20)"
            )
    found = compare(before, after, metric=metric)
    _check_direction(found.metric)
    wanted = KernelFilter(include)
    rows = [("total", found.frames.iloc[0], True)]
    rows += [
        (str(row["label"]), row, is_judged)
        for place, (_, row) in enumerate(found.kernels.iterrows())
        if (is_judged := include is not None and wanted.matches(str(row["name"])))
        or place < _MOST_SHOWN
    ]
    if include is not None and not any(judged for _, _, judged in rows[1:]):
        raise ProtonLabError(
            f"no kernel matches include={include}; patterns are anchored at the start of the name: "
            f"{', '.join(map(str, found.kernels['name'].head(12)))}"
        )
    assert before.repeats is not None
    assert after.repeats is not None
    number = f"{before.repeats.number} and {after.repeats.number} repeats"
    for place, (name, row, is_judged) in enumerate(rows):
        was, is_now = (found.metric.format(float(row[side])) for side in ("before", "after"))
        ratio, low, high = (float(row[column]) for column in ("ratio", "low", "high"))
        slowdown, low, high = _slowdowns(found.metric, ratio, low, high)
        outcome: Outcome = "not judged"
        if math.isnan(low) and place == 0:
            raise ProtonLabError(
                f"{found.metric.name} of all kernels, {was} in the baseline and {is_now} in the "
                "candidate, gives no interval; choose another metric"
            )
        if math.isnan(row["before"]):
            outcome = "new"
        elif math.isnan(row["after"]):
            outcome = "gone"
        elif is_judged and not math.isnan(low):
            outcome = outcome_of(low, high, threshold)
        yield Judged(name, was, is_now, slowdown, low, high, number, outcome)


def _slowdowns(metric: Metric, ratio: float, low: float, high: float) -> tuple[float, float, float]:
    """Turn a ratio of the metric into one of times: less of a rate is slower."""
    return (ratio, low, high) if metric.unit == "s" else (1 / ratio, 1 / high, 1 / low)


def _check_direction(metric: Metric) -> None:
    if metric.unit != "s" and not metric.is_better_high:
        raise MetricError(
            f"{metric.name!r} is neither a time nor a rate, so nothing says which way is slower; "
            "use time/us, gbyte/s or another rate"
        )


def _listed(value: object) -> str:
    return " and ".join(value) if isinstance(value, tuple) else str(value or "of no name")
