"""How the GPU benchmarks measure: burst and sustained, with clock and power, against ceilings.

Work is captured in a CUDA graph, so that no host is in the numbers. ``burst`` is the mean of 20
replays after 0.25 s of rest. ``sustained`` is the median of three windows of 0.12 s, after 0.2 s of
the same work: by then the GPU is at its power cap, if the work is heavy enough to get there. Clock
and power are what NVML says in the middle of that window.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pynvml
import torch
import triton
import triton.language as tl

REST, WARM, WINDOW, WINDOWS, BURST = 0.25, 0.2, 0.12, 3, 20


@dataclasses.dataclass(frozen=True)
class Timing:
    """Microseconds a call, and SM clock and power while it went on."""

    burst_us: float
    sustained_us: float
    spread_us: float
    mhz: int
    watts: int

    def rate(self, amount: float) -> float:
        """Amount a nanosecond, sustained: GB/s of bytes, TFLOP/s of flops / 1000."""
        return amount / self.sustained_us / 1e3

    def burst_rate(self, amount: float) -> float:
        """Amount a nanosecond, in a burst."""
        return amount / self.burst_us / 1e3


def measure(work: Callable[[], Any], *, times: int = 1) -> Timing:
    """Measure work that can be captured; a call is one of the `times` calls that it holds."""
    work()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    time.sleep(REST)
    _window(graph, 3)
    burst, *_ = _window(graph, BURST)
    _window(graph, max(2, int(WARM * 1e6 / burst)))
    count = max(2, int(WINDOW * 1e6 / burst))
    windows = sorted(_window(graph, count, watch=True) for _ in range(WINDOWS))
    sustained, mhz, watts = windows[WINDOWS // 2]
    spread = windows[-1][0] - windows[0][0]
    return Timing(burst / times, sustained / times, spread / times, mhz, watts)


def _window(graph: torch.cuda.CUDAGraph, count: int, *, watch: bool = False) -> tuple[Any, ...]:
    """Replay, and give microseconds a replay, MHz and watts."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        graph.replay()
    end.record()
    seen = (0, 0)
    if watch:
        time.sleep(WINDOW / 2)
        gpu = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        clock = pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)
        seen = (clock, round(pynvml.nvmlDeviceGetPowerUsage(gpu) / 1e3))
    end.synchronize()
    return (start.elapsed_time(end) * 1e3 / count, *seen)


@triton.jit
def loads_only_kernel(w_ptr, out_ptr, tiles, STEPS: tl.constexpr, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    """Read what a matmul reads of its weights, 16 KB a step, and do nothing with it."""
    seen = tl.zeros((BLOCK,), tl.int32)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        at = w_ptr + tile.to(tl.int64) * STEPS * BLOCK + tl.arange(0, BLOCK)
        for step in tl.range(0, STEPS, num_stages=4):
            seen ^= tl.load(at + step * BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), seen)


def ceilings(n_bytes: int) -> dict[str, Any]:
    """Measure a copy (read and written bytes) and loads alone, over so many bytes."""
    block, steps, programs = 4096, 45, 3 * 132
    tiles = n_bytes // (4 * block * steps)
    words = torch.randint(
        -(2**31), 2**31 - 1, (tiles * steps * block,), dtype=torch.int32, device="cuda"
    )
    out = torch.empty(programs * block, dtype=torch.int32, device="cuda")
    half = words[: words.numel() // 2]
    copy = torch.empty_like(half)
    results = {}
    for name, work in (
        ("copy", lambda: copy.copy_(half)),
        (
            "loads only",
            lambda: loads_only_kernel[(programs,)](words, out, tiles, STEPS=steps, BLOCK=block),
        ),
    ):
        timing = measure(work)
        moved = 4 * words.numel()
        results[name] = {
            "gbytes_per_s": timing.rate(moved),
            "gbytes_per_s_burst": timing.burst_rate(moved),
            **dataclasses.asdict(timing),
        }
    return results


def machine() -> dict[str, Any]:
    """Describe what the numbers were measured on."""
    pynvml.nvmlInit()
    driver = pynvml.nvmlSystemGetDriverVersion()
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": driver if isinstance(driver, str) else driver.decode(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "protocol": " ".join((__doc__ or "").split()),
    }
