"""The ragged schedule: rows of experts cut into blocks, on the GPU, without asking it anything."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from protonlab.errors import KernelInputError
from protonlab.kernels._routing import Routing

# Entries of `Schedule.stats`.
N_BLOCKS, ACTIVE, ROWS, BYTES, FIRST = 0, 1, 2, 3, 4
MOST_EXPERTS = 8192
MOST_CLASSES = 4


@dataclass(frozen=True, eq=False)
class Schedule:
    """What the kernels read of a routing; made by `schedule`.

    Parameters
    ----------
    routing
        What it was made from, on the device of x.
    rows
        Rows that are computed.
    row_classes
        Ascending. A block has at most ``row_classes[-1]`` rows, and belongs to the first class that
        holds its rows. Blocks lie ordered by class.
    blocks
        int32, shape (most blocks, 4): expert, first row, rows, 0. Only the first
        ``stats[N_BLOCKS]`` are written.
    stats
        int64: number of blocks, active experts, rows that belong to one, bytes by the model of
        `protonlab.kernels.matmul`; then for each class its first block, and the number of blocks.
    most_blocks
        For each class, the number of its blocks, or where only the GPU knows the sizes, the most
        that there can be.
    checked
        Whether sizes and indices were read on the host, so that every row of y is written.
    active
        Experts that have rows, where the host knows the sizes; else None.
    """

    routing: Routing
    rows: int
    row_classes: tuple[int, ...]
    blocks: torch.Tensor
    stats: torch.Tensor
    most_blocks: tuple[int, ...]
    checked: bool
    active: int | None

    @property
    def experts(self) -> int:
        """Number of experts."""
        return self.routing.experts


def schedule_metadata(grid: object, kernel: object, args: dict[str, int]) -> dict[str, object]:
    """Describe a launch of the schedule's kernel to Proton."""
    return {
        "name": f"moe_schedule [experts={args['experts']}, rows={args['rows']}]",
        "n_tokens": args["rows"],
    }


@triton.jit(
    launch_metadata=schedule_metadata,
    do_not_specialize=["experts", "rows", "bytes_each", "bytes_fixed"],
)
def schedule_kernel(
    sizes_ptr: tl.tensor,
    blocks_ptr: tl.tensor,
    stats_ptr: tl.tensor,
    experts: tl.tensor,
    rows: tl.tensor,
    bytes_each: tl.tensor,
    bytes_fixed: tl.tensor,
    EXPERTS: tl.constexpr,
    N_CLASSES: tl.constexpr,
    CLASS_0: tl.constexpr,
    CLASS_1: tl.constexpr,
    CLASS_2: tl.constexpr,
    LARGEST: tl.constexpr,
) -> None:
    """Cut clamped sizes into blocks, ordered by row class and then by expert. One program."""
    expert = tl.arange(0, EXPERTS)
    asked = tl.load(sizes_ptr + expert, mask=expert < experts, other=0).to(tl.int64)
    asked = tl.minimum(tl.maximum(asked, 0), rows)
    end = tl.cumsum(asked, 0)
    first = tl.minimum(end - asked, rows)
    size = tl.minimum(end, rows) - first
    whole = size // LARGEST
    rest = size - whole * LARGEST

    written = tl.sum(size * 0, 0)  # an int64 that is zero
    fewest = 0
    for index in tl.static_range(N_CLASSES):
        tl.store(stats_ptr + 4 + index, written)
        if index == N_CLASSES - 1:
            most = LARGEST
            count = whole
        else:
            most = CLASS_0 if index == 0 else CLASS_1 if index == 1 else CLASS_2
            count = whole * 0
        partial = (rest > fewest) & (rest <= most)
        count += partial.to(tl.int64)
        place = written + tl.cumsum(count, 0) - count
        if index == N_CLASSES - 1:
            for turn in range(0, tl.max(whole, 0)):
                block = blocks_ptr + (place + turn) * 4
                present = turn < whole
                tl.store(block, expert, mask=present)
                tl.store(block + 1, (first + turn * LARGEST).to(tl.int32), mask=present)
                tl.store(block + 2, tl.full((EXPERTS,), LARGEST, tl.int32), mask=present)
                tl.store(block + 3, tl.zeros((EXPERTS,), tl.int32), mask=present)
            place += whole
        block = blocks_ptr + place * 4
        tl.store(block, expert, mask=partial)
        tl.store(block + 1, (first + whole * LARGEST).to(tl.int32), mask=partial)
        tl.store(block + 2, rest.to(tl.int32), mask=partial)
        tl.store(block + 3, tl.zeros((EXPERTS,), tl.int32), mask=partial)
        written += tl.sum(count, 0)
        fewest = most

    active = tl.sum((size > 0).to(tl.int64), 0)
    tl.store(stats_ptr + 4 + N_CLASSES, written)
    tl.store(stats_ptr, written)
    tl.store(stats_ptr + 1, active)
    tl.store(stats_ptr + 2, tl.sum(size, 0))
    tl.store(stats_ptr + 3, active * bytes_each + bytes_fixed)


