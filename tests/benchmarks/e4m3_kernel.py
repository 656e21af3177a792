"""The kernel of the e4m3 experiment; see `e4m3_matmul`."""

from __future__ import annotations

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

RAGGED_END = gl.constexpr(0x40000000)
ASM = gl.constexpr(
    """{
    .reg .b32 a, b;
    and.b32 $0, $2, 0x9C9C9C9C;
    shl.b32 a, $2, 2;
    shr.u32 b, $2, 2;
    and.b32 b, b, 0x10101010;
    lop3.b32 $1, a, 0x8C8C8C8C, b, 0xEA;
    }"""
)


@gluon.constexpr_function
def byte_layout() -> Any:
    """Spread the bytes of 128 rows x 64 columns, uint8 [16, 256], as `_operand` does words."""
    registers = [[0, 1], [0, 2], [0, 4], [0, 8], [8, 0]]
    lanes = [[0, 16], [0, 32], [0, 64], [0, 128], [1, 0]]
    return gl.DistributedLinearLayout(registers, lanes, [[2, 0], [4, 0]], [], [16, 256])


@gluon.constexpr_function
def scale_layout() -> Any:
    """Spread the scales of the same, int32 [1, 64]."""
    lanes = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]]
    return gl.DistributedLinearLayout([[0, 32]], lanes, [[0, 8], [0, 16]], [], [1, 64])


@gluon.constexpr_function
def sums_layout(rows: int) -> Any:
    """Lay out sums [128, rows] as a wgmma leaves them."""
    return gl.NVMMADistributedLayout([3, 0], [4, 1], [16, rows, 32])


@gluon.constexpr_function
def scale_asm(outputs: Any, inputs: Any) -> str:
    """Write PTX that turns bytes 2 * G0 + h of words into float32, for each G0 in order h, word."""
    (words,) = inputs
    lines = ["{", ".reg .b32 a;"]
    for half, word in enumerate(words):
        for group, out in enumerate(outputs):
            for h in range(2):
                byte = 2 * group + h
                shift = f"shl.b32 a, {word}, {23 - 8 * byte};"
                lines.append(shift if byte < 3 else f"shr.u32 a, {word}, 1;")
                lines += ["and.b32 a, a, 0x7F800000;", f"mov.b32 {out[2 * half + h]}, a;"]
    return "\n".join([*lines, "}"])


@gluon.jit
def operands(values: gl.tensor, operand: gl.constexpr) -> gl.tensor:
    """Turn 128 rows x 64 columns into two left operands of 32 columns."""
    first, second = gl.inline_asm_elementwise(
        ASM,
        "=r,=r,r",
        [values.load(byte_layout())],
        dtype=(gl.float8e4nv, gl.float8e4nv),
        is_pure=True,
        pack=4,
    )
    # strip, g2, g1 g0, t, G0, j1, (j0 e), h -> strip h g, j1 t (j0 e), G0
    both = gl.join(first, second).reshape([8, 2, 4, 4, 2, 2, 4, 2])
    both = both.permute((0, 7, 1, 2, 5, 3, 6, 4)).reshape([128, 32, 2])
    low, high = gl.split(both)
    return (
        gl.convert_layout(low, operand, assert_trivial=True),
        gl.convert_layout(high, operand, assert_trivial=True),
    )


@gluon.jit
def tile_of(index: gl.tensor, blocks: gl.tensor, row_tiles: gl.tensor, STRIPS: gl.constexpr):  # noqa: ANN201
    """Expert, first strip, first row, rows."""
    groups = (row_tiles + STRIPS - 1) // STRIPS
    block = blocks + index // groups * 4
    return gl.load(block), index % groups * STRIPS, gl.load(block + 1), gl.load(block + 2)


