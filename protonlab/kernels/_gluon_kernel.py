"""The kernel in Gluon: one warp loads, four or eight dequantise and multiply."""

from __future__ import annotations

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from protonlab.kernels._ring import Work, make_ring, produce
from protonlab.kernels._schedule import BYTES, FIRST
from protonlab.kernels._strips import Output, consume

PRODUCER_REGISTERS = gl.constexpr(40)
FIRST_BLOCK = gl.constexpr(FIRST)


def gluon_metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    """Describe a launch, of one row class where there are experts.

    The launches of a matmul share a name, so that they are one frame, and the first tells what all
    of them move: bytes over the time of all. Launches overlap, so the rate is at least that.
    """
    m, n, k = args["rows"], args["N"], args["K"]
    words = [f"{m}x{n}x{k}"]
    if args["blocks"] is not None:
        words.append(f"experts={args['experts']}")
    else:
        words += [f"rows<={args['HEAD'] + args['TAIL']}", f"strips={args['STRIPS']}"]
    if args["parts"] > 1:
        words.append(f"split_k={args['parts']}")
    described = {"name": f"matmul_mxfp4_gluon [{', '.join(words)}]"}
    if not args["counted"]:
        return described
    return {
        **described,
        "flops16": 2.0 * m * n * k,
        "bytes": args["n_bytes"] or args["stats"][BYTES],
        "n_tokens": m,
    }


@gluon.jit(
    launch_metadata=gluon_metadata,
    do_not_specialize=[
        *("index", "rows", "experts", "row_tiles", "steps", "N", "K", "bias_stride"),
        *("n_bytes", "counted", "parts"),
    ],
)
def gluon_kernel(
    x_head: gl.tensor,
    x_tail: gl.tensor,
    words: gl.tensor,
    scales: gl.tensor,
    y: gl.tensor,
    bias: gl.tensor,
    scatter: gl.tensor,
    blocks: gl.tensor,
    stats: gl.tensor,
    index: gl.tensor,
    rows: gl.tensor,
    experts: gl.tensor,
    row_tiles: gl.tensor,
    steps: gl.tensor,
    N: gl.tensor,
    K: gl.tensor,
    parts: gl.tensor,
    bias_stride: gl.tensor,
    scale: gl.tensor,
    n_bytes: gl.tensor,
    counted: gl.tensor,
    HEAD: gl.constexpr,
    TAIL: gl.constexpr,
    STRIPS: gl.constexpr,
    STAGES: gl.constexpr,
    WARPS: gl.constexpr,
) -> None:
    """Multiply the blocks of one row class, of more than the last class's and HEAD + TAIL rows.

    Launches for the classes of a matmul overlap: each lets the next begin at once, on
    multiprocessors that run out of tiles, and one program of each waits for the one before, so that
    whatever follows the last finds all of them done.
    """
    gl.inline_asm("griddepcontrol.launch_dependents;", "", [], [], is_pure=False)
    ring = make_ring(x_head, x_tail, words, scales, HEAD, TAIL, STRIPS, STAGES)
    has_blocks: gl.constexpr = blocks is not None
    if has_blocks:
        first = gl.load(stats + FIRST_BLOCK + index).to(gl.int32)
        count = gl.load(stats + FIRST_BLOCK + index + 1).to(gl.int32) - first
        own_blocks = blocks + first * 4
    else:
        count = (rows + HEAD + TAIL - 1) // (HEAD + TAIL)
        own_blocks = y  # never read
    tiles = count * ((row_tiles + STRIPS - 1) // STRIPS) * parts
    work = Work(  # type: ignore[call-arg]
        own_blocks, rows, tiles, row_tiles, steps, parts, STRIPS, HEAD + TAIL, has_blocks
    )
    has_bias: gl.constexpr = bias is not None
    has_scatter: gl.constexpr = scatter is not None
    out = Output(  # type: ignore[call-arg]
        y,
        bias if has_bias else y,
        scatter if has_scatter else y,
        rows,
        N,
        bias_stride,
        scale,
        has_bias,
        has_scatter,
        y.dtype.element_ty == gl.float32,
    )
    gl.warp_specialize(
        [
            (consume, (ring, work, out, WARPS)),
            (produce, (ring, work, x_head, x_tail, words, scales)),
        ],
        [1],
        [PRODUCER_REGISTERS],
    )
    if gl.program_id(0) == gl.num_programs(0) - 1:
        gl.inline_asm("griddepcontrol.wait;", "", [], [], is_pure=False)
