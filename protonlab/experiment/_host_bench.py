"""Samples without a GPU: they run for real, and their times mean nothing for one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from protonlab.capture.samples import Samples
from protonlab.experiment._bench import Block
from protonlab.experiment._variants import Variant
from protonlab.experiment._words import UNEQUAL_CALLS, of_host, of_launches

_SAMPLE_NS = 5e6
_MOST_CALLS = 100
MEANINGLESS = (
    "The kernels ran on the CPU: results are right, but times and rates say nothing about a GPU."
)


class HostBench:
    """Runs samples of two variants on the CPU, one call behind the other.

    Parameters
    ----------
    setup
        Called before each sample, untimed.
    protocol
        As for a GPU; there is no L2 to empty.
    """

    def __init__(self, setup: Callable[[], Any] | None, protocol: str) -> None:
        self._setup, self._kind = setup, protocol
        self._variants: tuple[Variant, ...] = ()
        self._samples = Samples()
        self._number = 0
        self._kernels = (0, 0)
        self._calls = [1, 1]
        self._notes: dict[str, None] = {}

    def open(self, variants: tuple[Variant, Variant], kernels: tuple[int, int]) -> None:
        """Start Proton."""
        self._variants, self._kernels = variants, kernels
        if 0 not in kernels:
            self._samples.start()

    @property
    def makes_anew(self) -> tuple[str, ...]:
        """Nothing: there are no graphs."""
        return ()

    def renew(self, make: Callable[[], tuple[Variant, Variant]]) -> None:
        """Go on with what `make` gives."""
        self._variants = make()
        self.warm()

    def settle(self, times_ns: tuple[float, float]) -> None:
        """Choose the calls of a sample."""
        self._calls = [
            max(1, min(_MOST_CALLS, round(_SAMPLE_NS / max(time_ns, 1.0)))) for time_ns in times_ns
        ]

    def warm(self) -> tuple[float, float]:
        """Call each once."""
        return self._elapsed(0, 1), self._elapsed(1, 1)

    def _elapsed(self, which: int, calls: int, sample: int | None = None) -> float:
        if self._setup is not None:
            self._setup()
        variant = self._variants[which]
        start = time.perf_counter_ns()
        with nullcontext() if sample is None else self._samples.timed(sample):
            for _ in range(calls):
                variant()
        return max(1.0, (time.perf_counter_ns() - start) / calls)

    def block(self, order: str) -> Block:
        """Measure four samples."""
        numbers = [(self._number + at, "AB".index(letter)) for at, letter in enumerate(order)]
        self._number += len(order)
        calls = self._calls
        elapsed = tuple(self._elapsed(which, calls[which], number) for number, which in numbers)
        found = self._samples.read(
            {number: calls[which] * self._kernels[which] for number, which in numbers}
        )
        if self._samples.odd is not None:
            number, shown, expected = self._samples.odd
            variant = self._variants[dict(numbers)[number]]
            if shown == 0:
                variant.launches_nothing(" any more")
            self._notes[of_launches(variant.name, shown, expected)] = None
        kernels = tuple(found[number].time_ns / calls[which] for number, which in numbers if found)
        return Block(order, kernels, elapsed, (None, None))

    def protocol(self) -> Mapping[str, Any]:
        """Tell what is done in a sample."""
        return {
            "launches": list(self._calls),
            "graph_calls": None,
            "flush_bytes": 0,
            "clock": "the host's clock",
            "in_words": of_host((self._calls[0], self._calls[1]), self._kind),
        }

    def timing_problem(self) -> str | None:
        """Tell why Proton's times cannot be had."""
        return UNEQUAL_CALLS if 0 in self._kernels else self._samples.problem

    def notes(self) -> tuple[str, ...]:
        """Tell what a reader should know."""
        return (MEANINGLESS, *self._notes)

    def close(self) -> None:
        """End Proton's session."""
        self._samples.stop()
        self._variants = ()
