"""Quantisation against the OCP tables and against a search of the nearest value."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protonlab import ProtonLabError
from protonlab.kernels import MXFP4Weight, dequantize, pack, quantize_mxfp4, unpack

# OCP Microscaling Formats (MX) 1.0: the e2m1 numbers, by code.
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 += [-value for value in E2M1]


def codes_of(w: MXFP4Weight) -> torch.Tensor:
    return torch.stack((w.codes & 15, w.codes >> 4), -1).flatten(-2)


def searched(values: list[float]) -> tuple[list[int], int]:
    """Codes and scale code of a block, in Python's float64 and by search."""
    if not all(map(math.isfinite, values)):
        return [0] * 32, 255
    largest = max(map(abs, values))
    exponent = -127
    if largest > 0:
        exponent = max(-127, math.frexp(largest)[1] - 1 - 2)
    codes = []
    for value in values:
        scaled = math.ldexp(abs(value), -exponent)
        # nearest, ties to the even code, and beyond 6 the last one
        code = min(range(8), key=lambda code: (abs(E2M1[code] - min(scaled, 6.0)), code % 2))
        codes.append(code + 8 * (math.copysign(1, value) < 0))
    return codes, exponent + 127


def check(w: torch.Tensor) -> None:
    found = quantize_mxfp4(w)
    blocks = w.double().reshape(-1, 32).tolist()
    wanted = [searched(block) for block in blocks]
    assert codes_of(found).reshape(-1, 32).tolist() == [codes for codes, _ in wanted]
    assert found.scales.reshape(-1).tolist() == [scale for _, scale in wanted]


def test_every_code_has_its_ocp_value() -> None:
    codes = torch.tensor([low | high << 4 for low in range(16) for high in range(16)])
    w = MXFP4Weight(codes.to(torch.uint8)[None], torch.full((1, 16), 127, dtype=torch.uint8))
    values = dequantize(w)[0].reshape(16, 16, 2)
    wanted = torch.tensor(E2M1)
    assert torch.equal(values[:, :, 0], wanted[:, None].expand(16, 16))
    assert torch.equal(values[:, :, 1], wanted[None].expand(16, 16))
    assert values[8, 0, 0].signbit()  # code 8 is minus zero


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_scale_code_is_its_power_of_two(dtype: torch.dtype) -> None:
    ones = torch.full((256, 16), 0x22, dtype=torch.uint8)
    w = MXFP4Weight(ones, torch.arange(256, dtype=torch.uint8)[:, None])
    values = dequantize(w, dtype)[:, 0]
    assert values[:255].tolist() == [2.0 ** (code - 127) for code in range(255)]
    assert values[255].isnan()


def test_values_beyond_float32_are_infinite_and_whole_in_float64() -> None:
    w = MXFP4Weight(
        torch.full((1, 16), 0xF7, dtype=torch.uint8), torch.tensor([[254]], dtype=torch.uint8)
    )
    assert dequantize(w)[0, :2].tolist() == [math.inf, -math.inf]
    assert dequantize(w, torch.float64)[0, :2].tolist() == [6 * 2.0**127, -6 * 2.0**127]


def test_rounding_to_nearest_even_and_saturation() -> None:
    # The largest, 7.9, makes the scale 1.
    pairs = [(0.25, 0), (0.26, 0.5), (0.75, 1), (1.25, 1), (1.75, 2), (2.5, 2), (3.5, 4)]
    pairs += [(5.0, 4), (5.01, 6), (6.5, 6), (7.9, 6), (-0.25, -0.0), (-2.5, -2), (-7.9, -6)]
    w = torch.zeros(1, 32)
    w[0, : len(pairs)] = torch.tensor([value for value, _ in pairs])
    found = quantize_mxfp4(w)
    assert found.scales.item() == 127
    wanted = [rounded for _, rounded in pairs]
    assert dequantize(found)[0, : len(pairs)].tolist() == wanted


@pytest.mark.parametrize(
    ("largest", "scale"),
    [
        (4.0, 127),
        (7.999, 127),
        (8.0, 128),
        (3.999, 126),
        (2.0**-125, 0),
        (2.0**-149, 0),  # the smallest denormal: 2**-22 scales, which rounds to zero
        (3.4028234663852886e38, 252),
        (0.0, 0),
        (math.inf, 255),
        (math.nan, 255),
    ],
)
def test_scale_is_the_power_of_two_below_the_largest_by_four(largest: float, scale: int) -> None:
    w = torch.zeros(1, 32)
    w[0, 5] = largest
    found = quantize_mxfp4(w)
    assert found.scales.item() == scale
    check(w)


