"""Rows of x in the order of experts, for an engine whose loads cannot follow indices."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

_BLOCK = 1024


def gather_metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    """Describe a launch to Proton. Its bytes are extra work, none of the matmul's model."""
    rows, k = args["rows"], args["k"]
    return {"name": f"moe_gather [{rows}x{k}]", "bytes": 4 * rows * k, "n_tokens": 0}


@triton.jit(launch_metadata=gather_metadata, do_not_specialize=["x_rows", "rows", "k", "stride"])
def gather_kernel(
    x_ptr: tl.tensor,
    gather_ptr: tl.tensor,
    out_ptr: tl.tensor,
    x_rows: tl.tensor,
    rows: tl.tensor,
    k: tl.tensor,
    stride: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:
    """Copy a part of one row, or zeros where the index is outside of x."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    source = tl.load(gather_ptr + row).to(tl.int64)
    end = tl.where((source >= 0) & (source < x_rows), k, 0)
    values = tl.load(x_ptr + source * stride + column, mask=column < end, other=0.0)
    tl.store(out_ptr + row * k + column, values, mask=column < k)


def gathered(x: torch.Tensor, gather: torch.Tensor) -> torch.Tensor:
    """Give ``x[gather]``, with rows of zeros for indices outside of x."""
    rows, k = len(gather), x.shape[1]
    out = torch.empty(rows, k, dtype=x.dtype, device=x.device)
    gather_kernel[(rows, triton.cdiv(k, _BLOCK))](
        x, gather, out, x.shape[0], rows, k, x.stride(0), BLOCK=_BLOCK
    )
    return out
