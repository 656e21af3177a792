"""Whether this GPU and this Triton have the backend and the mode that a session asks for."""

from __future__ import annotations

from protonlab.capture import _proton
from protonlab.capture._privileges import why_no_sampling
from protonlab.capture.proton_words import CheckedWords
from protonlab.errors import CaptureError

_BACKENDS = {
    "cuda": ("cupti", "instrumentation"),
    "hip": ("rocprofiler", "roctracer", "instrumentation"),
}


def check_backend(words: CheckedWords) -> None:
    """Refuse what Proton would take and not do, or would refuse in words of its own.

    Raises
    ------
    CaptureError
        If there is no such backend or mode here, or no permission for it; with the next step.
    """
    proton, backend, mode = _proton.require(), words.backend, words.mode
    if backend is not None:
        fitting = _BACKENDS.get(target := proton.target(), proton.backends)
        legal = [each for each in fitting if each in proton.backends]
        if backend not in legal:
            raise CaptureError(
                f"backend={backend} does not exist for a {target} GPU under Triton "
                f"{proton.version}; use {' or '.join(legal)}, or leave it out"
            )
    if mode is None:
        return
    if mode.name == "periodic_flushing" and not proton.has_phases:
        raise CaptureError(
            f"mode={mode.name} needs Triton 3.7 or later; this is {proton.version}. Leave it "
            "out: the whole profile is then read at the end"
        )
    if mode.name == "pcsampling" and (reason := why_no_sampling()):
        raise CaptureError(reason)
