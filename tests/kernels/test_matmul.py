"""The matmul against float64: on the interpreter without a GPU, compiled with one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from exact import DEVICE, assert_rounded, expected, random_weight, random_x
from hypothesis import given, settings
from hypothesis import strategies as st

from protonlab.kernels import (
    Epilogue,
    MXFP4Weight,
    Routing,
    matmul,
    matmul_options,
    pack,
    prepare,
)

TYPES = [torch.bfloat16, torch.float16]
ENGINES = ["triton", "reference"]
SIZES = [
    [0, 3, 0, 9],
    [0, 0, 21, 0],
    [1, 0, 0, 0],
    [8, 0, 9, 17],
    [0, 0, 0, 0],
]


def permutation(rows: int, seed: int = 3) -> torch.Tensor:
    return torch.randperm(rows, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def some_rows(rows: int, x_rows: int, seed: int = 4) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, x_rows, (rows,), generator=generator).to(DEVICE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_ragged_rows(sizes: list[int], dtype: torch.dtype, engine: Any) -> None:
    w = pack(random_weight(4, 130, 160))
    x = random_x(sum(sizes), 160, dtype)
    routing = Routing(sizes)
    y = matmul(x, w, routing=routing, engine=engine)
    assert y.dtype == dtype
    assert_rounded(y, expected(x, w, routing))


@settings(max_examples=6)
@given(
    rows=st.integers(1, 40),
    n=st.integers(1, 260),
    k=st.sampled_from([32, 96, 128, 288]),
    dtype=st.sampled_from(TYPES),
    overlap=st.sampled_from([None, False, True]),
    seed=st.integers(0, 2**32),
)
def test_one_weight_of_any_shape(
    rows: int, n: int, k: int, dtype: torch.dtype, overlap: bool | None, seed: int
) -> None:
    w = pack(random_weight(n, k, seed=seed))
    x = random_x(rows, k, dtype, seed)
    y = matmul(x, w, engine="triton", overlap_epilogue=overlap)
    assert_rounded(y, expected(x, w))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_all_codes_at_all_scales_of_the_range(dtype: torch.dtype) -> None:
    """Row n of w has scale code 2 + n and the sixteen values twice; x picks each of them."""
    codes = torch.tensor([low | low + 1 << 4 for low in range(0, 16, 2)] * 2, dtype=torch.uint8)
    scales = torch.arange(2, 129, dtype=torch.uint8)[:, None]
    w = pack(MXFP4Weight(codes.expand(127, 16).contiguous(), scales).to(DEVICE))
    assert w.fast
    x = torch.eye(32, dtype=dtype, device=DEVICE)
    y = matmul(x, w, engine="triton")
    wanted = expected(x, w)
    # bfloat16 holds every product; float16 rounds, and keeps less than half of the range
    assert torch.equal(y.double(), wanted if dtype == torch.bfloat16 else wanted.half().double())


def test_scales_that_the_fast_path_cannot_represent() -> None:
    """From half of 2**-127 to 6 * 2**127, and NaN; x picks each of the values."""
    codes = torch.tensor([low | low + 1 << 4 for low in range(0, 16, 2)] * 2, dtype=torch.uint8)
    scales = torch.tensor([0, 1, 2, 3, 4, 127, 252, 253, 254, 255], dtype=torch.uint8)[:, None]
    w = pack(MXFP4Weight(codes.expand(10, 16).contiguous(), scales).to(DEVICE))
    assert not w.fast
    y = matmul(torch.eye(32, dtype=torch.bfloat16, device=DEVICE), w, engine="triton")
    wanted = expected(torch.eye(32, dtype=torch.bfloat16, device=DEVICE), w)
    assert torch.equal(y[:, :9].double(), wanted[:, :9].to(torch.bfloat16).double())
    assert wanted[:, 8].abs().max() == 6 * 2.0**127
    assert y[:, 9].isnan().all()


def test_small_and_large_x() -> None:
    """Products from 2**-120 to 2**120: neither end is lost to the fast path's scaling."""
    w = pack(random_weight(128, 128, codes=(117, 127)))
    for exponent in (-110, -60, 0, 60, 110):
        x = (random_x(4, 128).double() * 2.0**exponent).to(torch.bfloat16)
        assert_rounded(matmul(x, w, engine="triton"), expected(x, w), sums=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_gather_and_scatter(dtype: torch.dtype, engine: Any) -> None:
    w = pack(random_weight(4, 130, 96))
    x = random_x(10, 96, dtype)
    for gather, scatter in (
        (some_rows(24, 10), permutation(24)),
        (some_rows(24, 10).int(), None),
        (None, permutation(10).int()),
    ):
        sizes = [0, 5, 18, 1] if gather is not None else [0, 1, 9, 0]
        routing = Routing(sizes, gather, scatter)
        y = matmul(x, w, routing=routing, engine=engine)
        assert_rounded(y, expected(x, w, routing))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "finish",
    [
        {},
        {"activation": "swiglu"},
        {"activation": "swiglu", "alpha": 1.702, "limit": 2.0, "offset": 1.0},
    ],
    ids=["bias", "swiglu", "limited"],
)
def test_bias_and_activation(finish: dict[str, Any], dtype: torch.dtype, engine: Any) -> None:
    w = pack(random_weight(3, 140, 96, codes=(123, 125)))
    x = random_x(12, 96, dtype)
    routing = Routing([2, 0, 10])
    generator = torch.Generator().manual_seed(5)
    each = torch.randn(3, 140, generator=generator).to(DEVICE)
    for bias in (each, each[0].to(torch.bfloat16), each.T.contiguous().T.double()):
        epilogue = Epilogue(bias, **finish)
        y = matmul(x, w, routing=routing, epilogue=epilogue, engine=engine)
        assert_rounded(y, expected(x, w, routing, epilogue), sums=1e-5)


