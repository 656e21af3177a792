"""From float32 sums to rows of y."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _swiglu(
    pairs: tl.tensor, alpha: tl.tensor, limit: tl.tensor, offset: tl.tensor, LIMITED: tl.constexpr
) -> tl.tensor:
    """Halve (n, m) to (n / 2, m): neighbours along n are gate and linear part."""
    half: tl.constexpr = pairs.shape[0] // 2
    gate, linear = tl.split(pairs.reshape(half, 2, pairs.shape[1]).trans(0, 2, 1))
    if LIMITED:
        gate = tl.minimum(gate, limit)
        linear = tl.maximum(tl.minimum(linear, limit), -limit)
    return gate / (1.0 + tl.exp(-alpha * gate)) * (linear + offset)


@triton.jit
def _rounded(values: tl.tensor) -> tl.tensor:
    """Round to the nearest float32 that bfloat16 holds; a conversion that truncates keeps it."""
    bits = values.to(tl.int32, bitcast=True)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -0x10000
    return tl.where(values == values, bits.to(tl.float32, bitcast=True), values)


@triton.jit
def store_tile(
    sums: tl.tensor,
    output_scale: tl.tensor,
    y_ptr: tl.tensor,
    bias_ptr: tl.tensor,
    scatter_ptr: tl.tensor,
    row: tl.tensor,
    mask_m: tl.tensor,
    rows: tl.tensor,
    n_first: tl.tensor,
    N: tl.tensor,
    bias_first: tl.tensor,
    alpha: tl.tensor,
    limit: tl.tensor,
    offset: tl.tensor,
    SWIGLU: tl.constexpr,
    LIMITED: tl.constexpr,
    TRUNCATES: tl.constexpr,
) -> None:
    """Scale, add the bias, activate, round and store (n, m) sums as rows of y.

    ``row`` is each column's place in the grouped order, ``bias_first`` where the expert's bias
    starts. ``TRUNCATES`` says that conversions to bfloat16 do, as Triton's interpreter's do.
    """
    n = n_first + tl.arange(0, sums.shape[0])
    result = sums * output_scale
    if bias_ptr is not None:
        bias = tl.load(bias_ptr + bias_first + n, mask=n < N, other=0.0).to(tl.float32)
        result += bias[:, None]
    columns = N
    if SWIGLU:
        result = _swiglu(result, alpha, limit, offset, LIMITED)
        columns = N // 2
        n = n_first // 2 + tl.arange(0, sums.shape[0] // 2)
    target = row.to(tl.int64)
    if scatter_ptr is not None:
        target = tl.load(scatter_ptr + row, mask=mask_m, other=0).to(tl.int64)
        mask_m = mask_m & (target >= 0) & (target < rows)
    places = y_ptr + target[None, :] * columns + n[:, None]
    mask = mask_m[None, :] & (n < columns)[:, None]
    if TRUNCATES and y_ptr.dtype.element_ty == tl.bfloat16:
        result = _rounded(result)
    tl.store(places, result.to(y_ptr.dtype.element_ty), mask=mask)
