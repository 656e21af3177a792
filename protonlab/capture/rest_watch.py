"""Whether GPUs come to rest, asked with a limit: a synchronisation alone would wait for ever."""

from __future__ import annotations

import queue
import sys
import threading
from contextlib import suppress

from protonlab.capture._platform import gpus_in_use


class RestWatch:
    """Waits for this process's GPUs, in a thread that `start` makes.

    It has to be there before the interpreter ends: from Python 3.12 on none can be started then.
    """

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()

    def start(self) -> None:
        """Make the thread."""
        threading.Thread(target=self._wait, name="protonlab-rest", daemon=True).start()

    def within(self, seconds: float) -> bool:
        """Whether all that was launched so far ends within so many seconds."""
        if not gpus_in_use():
            return True
        rests = threading.Event()
        self._asked.put(rests)
        return rests.wait(seconds)

    def _wait(self) -> None:
        while True:
            rests = self._asked.get()
            for gpu in gpus_in_use():
                with suppress(Exception):  # a kernel has failed: then nothing runs any more
                    sys.modules["torch"].cuda.synchronize(gpu)
            rests.set()
