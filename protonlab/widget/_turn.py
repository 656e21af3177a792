"""One measurement at a time: a widget that begins stops the one that measures."""

from __future__ import annotations

from functools import cache
from typing import Protocol
from weakref import ReferenceType, ref


class Measuring(Protocol):
    """What takes turns."""

    def stop(self, reason: str) -> None:
        """Stop, and say why."""

    async def stopped(self) -> None:
        """Wait until the GPU is free."""


class Turn:
    """Who measures on the GPU; two at a time would measure each other."""

    def __init__(self) -> None:
        self._holder: ReferenceType[Measuring] | None = None

    async def take(self, who: Measuring) -> None:
        """Take the turn; whoever has it is stopped first."""
        holder = self._holder() if self._holder is not None else None
        self._holder = ref(who)
        if holder is not None and holder is not who:
            holder.stop(
                "Stopped: another widget began to measure, and two would disturb each other."
            )
            await holder.stopped()

    def give_back(self, who: Measuring) -> None:
        """Give the turn back, if it is still one's own."""
        if self._holder is not None and self._holder() is who:
            self._holder = None


@cache
def turn() -> Turn:
    """Return this process' turn."""
    return Turn()
