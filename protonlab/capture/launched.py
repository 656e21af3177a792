"""Which compiled kernels a call launches, as Triton's own objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from protonlab.errors import CaptureError


def launched_kernels(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Call once, and give the compiled Triton kernels that it launched, each once, in order.

    Raises
    ------
    CaptureError
        If Triton's interpreter is on, which compiles nothing.
    """
    from triton.runtime import jit  # slow to import, and only this needs it

    if os.environ.get("TRITON_INTERPRET") == "1":
        raise CaptureError(
            "TRITON_INTERPRET=1 has kernels interpreted, and nothing is compiled; start the "
            "process without it, on a machine with a GPU"
        )
    found: dict[int, Any] = {}
    plain = jit.JITFunction.run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        kernel = plain(self, *args, **kwargs)
        if hasattr(kernel, "asm"):
            found.setdefault(id(kernel), kernel)
        return kernel

    jit.JITFunction.run = run
    try:
        call()
    finally:
        jit.JITFunction.run = plain
    return tuple(found.values())
