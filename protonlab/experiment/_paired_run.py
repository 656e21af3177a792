"""Warming up, then block after block until the interval is narrow or the budget spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from protonlab.experiment._bench import Bench
from protonlab.experiment._order import balanced_orders
from protonlab.experiment._pairs import Pairs
from protonlab.experiment._warmup import Warmup

FEWEST_PAIRS = 12
# Something is made anew behind so many blocks, one of each order. It decides when it is enough
# only at the end of such a round, of which it needs some to know how they scatter.
BLOCKS_A_ROUND, FEWEST_ROUNDS = 2, 6
# Bounds of the interval so far apart, as a share of the ratio, are narrow enough.
NARROW = 0.002
# A power limiter needs some tenths of a second to find its clock; the interpreter has none.
_LEAST_WARMUP_S, _MOST_WARMUP_S, _WARMUP_SHARE, _WINDOW = 0.4, 5.0, 1 / 3, 5
_MOST_ON_HOST_S, _HOST_WINDOW = 1.0, 1


class PairedRun:
    """One run of two variants on a bench.

    It stops by the width of the interval, never by where it lies: a run that ended once the
    interval had left 1 would find differences between equals too often.

    Parameters
    ----------
    bench
        Runs the samples.
    seed
        Of the order of blocks.
    budget_s
        Seconds of warming up and measuring, pauses between steps not counted.
    has_power_limiter
        Whether it needs a warm-up of some tenths of a second at least.
    clock
        Gives seconds.

    Attributes
    ----------
    pairs
        What was measured.
    warmup
        How the warm-up went.
    stop_reason
        Why it ended; empty while it goes on.
    """

    def __init__(
        self,
        bench: Bench,
        *,
        seed: int,
        budget_s: float,
        has_power_limiter: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._bench, self._orders, self._clock = bench, balanced_orders(seed), clock
        self._budget = budget_s
        self.pairs = Pairs()
        most = min(_MOST_WARMUP_S, _WARMUP_SHARE * budget_s)
        self.warmup = (
            Warmup(min(_LEAST_WARMUP_S, most), most, _WINDOW)
            if has_power_limiter
            else Warmup(0.0, min(_MOST_ON_HOST_S, most), _HOST_WINDOW)
        )
        self.stop_reason = ""

    def warm_up(self) -> Iterator[None]:
        """Yield behind each short run until times are stable."""
        while not self.warmup.is_over:
            start = self._clock()
            times = self._bench.warm()
            self.warmup.add(times, self._clock() - start)
            yield
        self._bench.settle(self.warmup.times_ns)

    def measure(self, renew: Callable[[], None] | None = None) -> Iterator[None]:
        """Yield behind each block, and each time that something was made anew.

        Parameters
        ----------
        renew
            Makes anew what one run has in common and another one has not, such as where tensors
            lie; None where nothing can be.
        """
        spent, number, blocks = 0.0, 0, 0
        while not self.stop_reason:
            start = self._clock()
            if renew is not None and blocks == BLOCKS_A_ROUND:
                renew()
                spent += self._clock() - start
                number, blocks = number + 1, 0
            else:
                block = self._bench.block(next(self._orders))
                spent += self._clock() - start
                self.pairs.add(block, spent, None if renew is None else number)
                blocks += 1
                whole = renew is None or (blocks == BLOCKS_A_ROUND and number + 1 >= FEWEST_ROUNDS)
                if whole and len(self.pairs) >= FEWEST_PAIRS and self.pairs.width <= NARROW:
                    self.stop_reason = f"the interval is narrower than {100 * NARROW:g} %"
            if not self.stop_reason and self.warmup.took_s + spent >= self._budget:
                self.stop_reason = f"the budget of {self._budget:g} s is spent"
            yield
