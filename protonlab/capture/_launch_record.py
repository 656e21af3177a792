"""What a launch hook remembers of a launch, a kernel and a session, and what it has said."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


class Launch:
    """One launch, from its first enter to its last exit."""

    scope: int | None = None  # Proton's id of the open frame
    name = ""  # of the open frame
    owner: object | None = None  # the hook that opened the frame
    keys: frozenset[str] = frozenset()  # metrics written so far
    failed = False  # its metadata function raised
    closed = False

    def __init__(self, compiled: str) -> None:
        self.compiled = compiled


class Kernel:
    """A compiled kernel as the hook has seen it."""

    __slots__ = ("keep", "kept", "seen", "state")

    def __init__(self, keep: bool, state: str) -> None:
        self.keep = keep
        self.seen = 0
        self.kept = 0
        self.state = state  # frame under which Proton files what its metadata function launches


class Notes:
    """What a hook has said about missing metrics: each cause once a session and kernel."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._told: set[tuple[str, str]] = set()

    def renew(self) -> None:
        """Let everything be said again."""
        self._told.clear()

    def tell(self, kernel: str, cause: str, message: str, place: Callable[..., Any] | None) -> None:
        """Warn, pointing at the metadata function `place`."""
        if (kernel, cause) in self._told:
            return
        self._told.add((kernel, cause))
        self.messages.append(message)
        code = getattr(place, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code else (sys.argv[0] or "-", 1)
        # Without a registry, Python's "once a place" does not hide it in the next session. Where
        # warnings are errors this raises; the launch goes on all the same.
        with suppress(UserWarning):
            warnings.warn_explicit(message, UserWarning, file, line, "protonlab")


@dataclass(frozen=True)
class HookRecord:
    """What a hook knows after a session.

    Parameters
    ----------
    launches
        Compiled name -> (launches seen, launches kept).
    kernel_of
        Frame name -> compiled name.
    notes
        Sentences about metrics that are missing.
    """

    launches: dict[str, tuple[int, int]]
    kernel_of: dict[str, str]
    notes: tuple[str, ...]

    def since(self, before: HookRecord) -> HookRecord:
        """Return what came after an earlier record of the same hook."""
        launches = {}
        for name, (seen, kept) in self.launches.items():
            seen_before, kept_before = before.launches.get(name, (0, 0))
            if seen > seen_before:
                launches[name] = (seen - seen_before, kept - kept_before)
        return HookRecord(launches, self.kernel_of, self.notes[len(before.notes) :])
