"""Some calls of a variant as one CUDA graph."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from protonlab.errors import CaptureError

# Nodes cost memory and time to instantiate.
_MOST_CALLS = 200
_REPLAY_NS = 1e6


def calls_in_graph(time_ns: float) -> int:
    """How many calls one graph holds: about 1 ms, so that the host is never waited for."""
    return max(1, min(_MOST_CALLS, round(_REPLAY_NS / max(time_ns, 1.0))))


def captured(call: Callable[[], Any], calls: int) -> torch.cuda.CUDAGraph | str:
    """Capture some calls; the reason as text where that fails.

    Python's collector stays off meanwhile: it may unload a kernel's module, which would break the
    capture.

    Raises
    ------
    CaptureError
        If the GPU cannot be used any more behind a capture that failed.
    """
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    stream = torch.cuda.current_stream()
    collects = gc.isenabled()
    gc.disable()
    try:
        # Other threads, such as a notebook's, may use CUDA meanwhile.
        with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            for _ in range(calls):
                call()
    except Exception as error:
        reason = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        try:
            torch.cuda.synchronize()
            torch.cuda.set_stream(stream)
            _heal(pool)
        except RuntimeError as broken:
            raise CaptureError(
                f"the GPU cannot be used behind a capture that failed ({reason}); restart the "
                "kernel and measure with protocol='burst', which captures nothing"
            ) from broken
        return reason
    finally:
        if collects:
            gc.enable()
    return graph


def _heal(pool: Any) -> None:
    """End what torch leaves open behind a capture that failed.

    The allocator believes that the capture goes on, and frees nothing any more; random numbers
    stay in the capture's state until another one has ended.
    """
    with suppress(RuntimeError):  # torch may have ended it
        torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)
    number = torch.zeros(1, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="thread_local"):
        number.add_(1)
    torch.cuda.synchronize()
