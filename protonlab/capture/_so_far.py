"""What a session has recorded so far, read while it records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from protonlab.capture import _proton
from protonlab.capture._failures import explain
from protonlab.capture._part import Part
from protonlab.capture._phases import Phases
from protonlab.capture._recording import Recording
from protonlab.errors import CaptureError
from protonlab.formats import read_profile
from protonlab.model import Profile
from protonlab.model.merging import merged

if TYPE_CHECKING:
    from protonlab.capture._hook_session import HookSession
    from protonlab.capture._reading import Source


class SoFar:
    """Reads complete phases of one recording and adds them up.

    Attributes
    ----------
    lock
        Held while reading; whoever ends the recording takes it, so that no reading outlives it.
    settled
        Sum of the phases that Proton has let go of, as trees say it; None when there are none.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.settled: Profile | None = None
        self._phases: Phases | None = None

    def read(
        self, recording: Recording | None, seen: HookSession | None, source: Callable[[], Source]
    ) -> list[Part]:
        """Read what is complete; `settled` takes some of it, the rest is given back.

        Parameters
        ----------
        recording
            Of the session; None when it does not record.
        seen
            What its launch hook sees.
        source
            Gives the session's `Source` as it is now.

        Raises
        ------
        CaptureError
            If this recording cannot be read before its end; the message says why.
        """
        if recording is None or seen is None:
            raise CaptureError("the session does not record, so nothing can be read of it")
        reason = why_unreadable(recording)
        if reason:
            raise CaptureError(f"{reason}; the profile is there after the session")
        if self._phases is None:
            self._phases = Phases(_proton.require(), recording.id, seen.between)
        try:
            settled, recent = self._phases.read()
        except Exception as error:
            raise CaptureError(explain(error)) from error
        recording.first_phase = self._phases.first
        if settled:
            info = source().info
            trees = [read_profile(data, info=info) for data in settled]
            known = [] if self.settled is None else [self.settled]
            self.settled = merged([(None, each) for each in (*known, *trees)])
        return [Part(data) for data in recent]


def why_unreadable(recording: Recording) -> str:
    """Say why a recording can be read at its end only; empty when it can be read before."""
    proton, words = _proton.require(), recording.words
    if not proton.has_phases:
        return (
            "reading a session while it records needs Triton 3.7 or later, and this is "
            f"{proton.version}"
        )
    if words.data != "tree":
        return f"data={words.data} is read at the end"
    if words.mode is not None and words.mode.name == "periodic_flushing":
        return f"mode={words.mode} writes its own files"
    return "repeats are read at the end" if recording.has_repeats else ""
