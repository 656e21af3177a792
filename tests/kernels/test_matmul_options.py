"""Choices follow the rule that was measured, can be overridden, and say why."""

from __future__ import annotations

from typing import Any

import pytest
import triton
from hypothesis import given
from hypothesis import strategies as st

from protonlab.kernels import MatmulOptions, matmul_options
from protonlab.kernels._options import LEAST_ROWS
from protonlab.kernels._row_classes import CLASSES, class_shape


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


@given(
    rows=st.integers(0, 1 << 20),
    n=st.integers(1, 1 << 16),
    k=st.integers(1, 2048).map(lambda groups: groups * 32),
    experts=st.none() | st.integers(1, 512),
    packed=st.booleans(),
    engine=st.sampled_from(["triton", "gluon", "reference"]),
    overlap=st.sampled_from([None, True, False]),
    sms=st.integers(1, 200),
)
def test_the_rule_chooses_what_may_be_asked_for(
    rows: int, n: int, k: int, engine: Any, overlap: bool | None, **about: Any
) -> None:
    """For every shape and engine; each choice can be given back as an override."""
    if engine != "gluon":
        about["overlap_epilogue"] = overlap
    options = matmul_options(rows, n, k, engine=engine, **about)
    asked = {field: value for field, value in vars(options).items() if field != "reasons"}
    assert matmul_options(rows, n, k, **about, **asked) == options


@pytest.mark.parametrize("average", [None, 1, 8, 30, 100, 600])
@pytest.mark.parametrize("rows", CLASSES)
def test_every_row_class_may_be_asked_for(rows: int, average: int | None) -> None:
    count, experts = (500, None) if average is None else (5 * average, 5)
    options = matmul_options(count, 700, 416, experts=experts, engine="gluon", row_classes=(rows,))
    assert (options.row_classes, options.block_m) == ((rows,), rows)


@given(
    rows=st.sampled_from(CLASSES),
    row_tiles=st.integers(1, 512),
    strips=st.integers(1, 8),
    stages=st.integers(2, 8),
    warps=st.sampled_from([4, 8]),
    programs=st.integers(1, 16),
)
def test_every_legal_ring_fits_and_comes_round(
    rows: int, row_tiles: int, strips: int, stages: int, warps: int, programs: int
) -> None:
    """With one stage it would wait for itself: a stage is given back while the next is read."""
    most = {"strips": strips, "stages": stages, "warps": warps, "programs_per_sm": programs}
    shape = class_shape(rows, row_tiles, **most)
    assert shape.head + shape.tail == rows
    assert 2 <= shape.stages <= stages
    assert 1 <= shape.strips <= strips
    stage = shape.strips * 8704 + rows * 256
    assert shape.stages * stage * shape.programs_per_sm <= 227 * 1024


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"block_m": 24}, r"block_m=24 cannot be chosen; give one of \(8, 16, 32, 64, 128, 256\)"),
        ({"block_m": 56, "engine": "gluon"}, "block_m=56 cannot be chosen; give one of 8, 16, 24"),
        ({"num_stages": 0}, "num_stages=0 cannot be chosen; give 1 to 8"),
        ({"num_warps": True}, "num_warps=True cannot be chosen; give one of 4, 8"),
        ({"persistent": 1}, "persistent=1 cannot be chosen; give True or False"),
        ({"row_classes": (16, 8)}, r"row_classes=\(16, 8\) .*; give an ascending tuple of one to"),
        ({"row_classes": (24, 56), "engine": "gluon"}, r"row_classes=\(24, 56\) cannot be chosen"),
        ({"row_classes": (64,)}, r"block_m=(8|16) and row_classes=\(64,\) contradict each other"),
        ({"block_m": 64, "engine": "gluon"}, r"block_m=64 and row_classes=\(8, .* contradict"),
        ({"overlap_epilogue": True, "engine": "gluon"}, "loads always overlap with the epilogue"),
        ({"num_stages": 1, "engine": "gluon"}, "num_stages=1 with engine='gluon'.*; give 2 to 8"),
        ({"flatten_loops": True, "engine": "gluon"}, "flatten_loops=True with engine='gluon'"),
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
