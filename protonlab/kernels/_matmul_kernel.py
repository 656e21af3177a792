"""The bodies of the matmul in plain Triton: persistent or not, loops flattened or not."""

from __future__ import annotations

import triton
import triton.language as tl

from protonlab.kernels._epilogue import store_tile
from protonlab.kernels._launch_metadata import matmul_metadata, sum_metadata
from protonlab.kernels._tile import tile_fast, tile_plain


@triton.jit
def _awaited(sums: tl.tensor) -> tl.tensor:
    """Use the sums, so that the product that they come from is waited for.

    Triton 3.9 leaves the last product of a step running into the next one and does not keep the
    registers of its left operand, the dequantised weight. ptxas 13.0 gives them to the next tile
    while the tensor cores still read them; seen on an H200 as wrong values and NaN.
    """
    return tl.inline_asm_elementwise(
        "// $0", "=f,0", [sums], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def _dot(
    w: tl.tensor, x: tl.tensor, sums: tl.tensor, SPLIT_X: tl.constexpr, WIDE_DOT: tl.constexpr
) -> tl.tensor:
    """Add w (n, k) times x (m, k) transposed."""
    if WIDE_DOT:
        sums = tl.dot(w.to(tl.float32), x.to(tl.float32).T, sums)
    elif SPLIT_X:  # float16 is the exact sum of two bfloat16
        wide = x.to(tl.float32)
        high = wide.to(tl.bfloat16)
        low = tl.where(tl.abs(wide) < float("inf"), wide - high.to(tl.float32), 0.0)
        sums = tl.dot(w, high.T, sums)
        sums = tl.dot(w, low.to(tl.bfloat16).T, sums)
    else:
        sums = tl.dot(w, x.T, sums)
    return sums


@triton.jit(
    launch_metadata=matmul_metadata,
    do_not_specialize=["x_rows", "rows", "experts", "n_bytes"],
)
def matmul_kernel(
    x_ptr: tl.tensor,
    w_ptr: tl.tensor,
    scales_ptr: tl.tensor,
    y_ptr: tl.tensor,
    parts_ptr: tl.tensor,
    bias_ptr: tl.tensor,
    gather_ptr: tl.tensor,
    scatter_ptr: tl.tensor,
    blocks_ptr: tl.tensor,
    stats_ptr: tl.tensor,
    x_rows: tl.tensor,
    rows: tl.tensor,
    experts: tl.tensor,
    N: tl.tensor,
    stride_x: tl.tensor,
    stride_w_expert: tl.tensor,
    stride_w_n: tl.tensor,
    stride_bias: tl.tensor,
    n_bytes: tl.tensor,
    output_scale: tl.tensor,
    alpha: tl.tensor,
    limit: tl.tensor,
    offset: tl.tensor,
    K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT_K: tl.constexpr,
    NUM_STAGES: tl.constexpr,
    PERSISTENT: tl.constexpr,
    FLATTEN_LOOPS: tl.constexpr,
    WARP_SPECIALIZE: tl.constexpr,
    PACKED: tl.constexpr,
    ASSEMBLY: tl.constexpr,
    UNDO: tl.constexpr,
    SPLIT_X: tl.constexpr,
    WIDE_DOT: tl.constexpr,
    SWIGLU: tl.constexpr,
    LIMITED: tl.constexpr,
) -> None:
    """Compute y = x @ w.T for blocks of rows: tiles of BLOCK_N weight rows by BLOCK_M of x.

    The product is computed transposed, because the dequantised weight is in registers and only
    the left operand of the tensor cores may be.
    """
    STEPS: tl.constexpr = (K + BLOCK_K - 1) // BLOCK_K
    PART: tl.constexpr = (STEPS + SPLIT_K - 1) // SPLIT_K
    TILE: tl.constexpr = BLOCK_N * BLOCK_K
    tiles_n = tl.cdiv(N, BLOCK_N)
    n_blocks = tl.cdiv(rows, BLOCK_M) if blocks_ptr is None else tl.load(stats_ptr).to(tl.int32)
    tiles = n_blocks * tiles_n * SPLIT_K
    start = tl.program_id(0)
    if PERSISTENT:
        stop = tiles
        stride = tl.num_programs(0)
    else:
        if start >= tiles:
            return
        stop = start + 1
        stride = 1
    m = tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_K)
    for tile in tl.range(
        start, stop, stride, flatten=FLATTEN_LOOPS, warp_specialize=WARP_SPECIALIZE
    ):
        tile_n = tile % tiles_n
        block = tile // tiles_n
        if SPLIT_K > 1:
            part = block % SPLIT_K
            block = block // SPLIT_K
            first_step = part * PART
            steps = tl.minimum(PART, STEPS - first_step)
        else:
            first_step = 0
            steps = STEPS
        if blocks_ptr is None:
            expert = tl.zeros((), tl.int64)
            first = block * BLOCK_M
            size = rows - first
        else:
            expert = tl.load(blocks_ptr + block * 4).to(tl.int64)
            first = tl.load(blocks_ptr + block * 4 + 1)
            size = tl.load(blocks_ptr + block * 4 + 2)
        row = first + m
        mask_m = m < size
        x_row = row.to(tl.int64)
        mask_x = mask_m
        if gather_ptr is not None:
            x_row = tl.load(gather_ptr + row, mask=mask_m, other=0).to(tl.int64)
            mask_x = mask_m & (x_row >= 0) & (x_row < x_rows)
        x_places = x_ptr + x_row[:, None] * stride_x + (first_step * BLOCK_K + k)[None, :]
        if PACKED:
            index = (expert * tiles_n + tile_n) * STEPS + first_step
            WORDS: tl.constexpr = TILE // 2 if ASSEMBLY else TILE // 8
            w_places = w_ptr + index * WORDS + tl.arange(0, WORDS)
            scale_places = scales_ptr + index * (TILE // 32) + tl.arange(0, TILE // 32)
        else:
            n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
            w_places = w_ptr + expert * stride_w_expert + n.to(tl.int64)[:, None] * stride_w_n
            w_places += (first_step * BLOCK_K + k)[None, :]
            mask_n = n < N
        sums = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
        for step in tl.range(0, steps, num_stages=NUM_STAGES):
            if K % BLOCK_K == 0:
                x = tl.load(x_places, mask=mask_x[:, None], other=0.0)
            else:
                mask_k = k < K - (first_step + step) * BLOCK_K
                x = tl.load(x_places, mask=mask_x[:, None] & mask_k[None, :], other=0.0)
            if PACKED:
                values = tl.load(w_places)
                scales = tl.load(scale_places)
                w = tile_fast(values, scales) if ASSEMBLY else tile_plain(values, scales, UNDO)
                w_places += WORDS
                scale_places += TILE // 32
            else:
                if K % BLOCK_K == 0:
                    w = tl.load(w_places, mask=mask_n[:, None], other=0.0)
                else:
                    w = tl.load(w_places, mask=mask_n[:, None] & mask_k[None, :], other=0.0)
                w_places += BLOCK_K
            sums = _dot(w, x, sums, SPLIT_X, WIDE_DOT)
            if PACKED and not WIDE_DOT:
                sums = _awaited(sums)
            x_places += BLOCK_K
        if SPLIT_K > 1:
            n_all = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
            line = (part * rows + row).to(tl.int64)
            places = parts_ptr + line[None, :] * N + n_all[:, None]
            tl.store(places, sums, mask=mask_m[None, :] & (n_all < N)[:, None])
        else:
            store_tile(
                sums,
                output_scale,
                y_ptr,
                bias_ptr,
                scatter_ptr,
                row,
                mask_m,
                rows,
                tile_n * BLOCK_N,
                N,
                expert * stride_bias,
                alpha,
                limit,
                offset,
                SWIGLU,
                LIMITED,
                WIDE_DOT,
            )


@triton.jit(launch_metadata=sum_metadata, do_not_specialize=["rows"])
def sum_parts_kernel(
    parts_ptr: tl.tensor,
    y_ptr: tl.tensor,
    bias_ptr: tl.tensor,
    rows: tl.tensor,
    N: tl.tensor,
    output_scale: tl.tensor,
    alpha: tl.tensor,
    limit: tl.tensor,
    offset: tl.tensor,
    SPLIT_K: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    SWIGLU: tl.constexpr,
    LIMITED: tl.constexpr,
    TRUNCATES: tl.constexpr,
) -> None:
    """Sum the parts of K in order, so that two runs give the same bits, and finish y."""
    n_first = tl.program_id(1) * BLOCK_N
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = n_first + tl.arange(0, BLOCK_N)
    mask_m = row < rows
    mask = mask_m[None, :] & (n < N)[:, None]
    sums = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for part in tl.static_range(SPLIT_K):
        line = (part * rows + row).to(tl.int64)
        sums += tl.load(parts_ptr + line[None, :] * N + n[:, None], mask=mask, other=0.0)
    store_tile(
        sums,
        output_scale,
        y_ptr,
        bias_ptr,
        None,
        row,
        mask_m,
        rows,
        n_first,
        N,
        0,
        alpha,
        limit,
        offset,
        SWIGLU,
        LIMITED,
        TRUNCATES,
    )
