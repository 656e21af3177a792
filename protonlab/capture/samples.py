"""Times of samples by Proton, read while it records: one scope of Proton's a sample."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident

from protonlab.capture import _proton
from protonlab.capture._launch_record import Launch
from protonlab.capture._phases import cupti_flush
from protonlab.capture._platform import gpus_in_use
from protonlab.capture.session import Session
from protonlab.errors import CaptureError
from protonlab.formats import scope_sums
from protonlab.model.repeats import REPEAT_SCOPE
from protonlab.model.units import counted

# Phases that stay before they are cleared: libproton aborts when a launch writes to a cleared one.
_KEPT_PHASES = 8
_PATIENCE_S = 0.2


@dataclass(frozen=True)
class SampleTime:
    """What the kernels of one sample took.

    Parameters
    ----------
    time_ns
        Sum of their times.
    launches
        How many there were.
    """

    time_ns: float
    launches: int


class Samples:
    """One Proton session that times samples and evaluates no launch metadata.

    CUDA graphs that it is to see are captured after `start`.

    Attributes
    ----------
    problem
        Why it times nothing, as one sentence; None when it does.
    odd
        Of the last reading the sample in which Proton showed other launches than expected, how
        many, and how many were expected; None where there was none.
    """

    def __init__(self) -> None:
        self.odd: tuple[int, int, int] | None = None
        self.problem: str | None = "it has not been started"
        self._session = Session("samples", exclude=".*")
        self._first = self._current = 0

    def start(self) -> None:
        """Begin to record, if Proton can be read while it records; `problem` says so if not."""
        proton = _proton.require()
        if not proton.has_phases:
            self.problem = (
                f"Triton {proton.version} gives times at the end of a session only; 3.7 and later "
                "while it records"
            )
            return
        self._session.start(watched=True)
        self.problem = self._session.problem

    def stop(self) -> None:
        """Stop recording; may be called again."""
        self._session.stop()

    @property
    def _prefix(self) -> str:
        """Start of the names of scopes; trees of other sessions leave scopes of repeats out."""
        recording = self._session._recording
        return f"{REPEAT_SCOPE}samples{recording.id if recording else ''}:"

    @contextmanager
    def timed(self, sample: int) -> Iterator[None]:
        """Count what is launched inside towards a sample; may be entered often for each."""
        if self.problem is not None:
            yield
            return
        libproton, name = _proton.require().libproton, f"{self._prefix}{sample}"
        scope = libproton.record_scope()
        libproton.enter_scope(scope, name)
        try:
            yield
        finally:
            libproton.exit_scope(scope, name)

    @staticmethod
    @contextmanager
    def without_metadata() -> Iterator[None]:
        """Evaluate no launch metadata inside, whatever else records: in graphs it takes kernels."""
        thread = get_ident()
        was_in = thread in Launch.unrecorded
        Launch.unrecorded.add(thread)
        try:
            yield
        finally:
            if not was_in:
                Launch.unrecorded.discard(thread)

    def read(self, expected: Mapping[int, int]) -> dict[int, SampleTime]:
        """Wait for the GPU and give the samples since the last reading.

        Parameters
        ----------
        expected
            Launches that each sample should have. Where Proton shows others, `problem` and `odd`
            say so from here on.

        Returns
        -------
        dict
            By sample; empty where there is a problem.
        """
        self.odd = None
        if self.problem is not None:
            return {}
        for gpu in gpus_in_use():
            sys.modules["torch"].cuda.synchronize(gpu)
        try:
            found = self._read(expected)
        except CaptureError as error:
            self.problem = str(error)
            return {}
        for number, count in expected.items():
            shown = _launches(found, number)
            if shown != count:
                self.odd = number, shown, count
                shown_of_it = counted(shown, "launch", "launches")
                self.problem = f"Proton showed {shown_of_it} of a sample that should have {count:,}"
                return {}
        return found

    def _read(self, expected: Mapping[int, int]) -> dict[int, SampleTime]:
        """Read the current phase once all that is expected has come in, or time is up."""
        recording = self._session._recording
        if recording is None:
            raise CaptureError("Proton's session was ended by somebody else")
        proton, session = _proton.require(), recording.id
        flush = cupti_flush(proton) if gpus_in_use() else None
        phase = self._current
        end = time.monotonic() + _PATIENCE_S
        try:
            if flush is not None:
                flush()
            elif gpus_in_use():  # a CUPTI that cannot be found
                proton.profiler.deactivate(session, flushing=True)
                proton.profiler.activate(session)
            self._current = proton.libproton.advance_data_phase(session)
            while True:
                found = _times(proton.libproton.get_data_msgpack(session, phase), self._prefix)
                late = any(_launches(found, number) < count for number, count in expected.items())
                if not late or time.monotonic() > end:
                    break
                time.sleep(0.005)
                if flush is not None:
                    flush()
            while self._first < self._current - _KEPT_PHASES:
                proton.libproton.clear_data(session, self._first)
                self._first += 1
        except Exception as error:
            raise CaptureError(f"Proton could not be read: {error}") from error
        recording.first_phase = self._first
        return found


def _launches(found: Mapping[int, SampleTime], sample: int) -> int:
    return found[sample].launches if sample in found else 0


def _times(data: bytes, prefix: str) -> dict[int, SampleTime]:
    """Add up the kernels below each sample's scope."""
    return {
        int(name.removeprefix(prefix)): SampleTime(time_ns, launches)
        for name, (time_ns, launches) in scope_sums(data, prefix).items()
    }
