"""The pairs of a measurement, as they come in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from protonlab.experiment._bench import Block
from protonlab.model import ClockReading
from protonlab.model.frames import FloatArray
from protonlab.model.pair_warnings import ROUND
from protonlab.model.paired import round_means
from protonlab.model.variants import PAIR_COLUMNS

Values = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class _Entry:
    """A block, when it ended, and in which round."""

    block: Block
    at_s: float
    round: int | None

    @property
    def is_by_proton(self) -> bool:
        return len(self.block.kernels_ns) == len(self.block.order)

    def times_ns(self, *, by_proton: bool) -> list[tuple[float, ...]]:
        """Give the times of A and of B of each pair."""
        times = self.block.kernels_ns if by_proton else self.block.elapsed_ns
        pairs = [times[place : place + 2] for place in range(0, len(times), 2)]
        return [
            pair if self.block.order[2 * at] == "A" else pair[::-1] for at, pair in enumerate(pairs)
        ]


class Pairs:
    """Blocks of two pairs each; may be read while another thread adds to them."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def __len__(self) -> int:
        return 2 * len(self._entries)

    def add(self, block: Block, at_s: float, number: int | None = None) -> None:
        """Add a block that ended so many seconds after measuring began.

        Parameters
        ----------
        number
            Of the round that it belongs to; None where there are no rounds.
        """
        self._entries.append(_Entry(block, at_s, number))

    @property
    def by_proton(self) -> bool:
        """Whether Proton told the times of all pairs; otherwise all count by the clock."""
        return all(entry.is_by_proton for entry in self._entries)

    def times_ns(self, *, by_proton: bool) -> FloatArray:
        """Time of a call of A and of B, shape (pairs, 2)."""
        return _times(list(self._entries), by_proton=by_proton)

    @property
    def width(self) -> float:
        """How far the bounds of the ratio's interval are apart, as a share of it.

        Student's t at any number of pairs or rounds: it decides when to stop, and costs nothing.
        """
        times = self.times_ns(by_proton=self.by_proton)
        logs = np.log(times[:, 1] / times[:, 0])
        rounds = _rounds(list(self._entries))
        if rounds is not None:
            logs = round_means(logs, rounds)
        if len(logs) < 2:
            return float("inf")
        error = np.std(logs, ddof=1) / np.sqrt(len(logs))
        return float(np.expm1(2 * special.stdtrit(len(logs) - 1, 0.975) * error))

    @property
    def busy(self) -> tuple[float, float] | None:
        """Share of the elapsed time in which kernels of A and of B ran; None without Proton."""
        entries = list(self._entries)
        if not entries or not all(entry.is_by_proton for entry in entries):
            return None
        share = _times(entries, by_proton=True) / _times(entries, by_proton=False)
        first, second = np.median(share, axis=0)
        return float(first), float(second)

    def table(self, values: tuple[Values, Values]) -> pd.DataFrame:
        """Make the table of `VariantComparison`; `values` turn times into the metric."""
        entries = list(self._entries)
        times = _times(entries, by_proton=all(entry.is_by_proton for entry in entries))
        blocks = [entry.block for entry in entries]
        orders = [block.order[place : place + 2] for block in blocks for place in (0, 2)]
        table = pd.DataFrame(
            {
                "order": pd.Series(orders, dtype=object),
                "time_ns_a": times[:, 0],
                "time_ns_b": times[:, 1],
                "value_a": values[0](times[:, 0]),
                "value_b": values[1](times[:, 1]),
                **_of_clocks([clock for block in blocks for clock in block.clocks]),
                "at_s": [entry.at_s for entry in entries for _ in range(2)],
            }
        )
        table = table.astype(dict(PAIR_COLUMNS))
        rounds = _rounds(entries)
        if rounds is not None:
            table[ROUND] = rounds
        table.index.name = "pair"
        return table


def _times(entries: Sequence[_Entry], *, by_proton: bool) -> FloatArray:
    rows = [row for entry in entries for row in entry.times_ns(by_proton=by_proton)]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _rounds(entries: Sequence[_Entry]) -> FloatArray | None:
    """Round of each pair, shape (pairs,); None where there are none."""
    numbers = [entry.round for entry in entries for _ in range(2)]
    if not numbers or None in numbers:
        return None
    return np.array(numbers, dtype=np.float64)


def _of_clocks(clocks: Sequence[ClockReading | None]) -> dict[str, list[object]]:
    none = ClockReading("", "")
    known = [clock or none for clock in clocks]
    return {
        "sm_clock_mhz": [clock.sm_mhz for clock in known],
        "memory_clock_mhz": [clock.memory_mhz for clock in known],
        "power_w": [clock.power_w for clock in known],
        "temperature_c": [clock.temperature_c for clock in known],
        "throttle": [", ".join(clock.throttle) for clock in known],
    }
