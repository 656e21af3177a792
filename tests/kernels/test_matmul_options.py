"""Choices follow the rule that was measured, can be overridden, and say why."""

from __future__ import annotations

from typing import Any

import pytest
import triton

from protonlab.kernels import MatmulOptions, matmul_options
from protonlab.kernels._options import LEAST_ROWS


@pytest.mark.parametrize(
    ("rows_an_expert", "block_m"),
    [(1, 8), (2, 8), (4, 8), (8, 16), (16, 32), (32, 64), (64, 64), (512, 64)],
)
def test_block_holds_most_experts_rows(rows_an_expert: int, block_m: int) -> None:
    options = matmul_options(128 * rows_an_expert, 5760, 5760, experts=128)
    assert options.block_m == max(block_m, LEAST_ROWS)


def test_before_triton_3_9_a_product_has_16_rows() -> None:
    least = 8 if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9) else 16
    assert matmul_options(128, 5760, 5760, experts=128).block_m == least
    assert matmul_options(128, 5760, 5760, experts=128, block_m=8).block_m == 8


@pytest.mark.parametrize(
    ("k", "flatten", "persistent"),
    [(256, True, True), (1024, True, True), (1152, False, False), (2048, False, False)],
)
def test_flattening_is_for_tiles_of_few_steps(k: int, flatten: bool, persistent: bool) -> None:
    options = matmul_options(512, 5760, k, experts=128)
    assert (options.flatten_loops, options.persistent) == (flatten, persistent)


@pytest.mark.parametrize("overlap", [True, False])
def test_the_switch_changes_nothing_else(overlap: bool) -> None:
    """Both settings are persistent, so that they differ in the switch alone."""
    first = matmul_options(512, 5760, 5760, experts=128, overlap_epilogue=overlap)
    second = matmul_options(512, 5760, 5760, experts=128, flatten_loops=overlap)
    assert first == second
    assert (first.flatten_loops, first.persistent) == (overlap, True)


def test_warp_specialization_is_a_switch_of_its_own() -> None:
    options = matmul_options(512, 5760, 256, experts=128, warp_specialize=True)
    assert (options.warp_specialize, options.flatten_loops) == (True, True)


def test_few_tiles_split_k_and_ragged_ones_never() -> None:
    # 64 tiles of N, 64 K steps: four parts fill 132 multiprocessors about twice.
    assert matmul_options(64, 8192, 8192).split_k == 4
    assert matmul_options(64, 65536, 8192).split_k == 1
    assert matmul_options(64, 8192, 8192, experts=4).split_k == 1


def test_options_say_each_choice_and_why() -> None:
    options = matmul_options(512, 5760, 5760, experts=128, num_stages=2)
    lines = str(options).splitlines()
    assert " ".join(lines[1].split()) == (
        f"block_m = {LEAST_ROWS} 4 rows an expert on average; padding costs power"
    )
    (stages,) = [line for line in lines if line.startswith("num_stages")]
    assert stages.split() == ["num_stages", "=", "2", "asked", "for"]
    (flatten,) = [line for line in lines if line.startswith("flatten_loops")]
    assert flatten.endswith("45 K steps a tile; it pays for at most 8")


def test_reasons_do_not_make_options_differ() -> None:
    asked = matmul_options(512, 5760, 5760, experts=128, block_m=LEAST_ROWS)
    assert asked == matmul_options(512, 5760, 5760, experts=128)
    assert isinstance(asked, MatmulOptions)
    assert hash(asked) == hash(matmul_options(512, 5760, 5760, experts=128))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"block_m": 24}, r"block_m=24 cannot be chosen; give one of \[8, 16, 32, 64, 128, 256\]"),
        ({"num_stages": 0}, "num_stages=0 cannot be chosen; give 1 to 8"),
        ({"num_warps": True}, r"num_warps=True cannot be chosen; give one of \[4, 8\]"),
        ({"persistent": 1}, "persistent=1 cannot be chosen; give True or False"),
        ({"row_classes": (16, 8)}, "row_classes=.* ascending multiples of 8"),
        ({"tile": 8}, "matmul_options has no 'tile'; it has block_k, "),
        ({"engine": "cuda"}, "engine='cuda' cannot be chosen; give one of 'triton', 'gluon', "),
        ({"experts": 0}, "experts=0 .*; give an int from 1 on, or None without routing"),
        ({"overlap_epilogue": 1}, "overlap_epilogue=1 is no position of the switch; give True"),
        ({"block_k": 64}, "block_k=64 with a packed weight, whose tiles are 128 by 128"),
        ({"flatten_loops": True, "persistent": False}, "no next tile to overlap with"),
        ({"overlap_epilogue": True, "flatten_loops": False}, "contradict each other"),
    ],
)
def test_what_cannot_be_chosen(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matmul_options(512, 5760, 5760, **{"experts": 128, **overrides})


@pytest.mark.parametrize("shape", [(-1, 64, 64), (5, 0, 64), (5, 64, 6.4)], ids=str)
def test_shapes_that_no_matmul_has(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"(rows=-1|n=0|k=6\.4) .*; give an int from [01] on"):
        matmul_options(*shape)
