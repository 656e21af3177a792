"""The warps that dequantise strips of a weight and multiply them with the rows of a block."""

from __future__ import annotations

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from protonlab.kernels._operand import dequantise


@gluon.aggregate
class Output:
    """Where sums go, and what is done to them before; with SPLIT_K nothing, into parts of y."""

    y: gl.tensor
    bias: gl.tensor
    scatter: gl.tensor
    y_rows: gl.tensor
    N: gl.tensor
    bias_stride: gl.tensor
    scale: gl.tensor
    HAS_BIAS: gl.constexpr
    HAS_SCATTER: gl.constexpr
    SPLIT_K: gl.constexpr


@gluon.constexpr_function
def sums_layout(warps: int, rows: int) -> Any:
    """Lay out sums [128, rows] as a wgmma leaves them."""
    return gl.NVMMADistributedLayout([3, 0], [warps, 1], [16, rows, 16])


@gluon.jit
def zeros(STRIPS: gl.constexpr, ROWS: gl.constexpr, WARPS: gl.constexpr) -> gl.tensor:
    """Make the sums of each strip."""
    sums = ()
    for _ in gl.static_range(STRIPS):
        one = gl.full([128, ROWS], 0.0, gl.float32, sums_layout(WARPS, ROWS))
        sums += (one,)  # type: ignore[assignment]
    return sums


@gluon.jit
def store(
    out: gl.tensor,
    sums: gl.tensor,
    tile: gl.tensor,
    r: gl.constexpr,
    skipped: gl.constexpr,
    ROWS: gl.constexpr,
    WARPS: gl.constexpr,
) -> None:
    """Finish the sums of a strip and of the rows after `skipped` rows, and write them."""
    layout: gl.constexpr = sums_layout(WARPS, ROWS)
    n = (tile.strip + r) * 128 + gl.arange(0, 128, gl.SliceLayout(1, layout))
    m = skipped + gl.arange(0, ROWS, gl.SliceLayout(0, layout))
    inside = m < tile.rows
    row = (tile.first_row + m).to(gl.int64)
    if out.SPLIT_K:
        row += tile.part.to(gl.int64) * out.y_rows
        gl.store(
            out.y + row[None, :] * out.N + n[:, None],
            sums,
            mask=inside[None, :] & (n < out.N)[:, None],
        )
    else:
        values = sums * out.scale
        if out.HAS_BIAS:
            bias = out.bias + tile.expert.to(gl.int64) * out.bias_stride + n
            values += gl.load(bias, mask=n < out.N, other=0.0).to(gl.float32)[:, None]
        if out.HAS_SCATTER:
            row = gl.load(out.scatter + row, mask=inside, other=0).to(gl.int64)
            inside = inside & (row >= 0) & (row < out.y_rows)
        gl.store(
            out.y + row[None, :] * out.N + n[:, None],
            values.to(gl.bfloat16),
            mask=inside[None, :] & (n < out.N)[:, None],
        )


@gluon.jit
def consume(ring: gl.tensor, work: gl.tensor, out: gl.tensor, WARPS: gl.constexpr) -> None:
    """Compute tile after tile from the ring's stages.

    One strip's product is in flight while the next strip is dequantised; a wait for the product
    before it makes its registers free. The sums rotate through their tuple, one strip a turn,
    concatenated since the compiler knows no starred tuples.
    """
    HEAD: gl.constexpr = ring.HEAD
    TAIL: gl.constexpr = ring.TAIL
    STRIPS: gl.constexpr = ring.STRIPS
    operand: gl.constexpr = gl.DotOperandLayout(0, sums_layout(WARPS, HEAD), 2)
    tail_operand: gl.constexpr = gl.DotOperandLayout(0, sums_layout(WARPS, TAIL or 8), 2)
    count = 0
    for index in range(gl.program_id(0), work.tiles, gl.num_programs(0)):
        tile = work.tile(index)
        sums = zeros(STRIPS, HEAD, WARPS)
        tail_sums = zeros(STRIPS if TAIL > 0 else 0, TAIL or 8, WARPS)
        in_flight = gl.full([128, 64], 0.0, gl.bfloat16, operand)
        for step in range(tile.first_step, tile.end_step):
            stage = count % ring.STAGES
            mbarrier.wait(ring.full.index(stage), (count // ring.STAGES) & 1)
            for half in gl.static_range(2):
                x = ring.heads.index(stage * 2 + half).reshape([HEAD, 64]).permute((1, 0))
                for r in gl.static_range(STRIPS):
                    words = ring.words.index(stage * STRIPS + r).slice(half * 4, 4, dim=0)
                    scales = ring.scales.index(stage * STRIPS + r).slice(half, 1, dim=0)
                    a = dequantise(words, scales, operand, WARPS)
                    sum_ = warpgroup_mma(a, x, sums[0], is_async=True)
                    if TAIL > 0:
                        rest = ring.tails.index(stage * 2 + half).reshape([TAIL, 64])
                        same = gl.convert_layout(a, tail_operand, assert_trivial=True)
                        tail_sum = warpgroup_mma(
                            same, rest.permute((1, 0)), tail_sums[0], is_async=True
                        )
                        sum_, tail_sum, in_flight = warpgroup_mma_wait(
                            2, deps=[sum_, tail_sum, in_flight]
                        )
                        tail_sums = tail_sums[1:] + (tail_sum,)  # noqa: RUF005
                    else:
                        sum_, in_flight = warpgroup_mma_wait(1, deps=[sum_, in_flight])
                    sums = sums[1:] + (sum_,)  # noqa: RUF005
                    in_flight = a
                    if half == 0 and r == 0:
                        # Nothing reads the stage before any more.
                        before = ring.empty.index((count + ring.STAGES - 1) % ring.STAGES)
                        mbarrier.arrive(before, count=1, pred=step > tile.first_step)
            count += 1
        done = warpgroup_mma_wait(0, deps=(in_flight,) + sums + tail_sums)  # noqa: RUF005
        mbarrier.arrive(ring.empty.index((count + ring.STAGES - 1) % ring.STAGES), count=1)
        for r in gl.static_range(STRIPS):
            store(out, done[1 + r], tile, r, 0, HEAD, WARPS)
            if TAIL > 0:
                store(out, done[1 + STRIPS + r], tile, r, HEAD, TAIL, WARPS)
