"""Some calls of a variant as one CUDA graph."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from statistics import fmean
from typing import Any

import torch

from protonlab.errors import CaptureError

# Nodes cost memory and time to capture, and each round captures anew.
_MOST_CALLS = 100
_REPLAY_NS = 5e5
_ALIKE = 2  # times that are closer than this get graphs of the same number of calls
# Allocated in front of what a graph allocates, of torch's small blocks and of its large ones, so
# that no two graphs of the same calls find their memory alike.
_GAPS, _GAP_UNIT = ((1, 2**19), (2**20, 2**23)), 512


def calls_in_graphs(times_ns: Sequence[float]) -> list[int]:
    """How many calls the graph of each variant holds, from the time of one.

    About 0.5 ms, so that the host is never waited for, and as many of both where they are nearly
    alike: what a replay's start costs is then the same for both.
    """
    if max(times_ns) < _ALIKE * min(times_ns):
        times_ns = [fmean(times_ns)] * len(times_ns)
    return [max(1, min(_MOST_CALLS, round(_REPLAY_NS / max(each, 1.0)))) for each in times_ns]


def captured(call: Callable[[], Any], calls: int) -> torch.cuda.CUDAGraph | str:
    """Capture some calls; the reason as text where that fails.

    What they allocate lies at random places of the graph's memory: where an output lies can decide
    over some tenths of a percent of a short kernel's time.

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
            gaps = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in _gap_sizes()]
            for _ in range(calls):
                call()
            del gaps
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


def _gap_sizes() -> list[int]:
    """Draw the bytes to leave free; chance needs no seed, since physical memory has none."""
    draw = random.Random()
    return [draw.randrange(low, high, _GAP_UNIT) for low, high in _GAPS]


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
