"""Triton kernels that do nothing but move bytes: how fast memory can be read and copied."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Elements of 4 bytes a program, and its warps; the fastest is the roof.
SHAPES = ((4096, 4), (8192, 8), (16384, 8), (16384, 16))


@triton.jit  # type: ignore[untyped-decorator]
def _read_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    start = tl.program_id(0).to(tl.int64) * BLOCK
    values = tl.load(x_ptr + start + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(values, 0))


@triton.jit  # type: ignore[untyped-decorator]
def _copy_kernel(x_ptr: tl.tensor, y_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))


def read(x: torch.Tensor, out: torch.Tensor, block: int, warps: int) -> None:
    """Read an int32 tensor whose length is a multiple of `block`; one sum a block goes to `out`."""
    kernel: Any = _read_kernel
    kernel[(x.numel() // block,)](x, out, BLOCK=block, num_warps=warps)


def copy(x: torch.Tensor, y: torch.Tensor, block: int, warps: int) -> None:
    """Copy an int32 tensor whose length is a multiple of `block`."""
    kernel: Any = _copy_kernel
    kernel[(x.numel() // block,)](x, y, BLOCK=block, num_warps=warps)