@gluon.jit
def produce(  # noqa: ANN201
    x, words, scales, blocks, tiles, row_tiles, steps, xs, ws, ss, full, empty,  # noqa: ANN001
    ROWS: gl.constexpr, STRIPS: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """Keep the ring full."""
    count = 0
    for index in range(gl.program_id(0), tiles, gl.num_programs(0)):
        expert, strip, first_row, rows = tile_of(index, blocks, row_tiles, STRIPS)
        for step in range(steps):
            stage = count % STAGES
            bar = full.index(stage)
            mbarrier.wait(empty.index(stage), ((count // STAGES) & 1) ^ 1)
            mbarrier.expect(bar, STRIPS * (8192 + 512) + ROWS * 256)
            where = [RAGGED_END, first_row + rows, step * 8, RAGGED_END - rows, 0]
            tma.async_load(x, where, bar, xs.index(stage))
            for r in gl.static_range(STRIPS):
                row_tile = gl.minimum(strip + r, row_tiles - 1)
                stored = (expert * row_tiles + row_tile) * steps + step
                tma.async_load(words, [stored * 32, 0], bar, ws.index(stage * STRIPS + r))
                tma.async_load(scales, [stored * 2, 0], bar, ss.index(stage * STRIPS + r))
            count += 1


@gluon.jit
def consume(  # noqa: ANN201
    y, row_scales, blocks, tiles, row_tiles, steps, N, scale, xs, ws, ss, full, empty,  # noqa: ANN001
    ROWS: gl.constexpr, STRIPS: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """Multiply; the sums of a half step are scaled and added while the next half is multiplied."""
    layout: gl.constexpr = sums_layout(ROWS)
    operand: gl.constexpr = gl.DotOperandLayout(0, layout, 4)
    scale_type: gl.constexpr = gl.distributed_type(gl.float32, [128], gl.SliceLayout(1, layout))
    x_layout: gl.constexpr = gl.NVMMASharedLayout(32, 8, 2)
    x = xs.reinterpret(gl.float8e4nv, [STAGES * 8, ROWS, 32], x_layout)
    zero = gl.full([128, ROWS], 0.0, gl.float32, layout)
    count = 0
    for index in range(gl.program_id(0), tiles, gl.num_programs(0)):
        _, strip, first_row, rows = tile_of(index, blocks, row_tiles, STRIPS)
        sums = ()
        for _ in gl.static_range(STRIPS):
            sums += (zero,)
        for _step in range(steps):
            stage = count % STAGES
            mbarrier.wait(full.index(stage), (count // STAGES) & 1)
            before = ()
            for half in gl.static_range(2):
                for r in gl.static_range(STRIPS):
                    values = ws.index(stage * STRIPS + r).slice(half * 16, 16, dim=0)
                    a0, a1 = operands(values, operand)
                    packed = ss.index(stage * STRIPS + r).slice(half, 1, dim=0).load(scale_layout())
                    s0, s1 = gl.inline_asm(
                        scale_asm, ("=f", "=f", "r"), [packed], (scale_type, scale_type), True
                    )
                    at = stage * 8 + half * 4  # group G0, then its two terms
                    d0 = warpgroup_mma(
                        a0, x.index(at).permute((1, 0)), zero, use_acc=False, is_async=True
                    )
                    d0 = warpgroup_mma(a0, x.index(at + 1).permute((1, 0)), d0, is_async=True)
                    d1 = warpgroup_mma(
                        a1, x.index(at + 2).permute((1, 0)), zero, use_acc=False, is_async=True
                    )
                    d1 = warpgroup_mma(a1, x.index(at + 3).permute((1, 0)), d1, is_async=True)
                    if half == 0 and r == 0:
                        sums = sums[1:] + (sums[0],)  # noqa: RUF005
                    else:
                        p0, p1 = warpgroup_mma_wait(4, deps=[before[0], before[1]])
                        last = sums[-1] + p0 * before[2][:, None] + p1 * before[3][:, None]
                        sums = sums[1:-1] + (last, sums[0])  # noqa: RUF005
                    before = (d0, d1, s0, s1)
            p0, p1 = warpgroup_mma_wait(0, deps=[before[0], before[1]])
            last = sums[-1] + p0 * before[2][:, None] + p1 * before[3][:, None]
            sums = sums[:-1] + (last,)  # noqa: RUF005
            mbarrier.arrive(empty.index(stage), count=1)
            count += 1
        m = gl.arange(0, ROWS, gl.SliceLayout(0, layout))
        inverse = gl.load(row_scales + first_row + m, mask=m < rows, other=0.0) * scale
        for r in gl.static_range(STRIPS):
            n = (strip + r) * 128 + gl.arange(0, 128, gl.SliceLayout(1, layout))
            places = y + (first_row + m).to(gl.int64)[None, :] * N + n[:, None]
            inside = (m < rows)[None, :] & (n < N)[:, None]
            gl.store(places, (sums[r] * inverse[None, :]).to(gl.bfloat16), mask=inside)


@gluon.jit(do_not_specialize=["row_tiles", "steps", "N"])
def e4m3_kernel(  # noqa: ANN201
    x, words, scales, y, row_scales, blocks, stats, row_tiles, steps, N, scale,  # noqa: ANN001
    ROWS: gl.constexpr, STRIPS: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    """Multiply blocks of at most ROWS rows. STRIPS is at least 2."""
    xs = gl.allocate_shared_memory(gl.float8e4nv, [STAGES, 1, 1, 8, ROWS, 32], x.layout)
    ws = gl.allocate_shared_memory(gl.uint8, [STAGES * STRIPS, 32, 256], words.layout)
    ss = gl.allocate_shared_memory(gl.int32, [STAGES * STRIPS, 2, 64], scales.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    tiles = gl.load(stats).to(gl.int32) * ((row_tiles + STRIPS - 1) // STRIPS)
    gl.warp_specialize(
        [
            (
                consume,
                (
                    y, row_scales, blocks, tiles, row_tiles, steps, N, scale,
                    xs, ws, ss, full, empty, ROWS, STRIPS, STAGES,
                ),
            ),
            (
                produce,
                (
                    x, words, scales, blocks, tiles, row_tiles, steps,
                    xs, ws, ss, full, empty, ROWS, STRIPS, STAGES,
                ),
            ),
        ],
        [1],
        [40],
    )  # fmt: skip
