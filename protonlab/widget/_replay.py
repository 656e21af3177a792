"""A recorded sweep, played back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from protonlab.model import VariantComparison
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.widget._source import BEAT_S, Moment

_REPLAY_S = 4.0  # however long the measurement took


class Replay:
    """A recorded sweep, played back.

    Parameters
    ----------
    sweep
        What was recorded.
    """

    def __init__(self, sweep: EpilogueSweep) -> None:
        self._sweep = sweep
        self.label = f"replay of what was recorded on {sweep.where}"

    def choices(self, case: EpilogueCase) -> Mapping[str, Sequence[Any]]:
        """Return what was recorded: the shapes of this kernel, and the tokens of this shape."""
        offered, cases = {}, self._sweep.cases
        for name in ("kernel", "experts", "n", "k", "tokens"):
            offered[name] = sorted({getattr(each, name) for each in cases})
            cases = tuple(each for each in cases if getattr(each, name) == getattr(case, name))
        return offered

    def settled(self, case: EpilogueCase) -> tuple[EpilogueCase, str]:
        """Return the nearest case that was recorded, and say so where it is another one."""
        nearest = case if case in self._sweep.comparisons else self._sweep.nearest(case)
        if nearest in (case, None):
            return case, ""
        return nearest, f"Not recorded: {case}. Shown is the nearest."

    def at_once(self, case: EpilogueCase) -> Moment:
        """Return all of a case's pairs."""
        comparison = self._sweep.comparison(case)
        return self._moment(case, comparison, "recorded")

    async def run(self, case: EpilogueCase) -> AsyncGenerator[Moment, None]:
        """Show the first pairs, then more, until all are there."""
        comparison = self._sweep.comparison(case)
        began, n = time.monotonic(), len(comparison)
        shown = 0
        while shown < n:
            await asyncio.sleep(BEAT_S)
            part = (time.monotonic() - began) / _REPLAY_S
            shown = min(n, max(shown + 1, 2, round(part * n)))
            message = f"replaying: pair {shown} of {n}" if shown < n else f"replayed: all {n} pairs"
            yield self._moment(case, comparison.first(shown), message)

    def release(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""

    def _moment(self, case: EpilogueCase, comparison: VariantComparison, message: str) -> Moment:
        sweep = self._sweep
        return Moment(message, comparison, sweep.compiled_of(case), sweep.copy_gbyte_s)
