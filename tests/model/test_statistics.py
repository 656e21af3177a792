"""Intervals against textbook numbers and against what they promise; descriptions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from protonlab.errors import ProtonLabError
from protonlab.model.paired import paired_ratio
from protonlab.model.statistics import described, interval


def test_t_interval_by_hand() -> None:
    # Mean 12, standard deviation 2, so 2 / sqrt(3) = 1.1547; t(0.975, 2) = 4.30265 (tables).
    found = interval([10.0, 12.0, 14.0])
    assert (found.estimate, found.n, found.confidence, found.method) == (12, 3, 0.95, "t")
    assert found.low == pytest.approx(12 - 4.302653 * 1.154701, abs=1e-5)
    assert found.high == pytest.approx(12 + 4.302653 * 1.154701, abs=1e-5)
    # t(0.95, 4) = 2.13185; the deviation of 1 to 5 is sqrt(2.5).
    found = interval([1, 2, 3, 4, 5], confidence=0.9)
    assert found.high - 3 == pytest.approx(2.131847 * np.sqrt(2.5 / 5), abs=1e-5)


def test_missing_values_do_not_count() -> None:
    assert interval([10.0, np.nan, 12.0, 14.0]) == interval([10.0, 12.0, 14.0])


def test_times_have_no_interval_below_zero() -> None:
    found = interval([1.0, 1.0, 10.0])  # the half width is 12.9
    assert (found.estimate, found.low) == (4.0, 0.0)
    assert found.high == pytest.approx(4 + 4.302653 * 3)
    assert interval([-1.0, 1.0, 10.0]).low < 0
    ratio = paired_ratio(np.ones(3), np.array([1.0, 1.0, 10.0]))  # its logarithms may be negative
    assert ratio.low < 1


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_too_few_to_tell(method: str) -> None:
    one = interval([3.0], method=method)  # type: ignore[arg-type]
    assert (one.estimate, one.n) == (3.0, 1)
    assert np.isnan([one.low, one.high]).all()
    none = interval([], method=method)  # type: ignore[arg-type]
    assert none.n == 0
    assert np.isnan(none.estimate)
    same = interval([3.0, 3.0, 3.0], method=method)  # type: ignore[arg-type]
    assert (same.low, same.high) == (3.0, 3.0)


def test_bootstrap_is_repeatable_and_about_the_median() -> None:
    samples = [1.0, 2.0, 3.0, 4.0, 100.0] * 4
    first, second = interval(samples, method="bootstrap"), interval(samples, method="bootstrap")
    assert first == second
    assert first.estimate == 3.0
    assert 1.0 < first.low <= 3.0 <= first.high < 100.0


@pytest.mark.parametrize(
    ("method", "n", "skewed", "runs", "least", "most"),
    [
        # Binomial: 4,000 runs of a 95 % interval stay within 0.95 +- 0.011 (3 deviations).
        ("t", 5, False, 4000, 0.939, 0.961),
        # The bootstrap of a median is approximate; 300 runs scatter by 0.04.
        ("bootstrap", 20, True, 300, 0.88, 0.99),
    ],
)
def test_interval_holds_the_truth_as_often_as_it_says(
    method: str, n: int, skewed: bool, runs: int, least: float, most: float
) -> None:
    rng = np.random.default_rng(20)
    draws = rng.lognormal(0, 0.5, (runs, n)) if skewed else rng.normal(1, 0.1, (runs, n))
    found = [interval(row, method=method) for row in draws]  # type: ignore[arg-type]
    share = np.mean([each.low <= 1 <= each.high for each in found])  # mean and median are 1
    assert least <= share <= most


def test_described_by_hand() -> None:
    found = described(np.array([4.0, 1.0, np.nan, 3.0, 2.0]), (0.25, 0.999), "t", 0.95)
    assert list(found) == ["n", "min", "q25", "q99.9", "median", "max", "estimate", "low", "high"]
    assert [found[key] for key in ("n", "min", "q25", "median", "max", "estimate")] == (
        [4, 1.0, 1.75, 2.5, 4.0, 2.5]
    )
    assert found["q99.9"] == pytest.approx(3.997)
    assert np.isnan(described(np.array([np.nan]), (), "t", 0.95)["median"])
    near = described(np.arange(10.0), (1, 0.9999, 0.9995, 0.07, 0.025, 0), "t", 0.95)
    assert list(near)[2:8] == ["q00", "q02.5", "q07", "q99.95", "q99.99", "q100"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "z"}, "interval='z'; use 't' or 'bootstrap'"),
        ({"confidence": 95}, "confidence=95; use a number between 0 and 1"),
        ({"quantiles": (50,)}, "quantiles holds 50; use numbers from 0 to 1"),
        ({"quantiles": ("a",)}, "quantiles holds 'a'"),
    ],
)
def test_illegal_argument(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"quantiles": (), "method": "t", "confidence": 0.95}
    with pytest.raises(ProtonLabError, match=message):
        described(np.array([1.0, 2.0]), **(arguments | change))  # type: ignore[arg-type]


def test_pairs_of_a_round_count_once() -> None:
    """Logarithms by hand: rounds of 0.02 and 0.04, whatever pairs scatter within them."""
    logs = np.array([0.01, 0.03, 0.05, 0.03])
    before, rounds = np.ones(4), np.array([0.0, 0.0, 1.0, 1.0])
    found = paired_ratio(before, np.exp(logs), rounds=rounds)
    assert (found.n, found.method) == (4, "t")
    assert np.log(found.estimate) == pytest.approx(0.03)
    # Two means, 0.02 apart: their standard error is 0.01, and t of one degree of freedom 12.706.
    assert np.log(found.high) == pytest.approx(0.03 + 12.7062 * 0.01, rel=1e-4)
    assert np.isnan(paired_ratio(before[:2], np.exp(logs[:2]), rounds=rounds[:2]).low)
    assert paired_ratio(before, np.exp(logs)).high < found.high


def test_rounds_without_a_known_pair_do_not_count() -> None:
    after = np.array([1.1, 1.2, np.nan, np.nan, 1.3])
    found = paired_ratio(np.ones(5), after, rounds=np.array([0.0, 0.0, 1.0, 1.0, 2.0]))
    assert found.n == 3
    assert np.log(found.estimate) == pytest.approx(np.mean([np.log(1.1 * 1.2) / 2, np.log(1.3)]))
