"""A part of what Proton wrote about a session."""

from __future__ import annotations

from dataclasses import dataclass

# Number of a repeat whose launches are dropped on reading: a warm-up step, what is out of scope.
LEFT_OUT = -1


@dataclass(frozen=True)
class Part:
    """What Proton wrote about one stretch of the session.

    Parameters
    ----------
    data
        A tree, JSON or msgpack, or a chrome trace; empty when nothing was recorded.
    repeat
        Number of the repeat that it belongs to; None outside of repeats, and where frames say it;
        `LEFT_OUT` for what is to be dropped.
    scope
        What the names of scopes start with in which repeats ran; their number follows.
    """

    data: bytes
    repeat: int | None = None
    scope: str = ""
