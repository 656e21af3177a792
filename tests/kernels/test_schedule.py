"""The ragged schedule against one that Python's loops make."""

from __future__ import annotations

import pytest
import torch
from exact import DEVICE
from hypothesis import given, settings
from hypothesis import strategies as st

from protonlab.kernels import Routing
from protonlab.kernels._schedule import Schedule, cut

Block = tuple[int, int, int]


def looped(sizes: list[int], rows: int, classes: tuple[int, ...]) -> list[list[Block]]:
    """Blocks of each class: whole ones of the last class, the rest where it fits."""
    blocks: list[list[Block]] = [[] for _ in classes]
    first = 0
    for expert, size in enumerate(sizes):
        left = min(max(size, 0), rows - first)
        while left:
            taken = min(left, classes[-1])
            index = next(i for i, most in enumerate(classes) if taken <= most)
            blocks[index].append((expert, first, taken))
            first, left = first + taken, left - taken
    return blocks


def schedule(sizes: torch.Tensor, rows: int, classes: tuple[int, ...]) -> Schedule:
    return cut(Routing(sizes), rows, classes, bytes_each=1000, bytes_fixed=7)


def check(sizes: list[int], rows: int, classes: tuple[int, ...], dtype: torch.dtype) -> None:
    # Clamped sizes are the GPU's business, so the check of host sizes is passed by.
    routing = Routing([1] * len(sizes))
    object.__setattr__(routing, "sizes", torch.tensor(sizes, dtype=dtype, device=DEVICE))
    found = cut(routing, rows, classes, bytes_each=1000, bytes_fixed=7)
    wanted = looped(sizes, rows, classes)
    flat = [block for its in wanted for block in its]
    assert found.blocks[: len(flat)].tolist() == [[*block, 0] for block in flat]
    active = len({expert for expert, _, _ in flat})
    starts = [sum(map(len, wanted[:index])) for index in range(len(classes))]
    assert found.stats.tolist() == [
        len(flat),
        active,
        sum(size for _, _, size in flat),
        1000 * active + 7,
        *starts,
        len(flat),
    ]
    assert all(len(its) <= most for its, most in zip(wanted, found.most_blocks, strict=True))
    assert len(found.blocks) >= len(flat)


CLASSES = [(8,), (16,), (32,), (8, 16), (8, 16, 32), (8, 16, 24, 32)]


@settings(max_examples=25)
@given(
    sizes=st.lists(st.one_of(st.just(0), st.integers(0, 40)), min_size=1, max_size=20),
    classes=st.sampled_from(CLASSES),
    dtype=st.sampled_from([torch.int32, torch.int64]),
)
def test_blocks_of_random_sizes(
    sizes: list[int], classes: tuple[int, ...], dtype: torch.dtype
) -> None:
    check(sizes, sum(sizes), classes, dtype)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9),
    rows=st.integers(0, 70),
    classes=st.sampled_from(CLASSES),
)
def test_bad_sizes_are_clamped(sizes: list[int], rows: int, classes: tuple[int, ...]) -> None:
    check(sizes, rows, classes, torch.int32)


@pytest.mark.parametrize(
    "sizes",
    [
        [0, 0, 0],
        [100],
        [0, 0, 100, 0],
        [1] * 20,
        [8, 16, 24, 32, 9, 17, 25, 33],
        [-5, 3, 2**31 - 1],
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [(8,), (8, 16, 32)], ids=str)
def test_ragged_patterns(sizes: list[int], classes: tuple[int, ...]) -> None:
    check(sizes, 164, classes, torch.int32)


def test_sizes_beyond_32_bits() -> None:
    check([2**62, 2**62, 5], 20, (16,), torch.int64)


def test_host_sizes_give_the_exact_number_of_blocks() -> None:
    sizes = [0, 3, 16, 17, 40, 9]
    found = cut(
        Routing(sizes).to(DEVICE),
        85,
        (8, 16, 32),
        bytes_each=1,
        bytes_fixed=0,
        host_sizes=tuple(sizes),
    )
    # 3; 8 of 40; then 16 and 9; then 17 and 32 of 40
    assert found.most_blocks == (2, 2, 2)
    assert found.stats[4:].tolist() == [0, 2, 4, 6]
    assert found.active == 5


@pytest.mark.parametrize("classes", [(), (8, 8), (16, 8), (8, 16, 24, 32, 40)], ids=str)
def test_classes_ascend(classes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="give one to 4 ascending numbers"):
        schedule(torch.tensor([1], device=DEVICE), 1, classes)


def test_too_many_experts() -> None:
    with pytest.raises(ValueError, match=r"there are 8193 experts; .* at most 8192"):
        schedule(torch.zeros(8193, dtype=torch.int32, device=DEVICE), 0, (8,))
