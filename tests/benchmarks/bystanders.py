"""Kernels with nothing of ours, to see what compute-sanitizer says of any kernel like them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

HAS_GLUON = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TURNS, PROGRAMS = 20, 4


@triton.jit
def large_kernel(x_ptr, y_ptr, STEPS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr):  # noqa: ANN001, ANN201
    """Multiply blocks from so deep a pipeline that it takes more than 48 KB of shared memory."""
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, 64)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        x = tl.load(x_ptr + rows[:, None] * (STEPS * 64) + step * 64 + columns[None, :])
        sums = tl.dot(x, x.T, sums)
    tl.store(y_ptr + rows[:, None] * BLOCK + rows[None, :], sums)


def large() -> float:
    """Run it: its module is loaded as every one with more than 48 KB is."""
    x = torch.randn(128, 512).to(torch.float16)
    y = torch.empty(128, 128, device=DEVICE)
    large_kernel[(1,)](x.to(DEVICE), y, STEPS=8, BLOCK=128, STAGES=4)
    wanted = x.double() @ x.double().T
    return float((y.cpu().double() - wanted).norm() / wanted.norm())


if HAS_GLUON:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import mbarrier

    @gluon.jit
    def count_alone(out: gl.tensor, turns: gl.tensor, place: gl.constexpr) -> None:
        """Store numbers."""
        for turn in range(turns):
            gl.store(out + place * gl.num_programs(0) + gl.program_id(0), turn)

    @gluon.jit
    def partitions_kernel(out: gl.tensor, turns: gl.tensor) -> None:
        """Two partitions of warps that have nothing to do with each other."""
        gl.warp_specialize(
            [
                (count_alone, (out, turns, gl.constexpr(0))),
                (count_alone, (out, turns, gl.constexpr(1))),
            ],
            [1],
            [40],
        )

    @gluon.jit
    def count_in_turn(
        barriers: gl.tensor, out: gl.tensor, turns: gl.tensor, place: gl.constexpr
    ) -> None:
        """Store numbers, each when the other partition has stored its own."""
        for turn in range(turns):
            mbarrier.wait(barriers.index(place), (turn & 1) ^ place)
            gl.store(out + place * gl.num_programs(0) + gl.program_id(0), turn)
            mbarrier.arrive(barriers.index(1 - place), count=1)

    @gluon.jit
    def barriers_kernel(out: gl.tensor, turns: gl.tensor, INVALIDATE: gl.constexpr) -> None:
        """Two partitions and two mbarriers: what a ring is made of, and nothing to go round."""
        barriers = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
        mbarrier.init(barriers.index(0), count=1)
        mbarrier.init(barriers.index(1), count=1)
        gl.warp_specialize(
            [
                (count_in_turn, (barriers, out, turns, gl.constexpr(0))),
                (count_in_turn, (barriers, out, turns, gl.constexpr(1))),
            ],
            [1],
            [40],
        )
        if INVALIDATE:
            mbarrier.invalidate(barriers.index(0))
            mbarrier.invalidate(barriers.index(1))


def turns(kernel: Any, **constants: bool) -> Callable[[], float]:
    """Run a kernel of two partitions; 0 if both have stored their last number."""

    def run() -> float:
        out = torch.zeros(2 * PROGRAMS, dtype=torch.int32).to(DEVICE)
        kernel[(PROGRAMS,)](out, TURNS, num_warps=4, **constants)
        return float(out.tolist() != [TURNS - 1] * 2 * PROGRAMS)

    return run


def cases() -> dict[str, Callable[[], float]]:
    """Name -> a launch, which gives its error."""
    found = {"more than 48 KB of shared memory": large}
    if HAS_GLUON and DEVICE == "cuda":  # Gluon is not interpreted
        found["warp_specialize alone"] = turns(partitions_kernel)
        name = "warp_specialize and two mbarriers"
        found[name] = turns(barriers_kernel, INVALIDATE=False)
        found[f"{name}, invalidated"] = turns(barriers_kernel, INVALIDATE=True)
    return found
