"""bfloat16 and float8 as bit patterns: decoding, and encoding with the GPU's rounding.

Rounding is to nearest, ties to even, or toward zero. float8 saturates, as NVIDIA's conversion
instructions do (``cvt.rn.satfinite``); NaN stays NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from protonlab.errors import ProtonLabError

Array = npt.NDArray[Any]

# Name -> bits of the mantissa, exponent bias, pattern of the largest finite value.
_FP8 = {"fp8e5": (2, 15, 0x7B), "fp8e4nv": (3, 7, 0x7E)}
_FP8_NAN = 0x7F
_BF16_QUIET = 0x0040


def decode(bits: Array, name: str) -> Array:
    """Values of bit patterns, as float32: exact."""
    if name == "bf16":
        wide = bits.astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32)
    values: Array = _fp8_values(name)[bits]
    return values


def encode(values: Array, name: str, *, toward_zero: bool = False) -> Array:
    """Bit patterns of values, rounded once from float16, float32, float64 or integers."""
    if name != "bf16":
        return _encode_fp8(values.astype(np.float64), name, toward_zero)
    single = values if values.dtype == np.float32 else _single(values.astype(np.float64))
    bits = np.ascontiguousarray(single).view(np.uint32).reshape(single.shape)
    kept = bits >> np.uint32(16)
    half = np.uint32(0) if toward_zero else np.uint32(0x7FFF) + (kept & np.uint32(1))
    rounded = (bits + half) >> np.uint32(16)
    result = np.where(np.isnan(single), kept | np.uint32(_BF16_QUIET), rounded)
    return result.astype(np.uint16)


def cast(values: Array, dtype: npt.DTypeLike, toward_zero: bool) -> Array:
    """Convert as numpy does, which rounds to nearest even, or one toward zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = values.astype(dtype)
    if not toward_zero:
        return result
    exact = values.astype(np.float64)
    past = np.abs(result.astype(np.float64)) > np.abs(exact)
    return np.where(past, np.nextafter(result, np.zeros_like(result)), result)


def _single(values: Array) -> Array:
    """float64 as float32, inexact values with the last bit set, so that rounding twice is once."""
    with np.errstate(over="ignore"):
        single = np.atleast_1d(values.astype(np.float32))
    wide = np.atleast_1d(values)
    bits = single.view(np.uint32)
    inexact = (single.astype(np.float64) != wide) & ~np.isnan(wide)
    past = np.abs(single.astype(np.float64)) > np.abs(wide)
    odd = np.where(past, bits - np.uint32(1), bits) | np.uint32(1)
    return np.where(inexact, odd, bits).view(np.float32).reshape(values.shape)


def _encode_fp8(values: Array, name: str, toward_zero: bool) -> Array:
    mantissa, bias, largest = _format(name)
    magnitude = np.abs(np.where(np.isnan(values), 0.0, values))
    table = _fp8_values(name)[: largest + 1]
    capped = np.minimum(magnitude, float(table[-1]) * 2)
    exponent = np.maximum(np.frexp(capped)[1] - 1, 1 - bias)
    step = np.ldexp(1.0, exponent - mantissa)
    quotient = capped / step
    rounded = (np.floor(quotient) if toward_zero else np.rint(quotient)) * step
    bits = np.searchsorted(table, np.minimum(rounded, table[-1])).astype(np.uint8)
    bits = np.where(np.isnan(values), np.uint8(_FP8_NAN), bits)
    result: Array = bits | np.where(np.signbit(values), np.uint8(0x80), np.uint8(0))
    return result


def _format(name: str) -> tuple[int, int, int]:
    if name not in _FP8:
        raise ProtonLabError(
            f"Triton's interpreter converts {name} wrongly and NVIDIA GPUs do not have it; use "
            f"bf16, {' or '.join(_FP8)}"
        )
    return _FP8[name]


@functools.cache
def _fp8_values(name: str) -> Array:
    """Value of each of the 256 patterns."""
    mantissa, bias, largest = _format(name)
    patterns = np.arange(256)
    exponent = (patterns & 0x7F) >> mantissa
    fraction = (patterns & ((1 << mantissa) - 1)) / 2.0**mantissa
    normal = exponent > 0
    magnitude = (normal + fraction) * 2.0 ** (np.where(normal, exponent, 1) - bias)
    special = (patterns & 0x7F) > largest
    infinite = special & (name == "fp8e5") & (fraction == 0)
    magnitude = np.where(special, np.where(infinite, np.inf, np.nan), magnitude)
    values = np.where(patterns & 0x80, -magnitude, magnitude).astype(np.float32)
    values.flags.writeable = False
    return values
