"""Doing something while no launch runs, in whatever thread: for Triton's interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable

_PATIENCE_S = 0.05


class BetweenLaunches:
    """Counts launches that run; a context manager for one launch, which may hold others.

    Examples
    --------
    >>> between = BetweenLaunches()
    >>> with between:
    ...     between.do(lambda: print("no launch runs"))
    ...     print("a launch")
    a launch
    no launch runs
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._pending: list[tuple[Callable[[], None], threading.Event]] = []

    def do(self, action: Callable[[], None]) -> None:
        """Do something short, now or when the launches that run have ended.

        Waits for a moment, not for a long launch: the one that runs may be the caller's own.
        """
        done = threading.Event()
        with self._lock:
            self._pending.append((action, done))
            self._act()
        done.wait(_PATIENCE_S)

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            self._running -= 1
            self._act()

    def _act(self) -> None:
        while self._pending and not self._running:
            action, done = self._pending.pop(0)
            action()
            done.set()
