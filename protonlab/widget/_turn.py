"""One measurement at a time: a widget that begins stops the one that measures."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Protocol
from weakref import ReferenceType, ref

_BEAT_S = 0.02


class Measuring(Protocol):
    """What takes turns."""

    @property
    def is_wanted(self) -> bool:
        """Whether a person wants it to measure."""

    @property
    def is_going_on(self) -> bool:
        """Whether it measures, or is about to stop."""

    def stop(self, reason: str) -> None:
        """Stop, and say why."""

    def release(self) -> None:
        """Give the GPU's memory back."""


class Turn:
    """Who measures on the GPU; two at a time would measure each other, and fill its memory."""

    def __init__(self) -> None:
        self._last: ReferenceType[Measuring] | None = None

    async def take(self, who: Measuring) -> None:
        """Take the turn; whoever had it last is stopped, and gives its memory back.

        Returns at once when a person stops the one that waits.
        """
        last = self._last() if self._last is not None else None
        self._last = ref(who)
        if last is None or last is who:
            return
        if last.is_going_on:
            last.stop("Stopped: another widget began to measure, and two would disturb each other.")
        while last.is_going_on and who.is_wanted:
            await asyncio.sleep(_BEAT_S)
        last.release()


@cache
def turn() -> Turn:
    """Return this process' turn."""
    return Turn()