def test_a_block_with_nan_or_infinity_becomes_nan_and_others_stay() -> None:
    w = torch.ones(2, 64)
    w[0, 3], w[1, 40] = math.nan, -math.inf
    values = dequantize(quantize_mxfp4(w))
    assert values.isnan().reshape(2, 2, 32).all(-1).tolist() == [[True, False], [False, True]]
    assert (values[0, 32:] == 1).all()


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), spread=st.integers(0, 40))
def test_random_blocks_as_the_search_finds_them(dtype: torch.dtype, seed: int, spread: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    exponents = torch.randint(-spread, spread + 1, (6, 64), generator=generator)
    w = torch.randn(6, 64, generator=generator, dtype=torch.float64) * 2.0**exponents
    check(w.to(dtype))


def test_ties_at_every_scale() -> None:
    middles = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0], dtype=torch.float64)
    for exponent in range(-120, 120, 7):
        check(torch.cat([middles, -middles, middles, -middles])[None] * 2.0**exponent)


def test_experts_are_quantised_each_for_itself() -> None:
    w = torch.randn(3, 4, 64, generator=torch.Generator().manual_seed(0))
    found = quantize_mxfp4(w)
    assert found.shape == (3, 4, 64)
    for expert in range(3):
        one = quantize_mxfp4(w[expert])
        assert torch.equal(one.codes, found.codes[expert])
        assert torch.equal(one.scales, found.scales[expert])


def test_strides_do_not_matter() -> None:
    w = torch.randn(64, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(quantize_mxfp4(w.T).codes, quantize_mxfp4(w.T.contiguous()).codes)


def test_default_dtype_does_not_matter() -> None:
    w = torch.randn(4, 64, generator=torch.Generator().manual_seed(0)) * 2.0**-100
    wanted = quantize_mxfp4(w)
    torch.set_default_dtype(torch.float16)
    try:
        found, values = quantize_mxfp4(w), dequantize(wanted)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(found.codes, wanted.codes)
    assert torch.equal(values, dequantize(wanted))


@pytest.mark.parametrize(
    ("w", "message"),
    [
        (torch.zeros(4, 33), r"K = 33, which is no multiple of 32 .* pad K with zeros"),
        (torch.zeros(4, 0), r"K = 0"),
        (torch.zeros(4, 32, dtype=torch.int8), r"w is torch.int8 .* takes float16"),
        (torch.zeros(32), r"shape \(32,\)"),
        (torch.zeros(0, 32), r"w has the shape \(0, 32\); no dimension may be 0"),
        ([1.0], "w is a list; give a torch tensor"),
    ],
)
def test_what_cannot_be_quantised(w: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        quantize_mxfp4(w)
    assert isinstance(caught.value, ProtonLabError)


def test_codes_and_scales_must_belong_together() -> None:
    codes, scales = torch.zeros(4, 32, dtype=torch.uint8), torch.zeros(4, 2, dtype=torch.uint8)
    assert MXFP4Weight(codes, scales).shape == (4, 64)
    with pytest.raises(ValueError, match=r"they need \(4, 16\)"):
        MXFP4Weight(codes, scales[:, :1])
    with pytest.raises(ValueError, match=r"scales are torch\.int32"):
        MXFP4Weight(codes, scales.int())
    with pytest.raises(ValueError, match="codes are a list; give a tensor of uint8"):
        MXFP4Weight([1], scales)  # type: ignore[arg-type]


def test_each_kind_of_weight_has_its_own_functions() -> None:
    w = quantize_mxfp4(torch.ones(4, 32))
    others: list[tuple[Any, Any, str]] = [
        (pack, torch.ones(4, 32), r"w is a Tensor of shape \(4, 32\); pack takes an MXFP4Weight"),
        (pack, pack(w), r"w is a PackedWeight of shape \(4, 32\); pack takes"),
        (unpack, w, "w is a MXFP4Weight; unpack takes what pack made"),
        (dequantize, pack(w), r"w is a PackedWeight; dequantize takes .* unpack\(w\)"),
    ]
    for function, weight, message in others:
        with pytest.raises(ValueError, match=message):
            function(weight)
    with pytest.raises(ValueError, match=r"torch\.int32 does not hold a weight's fractions"):
        dequantize(w, torch.int32)
