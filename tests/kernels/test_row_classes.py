"""Row classes of the Gluon engine: their kernels' shapes, and what its launches tell Proton."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
from exact import DEVICE

from protonlab.kernels._gather import gathered
from protonlab.kernels._row_classes import (
    ClassShape,
    class_of_one,
    class_shape,
    row_classes,
    split_rows,
)

GLUON = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)


def shape(rows: int, row_tiles: int = 45, **most: Any) -> ClassShape:
    limits = {"strips": 5, "stages": 4, "warps": 4, "programs_per_sm": 2} | most
    return class_shape(rows, row_tiles, **limits)


@pytest.mark.parametrize(
    ("rows", "split"),
    [(8, (8, 0)), (24, (16, 8)), (80, (64, 16)), (160, (128, 32)), (256, (256, 0)), (56, None)],
)
def test_a_class_is_one_or_two_powers_of_two(rows: int, split: tuple[int, int] | None) -> None:
    assert split_rows(rows) == split


def test_every_default_class_can_be_split() -> None:
    widths = {width for average in range(1, 600) for width in row_classes(average)}
    widths |= {class_of_one(rows) for rows in range(1, 600)}
    assert all(split_rows(width) for width in widths)


def test_rows_of_a_class_fill_registers_and_shared_memory() -> None:
    # 5 tiles of 8704 bytes and 8 rows of 256 are 45,568 bytes a stage; 113 KiB hold two.
    assert shape(8) == ClassShape(8, 0, 5, 2, 4, 2)
    # 96 rows of sums fit: 3 x 32. Three stages of 3 x 8704 + 32 x 256 = 34,304 bytes.
    assert shape(32) == ClassShape(32, 0, 3, 3, 4, 2)
    assert shape(72) == ClassShape(64, 8, 1, 4, 4, 2)
    # Eight warps, alone on a multiprocessor: 8704 + 256 x 256 = 74,240 bytes, three of 227 KiB.
    assert shape(256) == ClassShape(256, 0, 1, 3, 8, 1)


def test_strips_that_would_compute_too_much_padding_are_not_taken() -> None:
    assert shape(8, 45).strips == 5
    assert shape(8, 44).strips == 5  # 45 tiles for 44, 2 % more, are allowed ...
    assert shape(8, 6).strips == 3  # ... but 10 for 6, and 8, are not
    assert shape(8, 1).strips == 1


def test_a_smaller_limit_is_kept() -> None:
    assert shape(8, strips=3, stages=2) == ClassShape(8, 0, 3, 2, 4, 2)
    assert shape(8, warps=8).programs_per_sm == 1


def test_registers_are_what_the_threads_share() -> None:
    assert shape(8).registers == 128  # 65,536 for 2 x (4 + 4) warps of 32
    assert shape(256).registers == 168  # 170.7 for (8 + 4), a multiple of 8


def test_one_weight_is_cut_into_few_blocks_with_little_padding() -> None:
    assert class_of_one(64) == 64
    assert class_of_one(65) == 80
    assert class_of_one(320) == 160  # 2 x 160; 256 would pad to 512
    assert class_of_one(512) == 256


def test_gathered_rows_and_zeros_for_indices_outside() -> None:
    x = torch.arange(4 * 1056, dtype=torch.float32, device=DEVICE).reshape(4, 1056)
    index = torch.tensor([2, -1, 0, 4, 3], device=DEVICE)
    zeros = torch.zeros_like(x[0])
    wanted = torch.stack([x[2], zeros, x[0], zeros, x[3]])
    assert torch.equal(gathered(x, index), wanted)


@pytest.mark.skipif(not GLUON, reason="needs Triton 3.9")
def test_launches_of_a_matmul_are_one_frame_and_the_first_holds_the_numbers_of_all() -> None:
    from protonlab.kernels._gluon_kernel import gluon_metadata

    args = {"rows": 512, "N": 5760, "K": 5760, "experts": 128, "blocks": 1, "HEAD": 16, "TAIL": 8}
    args |= {"STRIPS": 3, "parts": 1, "counted": 1, "n_bytes": 0, "stats": [1, 2, 3, 77]}
    name = "matmul_mxfp4_gluon [512x5760x5760, experts=128]"
    assert gluon_metadata(None, None, args) == {
        "name": name,
        "flops16": 2.0 * 512 * 5760 * 5760,
        "bytes": 77,
        "n_tokens": 512,
    }
    assert gluon_metadata(None, None, args | {"counted": 0, "HEAD": 64}) == {"name": name}
    dense = gluon_metadata(None, None, args | {"blocks": None, "parts": 4, "n_bytes": 5})
    assert dense["name"] == "matmul_mxfp4_gluon [512x5760x5760, rows<=24, strips=3, split_k=4]"
    assert dense["bytes"] == 5
