"""A GPU that is simulated: its truth is known, so that intervals can be held against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from protonlab.experiment._bench import Block
from protonlab.experiment._paired_run import PairedRun
from protonlab.model.paired import paired_ratio
from protonlab.model.statistics import Interval

BLOCK_S, WARM_S, RENEW_S = 0.05, 0.02, 0.11
# What else moves the times of both variants: a GPU that heats up, a power limiter that hunts, a
# level that wanders, and a neighbour that slows some samples down.
DRIFTS = ("falling clock", "hunting limiter", "random walk", "heavy tails")


class SimulatedBench:
    """A GPU whose times are drawn from a seed; a call of B takes `ratio` times that of A.

    Where tensors lie moves the logarithm of that ratio by `places`, a standard deviation.
    """

    def __init__(
        self, seed: int, drift: str, *, ratio: float = 1.0, sigma: float = 0.006, places: float = 0
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._drift, self._ratio, self._sigma, self._places = drift, ratio, sigma, places
        self._level = 0.0
        self.now = -RENEW_S
        self.renew()

    def renew(self, variants: object = None) -> None:
        self.now += RENEW_S
        self._here = self._random.normal(0, self._places)

    @property
    def makes_anew(self) -> tuple[str, ...]:
        return ("variants",)

    def open(self, variants: object, kernels: tuple[int, int]) -> None:
        pass

    def settle(self, times_ns: tuple[float, float]) -> None:
        self.settled = times_ns

    def sample(self, letter: str, seconds: float) -> float:
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
        if letter == "B":
            log += np.log(self._ratio) + self._here
        return float(1e6 * np.exp(log))

    def warm(self) -> tuple[float, float]:
        return self.sample("A", WARM_S / 2), self.sample("B", WARM_S / 2)

    def block(self, order: str) -> Block:
        times = tuple(self.sample(letter, BLOCK_S / 4) for letter in order)
        return Block(order, times, tuple(1.01 * time for time in times), (None, None))

    def protocol(self) -> Mapping[str, Any]:
        return {}

    def timing_problem(self) -> str | None:
        return None

    def notes(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        pass


def simulated(
    seed: int, drift: str, *, budget_s: float, in_rounds: bool = False, **truth: float
) -> PairedRun:
    bench = SimulatedBench(seed, drift, **truth)
    run = PairedRun(bench, seed=seed, budget_s=budget_s, clock=lambda: bench.now)
    for _ in run.warm_up():
        pass
    for _ in run.measure(bench.renew if in_rounds else None):
        pass
    return run


def ratio_of(run: PairedRun) -> Interval:
    table = run.pairs.table((lambda times: times, lambda times: times))
    rounds = table["round"].to_numpy() if "round" in table else None
    a, b = (table[name].to_numpy() for name in ("time_ns_a", "time_ns_b"))
    return paired_ratio(a, b, rounds=rounds)