@pytest.mark.parametrize("split_k", [2, 3, 5])
@pytest.mark.parametrize("activation", [None, "swiglu"])
def test_parts_of_k_are_summed(split_k: int, activation: Any) -> None:
    w = pack(random_weight(140, 576, codes=(123, 125)))
    x = random_x(11, 576)
    epilogue = Epilogue(torch.ones(140, device=DEVICE), activation)
    options = matmul_options(11, 140, 576, split_k=split_k)
    y = matmul(x, w, epilogue=epilogue, options=options)
    assert_rounded(y, expected(x, w, None, epilogue), sums=1e-5)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("overlap", [False, True])
def test_plain_weight(dtype: torch.dtype, overlap: bool) -> None:
    """Any K and strides; the same raggedness, bias and switch."""
    generator = torch.Generator().manual_seed(7)
    wide = torch.randn(3, 150, 120, generator=generator).to(dtype).to(DEVICE)
    w, x = wide[:, :131, :99], random_x(20, 110, dtype)[:, :99]
    routing = Routing([0, 13, 7], scatter=permutation(20))
    y = matmul(x, w, routing=routing, overlap_epilogue=overlap, engine="triton")
    assert_rounded(y, expected(x, w, routing), sums=1e-5)
    assert_rounded(matmul(x, w[1], engine="triton"), expected(x, w[1]), sums=1e-5)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("block_m", [8, 16, 32, 64])
def test_every_block_size_persistent_or_not(block_m: int, persistent: bool) -> None:
    w = pack(random_weight(3, 130, 96))
    x = random_x(42, 96)
    routing = Routing([0, 35, 7])
    options = matmul_options(
        42, 130, 96, experts=3, block_m=block_m, persistent=persistent, programs_per_sm=1
    )
    y = matmul(x, w, routing=routing, options=options)
    assert_rounded(y, expected(x, w, routing))


def test_outputs_are_fully_written() -> None:
    """torch fills what it does not initialise with NaN."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        w, x = pack(random_weight(3, 130, 96)), random_x(12, 96)
        for routing in (Routing([5, 0, 7]), Routing([0, 12, 0], scatter=permutation(12))):
            assert not matmul(x, w, routing=routing, engine="triton").isnan().any()
        dense = pack(random_weight(130, 96))
        options = matmul_options(12, 130, 96, split_k=2, block_m=8)
        for chosen in (None, options):
            assert not matmul(x, dense, engine="triton", options=chosen).isnan().any()
    finally:
        torch.use_deterministic_algorithms(deterministic)


def test_prepared_routing_serves_several_matmuls() -> None:
    w, v = (pack(random_weight(4, 72, 96, seed=seed)) for seed in (1, 2))
    routing = Routing([3, 0, 9, 8], some_rows(20, 6), permutation(20))
    x = random_x(6, 96)
    prepared = prepare(x, w, routing, engine="triton")
    for weight in (w, v):
        assert_rounded(matmul(x, weight, routing=prepared), expected(x, weight, routing))
    with pytest.raises(ValueError, match=r"prepared for \(N, K, rows of x\) = \(72, 96, 6\)"):
        matmul(random_x(7, 96), w, routing=prepared)
    other = matmul_options(20, 72, 96, experts=4, block_m=64)
    with pytest.raises(
        ValueError, match=r"differ in block_m \(\d+ and 64\), row_classes .*; prepare"
    ):
        matmul(x, w, routing=prepared, options=other)


def test_no_rows() -> None:
    w = pack(random_weight(2, 64, 32))
    assert matmul(random_x(0, 32), w, routing=Routing([0, 0])).shape == (0, 64)
    assert matmul(random_x(0, 32), pack(random_weight(64, 32))).shape == (0, 64)


def test_unpacked_weight_runs_in_the_reference() -> None:
    w, x, routing = random_weight(2, 70, 64), random_x(9, 64), Routing([4, 5])
    y = matmul(x, w, routing=routing, engine="reference")
    assert torch.equal(y, matmul(x, pack(w), routing=routing, engine="reference"))
