"""When a warm-up is over: once the times of both variants have stopped to move."""

from __future__ import annotations

import math
from statistics import fmean

_MOVES_LESS_THAN = 0.005


class Warmup:
    """Watches times of short runs.

    Parameters
    ----------
    least_s, most_s
        Shortest and longest warm-up.
    window
        Runs whose mean is held against that of as many before them.

    Attributes
    ----------
    took_s
        How long it has gone on.
    """

    def __init__(self, least_s: float, most_s: float, window: int) -> None:
        self._least, self._most, self._window = least_s, most_s, window
        self._logs: tuple[list[float], list[float]] = ([], [])
        self.took_s = 0.0

    def add(self, times_ns: tuple[float, float], took_s: float) -> None:
        """Add one run of both, which took so long on the host's clock."""
        self.took_s += took_s
        for logs, time_ns in zip(self._logs, times_ns, strict=True):
            logs.append(math.log(time_ns))

    @property
    def is_stable(self) -> bool:
        """Whether the last means of both moved by less than 0.5 %."""
        window = self._window
        return all(
            len(logs) >= 2 * window
            and abs(fmean(logs[-window:]) - fmean(logs[-2 * window : -window])) < _MOVES_LESS_THAN
            for logs in self._logs
        )

    @property
    def is_over(self) -> bool:
        """Whether to begin to measure."""
        return self.took_s >= self._most or (self.took_s >= self._least and self.is_stable)

    @property
    def times_ns(self) -> tuple[float, float]:
        """What a call of each takes now."""
        first, second = (math.exp(fmean(logs[-self._window :])) for logs in self._logs)
        return first, second