def cut(
    routing: Routing,
    rows: int,
    row_classes: tuple[int, ...],
    *,
    bytes_each: int,
    bytes_fixed: int,
    host_sizes: tuple[int, ...] | None = None,
    checked: bool = False,
) -> Schedule:
    """Launch the schedule's kernel on the device that the routing's sizes are on.

    Parameters
    ----------
    routing
        On the device of x.
    rows
        Rows that are computed.
    row_classes
        Ascending, at most four.
    bytes_each, bytes_fixed
        The byte model: what an active expert moves, and what a launch moves anyway.
    host_sizes
        The sizes, if the host knows them; they were checked.
    checked
        Whether sizes and indices were read on the host.

    Raises
    ------
    KernelInputError
        If there are too many experts or classes.
    """
    sizes = routing.size_tensor
    if routing.experts > MOST_EXPERTS:
        raise KernelInputError(
            f"there are {routing.experts} experts; one program cuts the schedule, of at most "
            f"{MOST_EXPERTS}: split them over several matmuls"
        )
    if not 1 <= len(row_classes) <= MOST_CLASSES or sorted({*row_classes}) != [*row_classes]:
        raise KernelInputError(
            f"row_classes are {row_classes}; give one to {MOST_CLASSES} ascending numbers of rows"
        )
    most_blocks = _most_blocks(host_sizes, routing.experts, rows, row_classes)
    blocks = torch.empty(max(1, sum(most_blocks)), 4, dtype=torch.int32, device=sizes.device)
    stats = torch.empty(FIRST + len(row_classes) + 1, dtype=torch.int64, device=sizes.device)
    smaller = (*row_classes[:-1], 0, 0, 0)
    schedule_kernel[(1,)](
        sizes,
        blocks,
        stats,
        routing.experts,
        rows,
        bytes_each,
        bytes_fixed,
        EXPERTS=triton.next_power_of_2(routing.experts),
        N_CLASSES=len(row_classes),
        CLASS_0=smaller[0],
        CLASS_1=smaller[1],
        CLASS_2=smaller[2],
        LARGEST=row_classes[-1],
        num_warps=4,
    )
    active = None if host_sizes is None else sum(size > 0 for size in host_sizes)
    return Schedule(routing, rows, row_classes, blocks, stats, most_blocks, checked, active)


def uncut(routing: Routing, rows: int) -> Schedule:
    """Make a schedule without blocks, for an engine that reads sizes itself and writes all rows."""
    device = routing.size_tensor.device
    blocks = torch.empty(0, 4, dtype=torch.int32, device=device)
    stats = torch.zeros(FIRST + 1, dtype=torch.int64, device=device)
    return Schedule(routing, rows, (), blocks, stats, (), True, None)


def _most_blocks(
    sizes: tuple[int, ...] | None, experts: int, rows: int, row_classes: tuple[int, ...]
) -> tuple[int, ...]:
    largest = row_classes[-1]
    if sizes is None:
        # Most blocks of all when as many experts as possible have one row too many.
        active = min(experts, rows)
        whole = (rows - active) // largest
        smaller = [min(active, rows // (low + 1)) for low in (0, *row_classes[:-2])]
        return (*smaller[: len(row_classes) - 1], whole + active)
    counts = dict.fromkeys(row_classes, 0)
    for size in sizes:
        counts[largest] += size // largest
        rest = size % largest
        if rest:
            counts[next(most for most in row_classes if rest <= most)] += 1
    return tuple(counts.values())
