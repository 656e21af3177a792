"""Reading a session while it records, from Proton's phases, with memory that does not grow.

Proton files what is launched under the current phase. The reader goes on to the next one at each
reading, reads those that are complete, and clears them when nothing can write to them any more:
libproton aborts the process when a launch writes to a phase that was cleared (seen under 3.9).

- In the interpreter everything is written while a launch runs, so phases change between launches,
  and one that is over is complete.
- On a GPU a phase is complete, says Proton, when a record of a later one has come in. A kernel on
  another stream may still run, so phases stay for a while, and are read again before they go.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from protonlab.capture._between_launches import BetweenLaunches
from protonlab.capture._proton import Proton

# CUPTI hands records on in buffers; Proton's own size holds hundreds of thousands of launches.
BUFFER_VARIABLE, BUFFER_BYTES = "TRITON_PROFILE_BUFFER_SIZE", 2**20
# A complete phase of a GPU stays for that many phases and seconds.
_KEPT_PHASES, _KEPT_S = 8, 10.0


class Phases:
    """The phases of one session, read by one thread at a time.

    Parameters
    ----------
    proton
        Proton, with phases.
    session
        Proton's id.
    between
        Where kernels run in Triton's interpreter: says when no launch runs. None on a GPU.
    """

    def __init__(self, proton: Proton, session: int, between: BetweenLaunches | None) -> None:
        self._libproton = proton.libproton
        self._session = session
        self._between = between
        self.first = 0  # the first phase that was not cleared
        self._current = 0
        self._began = {0: time.monotonic()}
        self._recent: dict[int, bytes] = {}  # complete, and still in Proton
        self._flush = cupti_flush(proton) if between is None else None

    def read(self) -> tuple[list[bytes], list[bytes]]:
        """Go on to the next phase and read complete ones.

        Returns
        -------
        settled
            Trees of phases that are complete and were cleared now, each given once.
        recent
            Trees of phases that are complete and stay for a while.
        """
        if self._between is not None:
            self._between.do(self._advance)
        else:
            if self._flush is not None:
                self._flush()
            self._advance()
        for phase in range(self.first, self._current):
            if phase not in self._recent and not self._is_complete(phase):
                break
            if phase not in self._recent:
                self._recent[phase] = self._libproton.get_data_msgpack(self._session, phase)
        settled = []
        while self.first in self._recent and self._is_settled(self.first):
            settled.append(self._libproton.get_data_msgpack(self._session, self.first))
            self._libproton.clear_data(self._session, self.first)
            del self._recent[self.first], self._began[self.first]
            self.first += 1
        return settled, list(self._recent.values())

    def _advance(self) -> None:
        self._current = self._libproton.advance_data_phase(self._session)
        self._began[self._current] = time.monotonic()

    def _is_complete(self, phase: int) -> bool:
        return self._between is not None or self._libproton.is_data_phase_complete(
            self._session, phase
        )

    def _is_settled(self, phase: int) -> bool:
        if self._between is not None:
            return True
        ended = self._began[phase + 1]
        return phase + _KEPT_PHASES <= self._current and time.monotonic() - ended > _KEPT_S


def cupti_flush(proton: Proton) -> Callable[[], None] | None:
    """CUPTI's call that hands over buffers whose records are all there; it waits for no kernel."""
    for name in ("cupti_lib_dir", "cupti_lib_blackwell_dir"):
        library = Path(getattr(proton.knobs.proton, name, "")) / "libcupti.so"
        with suppress(OSError, AttributeError):
            # Only the library that Proton has loaded; another copy would know nothing.
            loaded = ctypes.CDLL(str(library), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            flush = loaded.cuptiActivityFlushAll
            flush.argtypes, flush.restype = [ctypes.c_uint32], ctypes.c_int
            return lambda: flush(0)
    return None
