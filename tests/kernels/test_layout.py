"""Hopper's layout, against its definition for single codes, and there and back."""

from __future__ import annotations

import dataclasses
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protonlab.kernels import MXFP4Weight, PackedWeight, dequantize, pack, unpack


def weight(*shape: int, codes: tuple[int, int] = (100, 140), seed: int = 0) -> MXFP4Weight:
    generator = torch.Generator().manual_seed(seed)
    *lead, k = shape
    values = torch.randint(0, 256, (*lead, k // 2), generator=generator, dtype=torch.uint8)
    low, high = codes
    scales = torch.randint(low, high + 1, (*lead, k // 32), generator=generator, dtype=torch.uint8)
    return MXFP4Weight(values, scales)


def place(n: int, k: int) -> tuple[int, int, int, int, int]:
    """Tile row, tile column, word, slot and lane of a code, by divisions alone."""
    strip, h, g = n % 128 // 16, n % 16 // 8, n % 8
    G1, G0, j1, j0, t, e = k % 128 // 64, k % 64 // 32, k % 32 // 16, k % 16 // 8, k % 8 // 2, k % 2
    word = ((((G1 * 8 + strip) * 8 + g) * 4 + t) * 2 + G0) * 2 + j1
    return n // 128, k // 128, word, 2 * j0 + h, e


def bits(code: int, slot: int, e: int) -> int:
    """The word that holds one code, as the facts of the format put it: s e1 e0 m."""
    s, e1, e0, m = code >> 3, code >> 2 & 1, code >> 1 & 1, code & 1
    own, other = 16 * e, 16 * (1 - e)
    if slot == 0:
        return s << 15 + own | (code & 7) << 6 + own
    if slot == 1:
        return s << 9 + own | (code & 7) << own
    if slot == 2:
        return s << 3 + own | (code & 7) << 10 + other
    return s << 13 + own | e0 << 5 + own | m << 4 + own | e1 << 14 + other


def test_a_single_code_lies_where_the_layout_says() -> None:
    chosen = random.Random(0)
    scales = torch.full((256, 8), 127, dtype=torch.uint8)
    for _ in range(60):
        n, k, code = chosen.randrange(256), chosen.randrange(256), chosen.randrange(1, 16)
        codes = torch.zeros(256, 128, dtype=torch.uint8)
        codes[n, k // 2] = code << 4 * (k % 2)
        words = pack(MXFP4Weight(codes, scales)).values.view(torch.int32)[0]
        row, column, word, slot, e = place(n, k)
        found = words.nonzero().tolist()
        assert found == [[row, column, word]]
        assert int(words[row, column, word]) & 0xFFFFFFFF == bits(code, slot, e)


def test_scales_lie_where_the_layout_says() -> None:
    w = weight(256, 256)
    packed = pack(w)
    for n in range(0, 256, 3):
        for block in range(8):
            strip, h, g = n % 128 // 16, n % 16 // 8, n % 8
            G1, G0 = block % 4 // 2, block % 2
            index = (((G1 * 8 + strip) * 8 + g) * 2 + G0) * 2 + h
            stored = int(packed.scales[0, n // 128, block // 4, index])
            assert stored == int(w.scales[n, block]) + packed.scale_shift


def test_bit_tricks_of_the_kernels_give_the_values() -> None:
    """The integer operations of the assembly, in torch: each lane is a bfloat16."""
    w = weight(256, 256, codes=(2, 128))
    packed = pack(w)
    assert (packed.scale_shift, packed.output_scale, packed.fast) == (126, 1.0, True)
    words = packed.values.view(torch.int32)[0].long() & 0xFFFFFFFF

    def rotated(by: int) -> torch.Tensor:
        return (words << by | words >> 32 - by) & 0xFFFFFFFF

    mask = 0x81C081C0
    slots = [words & mask, words << 6 & mask, rotated(12) & mask]
    slots.append(words << 2 & 0x80C080C0 | rotated(10) & 0x01000100)
    values = dequantize(w, torch.float64)
    for n in range(0, 256, 7):
        for k in range(0, 256, 5):
            row, column, word, slot, e = place(n, k)
            pattern = int(slots[slot][row, column, word]) >> 16 * e & 0xFFFF
            lane = torch.tensor(pattern, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
            stored = int(w.scales[n, k // 32]) + 126
            assert lane.double() * 2.0 ** (stored - 127) == values[n, k]


@settings(max_examples=20)
@given(
    experts=st.integers(0, 3),
    n=st.integers(1, 300),
    blocks=st.integers(1, 10),
    seed=st.integers(0, 2**32),
)
def test_round_trip_is_exact(experts: int, n: int, blocks: int, seed: int) -> None:
    lead = (experts,) if experts else ()
    w = weight(*lead, n, 32 * blocks, codes=(0, 255), seed=seed)
    packed = pack(w)
    back = unpack(packed)
    assert packed.shape == w.shape == back.shape
    assert torch.equal(back.codes, w.codes)
    assert torch.equal(back.scales, w.scales)


def test_padding_is_zero() -> None:
    packed = pack(weight(130, 160))
    assert packed.values.shape == (1, 2, 2, 8192)
    whole = unpack(dataclasses.replace(packed, shape=(256, 256)))
    values = torch.stack((whole.codes & 15, whole.codes >> 4), -1).flatten(-2)
    assert not values[130:].any()
    assert not values[:, 160:].any()


def ends(low: int, high: int, *, low_values: int = 0x22) -> PackedWeight:
    """A weight of two blocks: one with the lowest scale, one with the highest."""
    codes = torch.full((1, 32), 0x22, dtype=torch.uint8)
    codes[0, :16] = low_values
    return pack(MXFP4Weight(codes, torch.tensor([[low, high]], dtype=torch.uint8)))


@pytest.mark.parametrize(
    ("low", "high", "shift", "fast"),
    [
        (127, 127, 126, True),
        (2, 128, 126, True),  # 2**-125 is the smallest scale
        (1, 128, 0, False),
        (3, 129, 125, True),  # a factor 2**126 between them
        (2, 129, 0, False),
        (128, 254, 0, True),  # to the largest scale, 2**127
        (127, 254, 0, False),
        (127, 255, 0, False),  # NaN
    ],
)
def test_range_in_which_the_fast_path_is_exact(low: int, high: int, shift: int, fast: bool) -> None:
    packed = ends(low, high)
    assert (packed.scale_shift, packed.fast) == (shift, fast)
    assert packed.output_scale == (2.0 ** (126 - shift) if fast else 8.0)


def test_scales_of_zeros_do_not_count_for_the_range() -> None:
    for zeros in (0x00, 0x88, 0x80):
        packed = ends(0, 200, low_values=zeros)
        assert (packed.scale_shift, packed.fast) == (54, True)
        assert unpack(packed).scales.tolist() == [[0, 200]]
    assert not ends(255, 127, low_values=0).fast  # NaN times zero


def test_tensors_that_are_no_packed_weight() -> None:
    packed = pack(weight(2, 128, 128))
    for changed in (
        dataclasses.replace(packed, values=packed.values[:1]),
        dataclasses.replace(packed, shape=(2, 129, 128)),
        dataclasses.replace(packed, scales=packed.scales.int()),
    ):
        with pytest.raises(ValueError, match=r"make it with pack\(quantize_mxfp4\(w\)\)"):
            unpack(changed)
