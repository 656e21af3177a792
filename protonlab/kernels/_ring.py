"""A ring of stages in shared memory, and the warp that keeps it full through TMA."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

TILE_BYTES = gl.constexpr(8192 + 512)  # codes and scales of 128 rows x 128 columns

# Rows of x are read through a descriptor that ends where an expert's rows end, so that what lies
# behind them arrives as zeros: a dimension of this length, entered so far from its end that only
# the expert's rows are inside. Addresses wrap around 64 bits to where they should be.
RAGGED_END = gl.constexpr(0x40000000)


@gluon.aggregate
class Tile:
    """What a program computes at a time: a block's rows, times STRIPS tiles, over a part of K."""

    expert: gl.tensor
    strip: gl.tensor
    first_row: gl.tensor
    rows: gl.tensor
    part: gl.tensor
    first_step: gl.tensor
    end_step: gl.tensor


@gluon.aggregate
class Work:
    """The tiles of a launch. Those of a block lie side by side, for L2."""

    blocks: gl.tensor
    rows: gl.tensor
    tiles: gl.tensor
    row_tiles: gl.tensor
    steps: gl.tensor
    parts: gl.tensor
    STRIPS: gl.constexpr
    ROWS: gl.constexpr
    HAS_BLOCKS: gl.constexpr

    @gluon.jit
    def tile(self, index: gl.tensor) -> gl.tensor:
        """Look up a tile."""
        part = index % self.parts
        groups = (self.row_tiles + self.STRIPS - 1) // self.STRIPS
        block = index // self.parts // groups
        strip = index // self.parts % groups * self.STRIPS
        if self.HAS_BLOCKS:
            expert = gl.load(self.blocks + block * 4)
            first_row = gl.load(self.blocks + block * 4 + 1)
            rows = gl.load(self.blocks + block * 4 + 2)
        else:
            expert = gl.to_tensor(0)
            first_row = block * self.ROWS
            rows = gl.minimum(self.ROWS, self.rows - first_row)
        steps = (self.steps + self.parts - 1) // self.parts
        first_step = part * steps
        end_step = gl.minimum(first_step + steps, self.steps)
        return Tile(  # type: ignore[call-arg]
            expert, strip, first_row, rows, part, first_step, end_step
        )


@gluon.aggregate
class Ring:
    """Stages of 128 columns: x twice 64, as HEAD and TAIL rows, and STRIPS tiles of the weight."""

    heads: gl.shared_memory_descriptor
    tails: gl.shared_memory_descriptor
    words: gl.shared_memory_descriptor
    scales: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    HEAD: gl.constexpr
    TAIL: gl.constexpr
    STRIPS: gl.constexpr
    STAGES: gl.constexpr


@gluon.jit
def make_ring(
    x_head: gl.tensor,
    x_tail: gl.tensor,
    words: gl.tensor,
    scales: gl.tensor,
    HEAD: gl.constexpr,
    TAIL: gl.constexpr,
    STRIPS: gl.constexpr,
    STAGES: gl.constexpr,
) -> gl.tensor:
    """Take shared memory for a ring, and set up its barriers."""
    heads = gl.allocate_shared_memory(gl.bfloat16, [2 * STAGES, 1, 1, HEAD, 64], x_head.layout)
    if TAIL > 0:
        tails = gl.allocate_shared_memory(gl.bfloat16, [2 * STAGES, 1, 1, TAIL, 64], x_tail.layout)
    else:
        tails = heads
    w = gl.allocate_shared_memory(gl.int32, [STAGES * STRIPS, 8, 256], words.layout)
    s = gl.allocate_shared_memory(gl.int32, [STAGES * STRIPS, 2, 64], scales.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    return Ring(heads, tails, w, s, full, empty, HEAD, TAIL, STRIPS, STAGES)  # type: ignore[call-arg]


@gluon.jit
def load_rows(
    x: gl.tensor,
    first_row: gl.tensor,
    rows: gl.tensor,
    skipped: gl.constexpr,
    column: gl.tensor,
    barrier: gl.tensor,
    target: gl.tensor,
) -> None:
    """Fetch 64 columns of as many rows as x's box has, after `skipped` rows of the block."""
    where = [RAGGED_END, first_row + rows, RAGGED_END - rows + skipped, column]
    tma.async_load(x, where, barrier, target)


@gluon.jit
def produce(
    ring: gl.tensor,
    work: gl.tensor,
    x_head: gl.tensor,
    x_tail: gl.tensor,
    words: gl.tensor,
    scales: gl.tensor,
) -> None:
    """Fill the ring's stages, step after step and tile after tile."""
    stage_bytes: gl.constexpr = ring.STRIPS * TILE_BYTES + (ring.HEAD + ring.TAIL) * 256
    count = 0
    for index in range(gl.program_id(0), work.tiles, gl.num_programs(0)):
        tile = work.tile(index)
        first_row, rows = tile.first_row, tile.rows
        for step in range(tile.first_step, tile.end_step):
            stage = count % ring.STAGES
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), ((count // ring.STAGES) & 1) ^ 1)
            mbarrier.expect(full, stage_bytes)
            for half in gl.static_range(2):
                column = step * 128 + half * 64
                place = stage * 2 + half
                load_rows(x_head, first_row, rows, 0, column, full, ring.heads.index(place))
                if ring.TAIL > 0:
                    target = ring.tails.index(place)
                    load_rows(x_tail, first_row, rows, ring.HEAD, column, full, target)
            for r in gl.static_range(ring.STRIPS):
                # Past the last strip it is loaded again, and what becomes of it is not stored.
                row_tile = gl.minimum(tile.strip + r, work.row_tiles - 1)
                stored = (tile.expert * work.row_tiles + row_tile) * work.steps + step
                place = stage * ring.STRIPS + r
                tma.async_load(words, [stored * 8, 0], full, ring.words.index(place))
                tma.async_load(scales, [stored * 2, 0], full, ring.scales.index(place))
            count += 1
