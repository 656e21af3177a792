"""The pairs of a measurement, as they come in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from protonlab.experiment._bench import Block
from protonlab.model import ClockReading
from protonlab.model.frames import FloatArray
from protonlab.model.variants import PAIR_COLUMNS

Values = Callable[[FloatArray], FloatArray]


class Pairs:
    """Blocks of two pairs each.

    Attributes
    ----------
    by_proton
        Whether Proton told the times of all of them.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[Block, float]] = []
        self._kernels: list[tuple[float, ...]] = []  # of A and of B
        self._elapsed: list[tuple[float, ...]] = []
        self.by_proton = True

    def __len__(self) -> int:
        return 2 * len(self._blocks)

    def add(self, block: Block, at_s: float) -> None:
        """Add a block that ended so many seconds after measuring began."""
        self._blocks.append((block, at_s))
        self._kernels += _sorted(block.order, block.kernels_ns)
        self._elapsed += _sorted(block.order, block.elapsed_ns)
        self.by_proton &= len(block.kernels_ns) == len(block.order)

    def times_ns(self, *, by_proton: bool) -> FloatArray:
        """Time of a call of A and of B, shape (pairs, 2)."""
        rows = self._kernels if by_proton else self._elapsed
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    @property
    def width(self) -> float:
        """How far the bounds of the ratio's interval are apart, as a share of it.

        Student's t at any number of pairs: it decides when to stop, and costs nothing.
        """
        times = self.times_ns(by_proton=self.by_proton)
        if len(times) < 2:
            return float("inf")
        logs = np.log(times[:, 1] / times[:, 0])
        return float(np.expm1(2 * stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)))

    @property
    def busy(self) -> tuple[float, float] | None:
        """Share of the elapsed time in which kernels of A and of B ran; None without Proton."""
        if not self.by_proton or not self._blocks:
            return None
        share = self.times_ns(by_proton=True) / self.times_ns(by_proton=False)
        first, second = np.median(share, axis=0)
        return float(first), float(second)

    def table(self, values: tuple[Values, Values]) -> pd.DataFrame:
        """Make the table of `VariantComparison`; `values` turn times into the metric."""
        times = self.times_ns(by_proton=self.by_proton)
        orders = [block.order[place : place + 2] for block, _ in self._blocks for place in (0, 2)]
        clocks = [clock for block, _ in self._blocks for clock in block.clocks]
        table = pd.DataFrame(
            {
                "order": pd.Series(orders, dtype=object),
                "time_ns_a": times[:, 0],
                "time_ns_b": times[:, 1],
                "value_a": values[0](times[:, 0]),
                "value_b": values[1](times[:, 1]),
                **_of_clocks(clocks),
                "at_s": [at for _, at in self._blocks for _ in range(2)],
            }
        )
        table = table.astype(dict(PAIR_COLUMNS))
        table.index.name = "pair"
        return table


def _sorted(order: str, times: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Times of A and of B of each pair."""
    pairs = [times[place : place + 2] for place in range(0, len(times), 2)]
    return [pair if order[2 * at] == "A" else pair[::-1] for at, pair in enumerate(pairs)]


def _of_clocks(clocks: list[ClockReading | None]) -> dict[str, list[object]]:
    none = ClockReading("", "")
    known = [clock or none for clock in clocks]
    return {
        "sm_clock_mhz": [clock.sm_mhz for clock in known],
        "memory_clock_mhz": [clock.memory_mhz for clock in known],
        "power_w": [clock.power_w for clock in known],
        "temperature_c": [clock.temperature_c for clock in known],
        "throttle": [", ".join(clock.throttle) for clock in known],
    }
