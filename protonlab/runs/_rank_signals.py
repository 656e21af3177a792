"""The end of a process by a signal, also where its main thread waits in a call for ever.

Python runs signal handlers in the main thread, between its instructions: one that waits in a
collective runs none. But Python writes the number of each signal to a file that was set for it, at
once, and a thread reads that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

# So long the main thread may take to notice Ctrl-C before it counts as stuck.
_NOTICES_S = 10.0
_PENDING = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class EndingSignals:
    """Calls `end` before SIGTERM ends the process, or when Ctrl-C does not reach the script.

    What a script does with signals itself stays so.

    Parameters
    ----------
    end
        Called in another thread than the main one, with the signal's name.
    """

    def __init__(self, end: Callable[[str], None]) -> None:
        self._end = end
        self._pipe: tuple[int, int] | None = None
        self._notes: list[object] = []

    def start(self) -> None:
        """Begin to wait; does nothing outside of the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return  # the script's own
        self._pipe = read, write = os.pipe()
        os.set_blocking(write, False)
        signal.signal(signal.SIGTERM, self._handle)
        others = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        if others != -1:
            signal.set_wakeup_fd(others)
        threading.Thread(target=self._wait, args=(read,), name="protonlab", daemon=True).start()

    def stop(self) -> None:
        """Let SIGTERM end the process at once again; in the main thread."""
        if self._pipe is None:
            return
        with suppress(ValueError):
            if self._is_ours():
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            others = signal.set_wakeup_fd(-1)
            if others not in (-1, self._pipe[1]):
                signal.set_wakeup_fd(others)

    def forget(self) -> None:
        """Take all back in a forked child, whose signals must not reach its parent's thread."""
        self.stop()
        for handle in self._pipe or ():
            with suppress(OSError):
                os.close(handle)
        self._pipe = None

    def _is_ours(self) -> bool:
        return signal.getsignal(signal.SIGTERM) == self._handle

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Pass the signal on, should another have taken Python's file for signals."""
        if self._pipe is not None:
            with suppress(OSError):
                os.write(self._pipe[1], bytes([number]))

    def _wait(self, read: int) -> None:
        with suppress(OSError):
            while numbers := os.read(read, 64):
                for number in numbers:
                    if number == signal.SIGTERM and self._is_ours():
                        self._end("SIGTERM")
                        _die(signal.SIGTERM)
                    elif number == signal.SIGINT and self._is_stuck():
                        self._end("SIGINT")

    def _is_stuck(self) -> bool:
        """Whether the main thread runs no Python for a while, so is in a call that goes on."""
        runs = threading.Event()

        def told(argument: int | None) -> int:
            runs.set()
            return 0

        note = _PENDING(told)
        self._notes.append(note)  # it may be called long after
        ctypes.pythonapi.Py_AddPendingCall(note, None)  # for the main thread, as a handler is
        return not runs.wait(_NOTICES_S)


def _die(number: int) -> None:
    """End by the signal as if nobody had handled it; signal.signal is for the main thread only."""
    ctypes.CDLL(None).signal(number, 0)
    os.kill(os.getpid(), number)
