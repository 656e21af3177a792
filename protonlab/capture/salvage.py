"""What can still be read of a session whose GPU does not come to rest.

A rank whose peer died waits in a collective for ever. Whatever synchronises would wait with it, so
neither the session nor Proton is ended: phases that Proton calls complete are read where they are.
The process is about to go.
"""

from __future__ import annotations

from protonlab.capture import _proton
from protonlab.capture._part import LEFT_OUT, Part
from protonlab.capture._phases import cupti_flush
from protonlab.capture._recording import Recording
from protonlab.errors import CaptureError


def complete_parts(recording: Recording) -> list[Part]:
    """Read the repeats that are complete, without waiting for the GPU; the session lives on.

    Raises
    ------
    CaptureError
        If nothing can be read of it before its end.
    """
    proton = _proton.require()
    if not proton.has_phases or recording.words.data != "tree":
        raise CaptureError(
            "the GPU did not come to rest, and nothing can be read before: that needs "
            "data=tree and Triton 3.7 or later"
        )
    flush = cupti_flush(proton)
    if flush is not None:
        flush()
    parts = []
    for phase, repeat in recording.ended_phases():
        if repeat not in (None, LEFT_OUT) and proton.libproton.is_data_phase_complete(
            recording.id, phase
        ):
            parts.append(Part(proton.libproton.get_data_msgpack(recording.id, phase), repeat))
    if not parts:
        raise CaptureError("the GPU did not come to rest, and no step had ended by then")
    return parts
