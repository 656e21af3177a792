"""The rounds of a session's repeats: counted, begun and ended around what the user runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol


class Repeatable(Protocol):
    """What rounds ask of a session."""

    def paused(self) -> AbstractContextManager[None]:
        """Record nothing inside."""

    def begin_part(self, repeat: int | None) -> None:
        """File what follows under a repeat, or under none."""

    def end_repeat(self) -> bool:
        """Whether the session recorded the repeat that ends here."""


class Rounds:
    """Repeats of one session, over all of its loops.

    Parameters
    ----------
    session
        Whose repeats they are.

    Attributes
    ----------
    completed
        Repeats that were recorded to their end.
    warmup
        Rounds before them.
    """

    def __init__(self, session: Repeatable) -> None:
        self.completed: list[int] = []
        self.warmup = 0
        self._session = session

    def run(self, number: int, warmup: int) -> Iterator[int]:
        """Yield the number of each round, as `Session.repeats` describes it."""
        session = self._session
        self.warmup += warmup
        for left in range(-warmup, 0):
            with session.paused():
                yield left
        try:
            for index in range(number):
                repeat = len(self.completed)
                session.begin_part(repeat)
                yield index
                if session.end_repeat():
                    self.completed.append(repeat)
        finally:  # also when the loop is left early
            session.begin_part(None)
