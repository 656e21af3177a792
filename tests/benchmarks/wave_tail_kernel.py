"""The Gluon kernel of `protonlab.kernels`, with another order of tiles and hints to try.

Its parts are the package's own; what differs is which tiles a launch computes, and what L2 is told.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import CachePolicy, FractionalEvictionPolicy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from protonlab.kernels._ring import RAGGED_END, TILE_BYTES, Tile, make_ring
from protonlab.kernels._schedule import FIRST
from protonlab.kernels._strips import Output, consume

PRODUCER_REGISTERS = gl.constexpr(40)
FIRST_BLOCK = gl.constexpr(FIRST)
ONCE = gl.constexpr(CachePolicy(l2=FractionalEvictionPolicy("evict_first", 1.0)))
OFTEN = gl.constexpr(CachePolicy(l2=FractionalEvictionPolicy("evict_last", 1.0)))


@gluon.aggregate
class Share:
    """Tiles of a launch: WHOLE strips from a first one on, each cut into those of STRIPS strips."""

    blocks: gl.tensor
    first: gl.tensor
    tiles: gl.tensor
    row_tiles: gl.tensor
    steps: gl.tensor
    STRIPS: gl.constexpr
    WHOLE: gl.constexpr

    @gluon.jit
    def tile(self, index: gl.tensor) -> gl.tensor:
        """Look up a tile."""
        cuts: gl.constexpr = self.WHOLE // self.STRIPS
        whole = self.first + index // cuts
        groups = (self.row_tiles + self.WHOLE - 1) // self.WHOLE
        block = whole // groups
        strip = whole % groups * self.WHOLE + index % cuts * self.STRIPS
        expert = gl.load(self.blocks + block * 4)
        first_row = gl.load(self.blocks + block * 4 + 1)
        rows = gl.load(self.blocks + block * 4 + 2)
        zero = gl.to_tensor(0)
        return Tile(expert, strip, first_row, rows, zero, zero, self.steps)


@gluon.jit
def produce_hinted(
    ring: gl.tensor,
    work: gl.tensor,
    x_head: gl.tensor,
    x_tail: gl.tensor,
    words: gl.tensor,
    scales: gl.tensor,
    W_HINT: gl.constexpr,
    X_HINT: gl.constexpr,
) -> None:
    """Fill the ring's stages, as the package's kernel does."""
    stage_bytes: gl.constexpr = ring.STRIPS * TILE_BYTES + (ring.HEAD + ring.TAIL) * 256
    count = 0
    for index in range(gl.program_id(0), work.tiles, gl.num_programs(0)):
        tile = work.tile(index)
        end, inside = tile.first_row + tile.rows, RAGGED_END - tile.rows
        for step in range(tile.first_step, tile.end_step):
            stage = count % ring.STAGES
            full = ring.full.index(stage)
            mbarrier.wait(ring.empty.index(stage), ((count // ring.STAGES) & 1) ^ 1)
            mbarrier.expect(full, stage_bytes)
            for half in gl.static_range(2):
                column = step * 128 + half * 64
                place = stage * 2 + half
                target = ring.heads.index(place)
                where = [RAGGED_END, end, inside, column]
                tma.async_load(x_head, where, full, target, cache_policy=X_HINT)
                if ring.TAIL > 0:
                    target = ring.tails.index(place)
                    where = [RAGGED_END, end, inside + ring.HEAD, column]
                    tma.async_load(x_tail, where, full, target, cache_policy=X_HINT)
            for r in gl.static_range(ring.STRIPS):
                row_tile = gl.minimum(tile.strip + r, work.row_tiles - 1)
                stored = (tile.expert * work.row_tiles + row_tile) * work.steps + step
                place = stage * ring.STRIPS + r
                w, s = ring.words.index(place), ring.scales.index(place)
                tma.async_load(words, [stored * 8, 0], full, w, cache_policy=W_HINT)
                tma.async_load(scales, [stored * 2, 0], full, s, cache_policy=W_HINT)
            count += 1


@gluon.jit(
    do_not_specialize=[
        *("index", "rows", "row_tiles", "steps", "N", "scale", "wave", "kept"),
    ],
)
def share_kernel(
    x_head: gl.tensor,
    x_tail: gl.tensor,
    words: gl.tensor,
    scales: gl.tensor,
    y: gl.tensor,
    blocks: gl.tensor,
    stats: gl.tensor,
    index: gl.tensor,
    rows: gl.tensor,
    row_tiles: gl.tensor,
    steps: gl.tensor,
    N: gl.tensor,
    scale: gl.tensor,
    wave: gl.tensor,
    kept: gl.tensor,
    PART: gl.constexpr,
    WHOLE: gl.constexpr,
    HEAD: gl.constexpr,
    TAIL: gl.constexpr,
    STRIPS: gl.constexpr,
    STAGES: gl.constexpr,
    WARPS: gl.constexpr,
    HINTS: gl.constexpr,
) -> None:
    """Multiply the blocks of a row class: all, or its whole waves, or what is left after them.

    A wave is as many tiles of WHOLE strips as there are programs; `kept` waves more are left over.
    """
    gl.inline_asm("griddepcontrol.launch_dependents;", "", [], [], is_pure=False)
    ring = make_ring(x_head, x_tail, words, scales, HEAD, TAIL, STRIPS, STAGES)
    first_block = gl.load(stats + FIRST_BLOCK + index).to(gl.int32)
    count = gl.load(stats + FIRST_BLOCK + index + 1).to(gl.int32) - first_block
    tiles = count * ((row_tiles + WHOLE - 1) // WHOLE)
    in_waves = gl.maximum(tiles // wave - kept, 0) * wave
    first = gl.to_tensor(0)
    if PART == "waves":
        tiles = in_waves
    elif PART == "rest":
        first = in_waves
        tiles = (tiles - in_waves) * (WHOLE // STRIPS)
    work = Share(blocks + first_block * 4, first, tiles, row_tiles, steps, STRIPS, WHOLE)
    out = Output(y, y, y, rows, N, N, scale, False, False, False)
    w_hint: gl.constexpr = ONCE if HINTS >= 1 else None
    x_hint: gl.constexpr = OFTEN if HINTS >= 2 else None
    gl.warp_specialize(
        [
            (consume, (ring, work, out, WARPS)),
            (produce_hinted, (ring, work, x_head, x_tail, words, scales, w_hint, x_hint)),
        ],
        [1],
        [PRODUCER_REGISTERS],
    )
    if gl.program_id(0) == gl.num_programs(0) - 1:
        gl.inline_asm("griddepcontrol.wait;", "", [], [], is_pure=False)
