"""Simulated runs on a bench whose truth is known: how often the interval holds it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import pytest

from protonlab.experiment._bench import Block
from protonlab.experiment._order import balanced_orders
from protonlab.experiment._paired_run import FEWEST_PAIRS, NARROW, PairedRun
from protonlab.model.statistics import Interval, paired_ratio

BLOCK_S, WARM_S = 0.05, 0.02
# What else moves the times of both variants: a GPU that heats up, a power limiter that hunts, a
# level that wanders, and a neighbour that slows some samples down.
DRIFTS = ("falling clock", "hunting limiter", "random walk", "heavy tails")


class SimulatedBench:
    """A GPU whose times are drawn from a seed; a call of B takes `ratio` times that of A."""

    def __init__(self, seed: int, drift: str, ratio: float = 1.0, sigma: float = 0.006) -> None:
        self._random = np.random.default_rng(seed)
        self._drift, self._ratio, self._sigma = drift, ratio, sigma
        self._level = 0.0
        self.now = 0.0

    def open(self, kernels: tuple[int, int]) -> None:
        pass

    def settle(self, times_ns: tuple[float, float]) -> None:
        self.settled = times_ns

    def _sample(self, letter: str, seconds: float) -> float:
        self.now += seconds
        random, log = self._random, 0.0
        if self._drift == "falling clock":
            log = 0.08 * (1 - np.exp(-self.now / 0.8))
        elif self._drift == "hunting limiter":
            log = 0.03 * np.sin(2 * np.pi * self.now / 0.37)
        elif self._drift == "random walk":
            self._level += random.normal(0, 0.004)
            log = self._level
        elif self._drift == "heavy tails" and random.random() < 0.03:
            log = random.exponential(0.05)
        log += random.normal(0, self._sigma)
        return float(1e6 * np.exp(log) * (self._ratio if letter == "B" else 1.0))

    def warm(self) -> tuple[float, float]:
        return self._sample("A", WARM_S / 2), self._sample("B", WARM_S / 2)

    def block(self, order: str) -> Block:
        times = tuple(self._sample(letter, BLOCK_S / 4) for letter in order)
        return Block(order, times, tuple(1.01 * time for time in times), (None, None))

    def protocol(self) -> Mapping[str, Any]:
        return {}

    def timing_problem(self) -> str | None:
        return None

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        pass


def simulated(seed: int, drift: str, *, budget_s: float, ratio: float = 1.0) -> PairedRun:
    bench = SimulatedBench(seed, drift, ratio)
    run = PairedRun(bench, seed=seed, budget_s=budget_s, clock=lambda: bench.now)
    for _ in run.warm_up():
        pass
    for _ in run.measure():
        pass
    return run


def ratio_of(run: PairedRun) -> Interval:
    times = run.pairs.times_ns(by_proton=True)
    return paired_ratio(times[:, 0], times[:, 1])


@functools.cache
def equals() -> list[tuple[str, Interval]]:
    """1,000 runs of a variant against itself, short and long ones, with every drift."""
    runs = []
    for seed in range(1000):
        drift, budget_s = DRIFTS[seed % 4], (0.5, 1.0, 1.5, 2.0)[seed // 4 % 4]
        runs.append((drift, ratio_of(simulated(seed, drift, budget_s=budget_s))))
    return runs


def test_equals_are_found_equal_93_times_in_100() -> None:
    covered = [found.low <= 1 <= found.high for _, found in equals()]
    assert len(covered) == 1000
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize("drift", DRIFTS)
def test_no_drift_breaks_the_interval(drift: str) -> None:
    covered = [found.low <= 1 <= found.high for kind, found in equals() if kind == drift]
    assert len(covered) == 250
    assert np.mean(covered) >= 0.91  # 250 runs: two standard errors are 2.8 %


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_both_methods_hold_what_they_promise(method: str) -> None:
    covered = [found.low <= 1 <= found.high for _, found in equals() if found.method == method]
    assert len(covered) > 200
    assert np.mean(covered) >= 0.92


def test_one_sided_order_would_have_been_wrong() -> None:
    """What the interleaving is for: A first, then B, under the same drift."""
    covered = []
    for seed in range(100):
        bench = SimulatedBench(seed, "falling clock")
        times = [[bench._sample(letter, 0.025) for _ in range(20)] for letter in "AB"]
        found = paired_ratio(*map(np.array, times))
        covered.append(found.low <= 1 <= found.high)
    assert np.mean(covered) < 0.5


def test_a_difference_of_one_percent_is_found() -> None:
    found = [
        ratio_of(simulated(seed, "falling clock", budget_s=3, ratio=1.01)) for seed in range(40)
    ]
    assert all(each.low > 1 for each in found)
    assert np.mean([each.low <= 1.01 <= each.high for each in found]) >= 0.85
    assert np.mean([each.estimate for each in found]) == pytest.approx(1.01, abs=0.001)


def test_run_stops_by_width_and_never_before_12_pairs() -> None:
    bench = SimulatedBench(0, "no drift at all", ratio=0.5, sigma=0.0)
    run = PairedRun(bench, seed=0, budget_s=60, clock=lambda: bench.now)
    list(run.warm_up())
    list(run.measure())
    assert len(run.pairs) == FEWEST_PAIRS == 12  # though the first pair told all
    assert run.stop_reason == f"the interval is narrower than {100 * NARROW:g} %"
    noisy = simulated(1, "no drift at all", budget_s=60)
    assert noisy.stop_reason == run.stop_reason
    assert 200 < len(noisy.pairs) < 400  # worked out: (2 * 1.96 * sqrt(2) * 0.006 / 0.002)² = 277
    found = ratio_of(noisy)
    assert found.high / found.low - 1 < 1.2 * NARROW


def test_run_stops_when_the_budget_is_spent() -> None:
    run = simulated(0, "heavy tails", budget_s=0.5)
    assert run.stop_reason == "the budget of 0.5 s is spent"
    assert run.warmup.took_s + len(run.pairs) / 2 * BLOCK_S == pytest.approx(0.5, abs=BLOCK_S)
    tiny = simulated(0, "heavy tails", budget_s=1e-6)
    assert len(tiny.pairs) == 2  # one block, whatever the budget


def test_warm_up_waits_for_the_clock_to_settle_and_gives_up_in_time() -> None:
    settled = simulated(0, "falling clock", budget_s=30)
    assert settled.warmup.is_stable
    assert 0.5 < settled.warmup.took_s < 5
    hurried = simulated(0, "falling clock", budget_s=0.6)
    assert hurried.warmup.took_s == pytest.approx(0.2, abs=WARM_S)
    assert not hurried.warmup.is_stable


def test_orders_are_random_balanced_and_repeatable() -> None:
    orders = list(islice(balanced_orders(7), 200))
    assert orders == list(islice(balanced_orders(7), 200))
    assert orders.count("ABBA") == orders.count("BAAB") == 100
    for at in range(0, 200, 2):
        assert set(orders[at : at + 2]) == {"ABBA", "BAAB"}
    firsts = orders[::2]
    assert 30 < firsts.count("ABBA") < 70
    assert orders != list(islice(balanced_orders(8), 200))
