"""Kernels for the tests of this room, and short measurements of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

from protonlab import compare_variants
from protonlab.capture import device
from protonlab.experiment import Measurement

BLOCK = 64
ON_CPU = device() == "cpu"
# Budget of a comparison that has an interval; on a GPU that takes two rounds, each made anew.
SHORT_S = 0.2 if ON_CPU else 2.0


def scale_metadata(grid: Any, metadata: Any, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"scale [n={args['n']}]", "bytes": 8 * args["n"], "n_tokens": args["n"] // 4}


@triton.jit(launch_metadata=scale_metadata)
def scale_kernel(x_ptr, out_ptr, n, by, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, by * x, mask=offs < n)


@triton.jit(launch_metadata=lambda grid, metadata, args: {"bytes": 0})
def nothing_kernel(x_ptr, out_ptr, n, by, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, by * x, mask=offs < n)


@triton.jit
def silent_kernel(x_ptr, out_ptr, n, by, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, by * x, mask=offs < n)


def scale(
    by: float = 2.0, n: int = 128, times: int = 1, kernel: Any = scale_kernel
) -> torch.Tensor:
    """Multiply 0, 1, … by a number, in so many launches of the same."""
    x = torch.arange(n, device=device(), dtype=torch.float32)
    out = torch.empty_like(x)
    for _ in range(times):
        kernel[(triton.cdiv(n, BLOCK),)](x, out, n, by, SIZE=BLOCK)
    return out


def silent(by: float = 2.0, n: int = 128) -> torch.Tensor:
    return scale(by, n, kernel=silent_kernel)


def quick(
    first: Callable[[], Any] = scale, second: Callable[[], Any] = scale, **options: Any
) -> Any:
    """Compare two variants within a third of a second."""
    return compare_variants({"one": first, "two": second}, **({"budget_s": 0.3} | options))


def run(measurement: Measurement) -> None:
    """Measure to the end."""
    with measurement:
        while not measurement.done:
            measurement.step()
