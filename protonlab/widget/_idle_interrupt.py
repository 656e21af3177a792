"""An interrupt of a kernel that runs no cell: ipykernel ignores it, and a run should stop by it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any


class IdleInterrupt:
    """Stands where ipykernel ignores SIGINT; a cell's own handler takes its place while one runs.

    Parameters
    ----------
    stop
        Called in the event loop, a moment after the signal.
    others
        What stood here for other widgets; they are stopped, too.
    """

    def __init__(self, stop: Callable[[], None], others: IdleInterrupt | None) -> None:
        self._stop, self._others = stop, others
        self._loop = asyncio.get_running_loop()

    def __call__(self, *_signal: Any) -> None:
        """Stop; in a signal's handler, where nothing else is safe to do."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop)
        if self._others is not None:
            self._others()

    def stops(self, stop: Callable[[], None]) -> bool:
        """Whether it calls this."""
        return self._stop == stop or (self._others is not None and self._others.stops(stop))

    @classmethod
    def watch(cls, stop: Callable[[], None]) -> None:
        """Have an interrupt call this, if it would be ignored else; may be called often.

        It stays for as long as the kernel lives, since a cell that runs puts back what it found.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        current = signal.getsignal(signal.SIGINT)
        known = current if isinstance(current, cls) else None
        if current is signal.SIG_IGN or (known is not None and not known.stops(stop)):
            signal.signal(signal.SIGINT, cls(stop, known))
