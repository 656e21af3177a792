"""A look at two variants before they are timed: do they run, agree, and what do they launch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from protonlab.capture import Session
from protonlab.errors import CaptureError
from protonlab.experiment._outputs import Outputs
from protonlab.experiment._variants import Variant
from protonlab.model import Profile

_PROFILED_S, _MOST_CALLS = 0.1, 5


def outputs_of(variant: Variant, setup: Callable[[], Any] | None) -> Outputs:
    """Call a variant for the first time, which may compile and tune, and keep what it returns."""
    if setup is not None:
        setup()
    returned = variant()
    try:
        synchronize()
        return Outputs(returned)
    except Exception as error:  # errors of its kernels show when they are waited for
        variant.blame(error)


def profiled(variant: Variant, setup: Callable[[], Any] | None) -> Profile:
    """Record some plain calls, each a repeat; launch metadata says what they do.

    Raises
    ------
    CaptureError
        If Proton cannot record.
    ProtonLabError
        If the variant launches no kernel.
    """
    if setup is not None:
        setup()
    start = time.perf_counter()
    variant()
    synchronize()
    took = max(time.perf_counter() - start, 1e-6)
    calls = max(1, min(_MOST_CALLS, round(_PROFILED_S / took)))
    with Session(variant.name) as session:
        for _ in session.repeats(calls):
            if setup is not None:
                with session.paused():
                    setup()
            variant()
    if session.problem is not None:
        raise CaptureError(session.problem)
    profile = session.profile
    if profile.kernels.empty:
        variant.launches_nothing()
    return profile


def here() -> AbstractContextManager[Any]:
    """Keep to the GPU that is current now, in whatever thread; enter it again and again."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return nullcontext()
    device: AbstractContextManager[Any] = torch.cuda.device(torch.cuda.current_device())
    return device


def synchronize() -> None:
    """Wait for the GPU, if there is one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
