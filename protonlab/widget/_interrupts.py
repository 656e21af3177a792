"""Interrupts of the kernel: each stops the runs that go on, whatever the kernel does with it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from functools import cache

from protonlab.front_end import NONE, TERMINAL, front_end


class Interrupts:
    """Tells runs of each SIGINT, beside what the kernel does with it.

    ipykernel ignores the signal while it is idle. While it handles a request, of a cell or of a
    page, it puts a handler of its own in place, whose KeyboardInterrupt ends that request alone.
    Python tells an event loop of a signal whichever handler is in place, unless it is ignored.
    """

    def __init__(self) -> None:
        self._stops: set[Callable[[], None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self, run: Callable[[], None]) -> None:
        """Call this at each interrupt, in the event loop, from now on."""
        self._stops.add(run)
        self.watch()

    def forget(self, run: Callable[[], None]) -> None:
        """Call this no more."""
        self._stops.discard(run)

    def watch(self) -> None:
        """See to it that the signal is not ignored; to be called often.

        It is again behind the request in which a run began, since a kernel puts back what it found.
        """
        in_kernel = front_end() not in (NONE, TERMINAL)
        if not in_kernel or threading.current_thread() is not threading.main_thread():
            return
        loop, handler = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
        if handler is None or (loop is self._loop and handler is not signal.SIG_IGN):
            return
        try:
            loop.add_signal_handler(signal.SIGINT, self._tell)
        except NotImplementedError:  # Windows; Stop still works
            return
        self._loop = loop
        if handler is not signal.SIG_IGN:  # a request's, whose cell is interrupted as ever
            signal.signal(signal.SIGINT, handler)

    def _tell(self) -> None:
        for stop in tuple(self._stops):
            stop()


@cache
def interrupts() -> Interrupts:
    """Return this process' interrupts."""
    return Interrupts()
