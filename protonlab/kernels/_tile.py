"""From storage tiles to bfloat16, in two ways that give the same bits.

The way with inline assembly takes nine integer operations and four multiplications for eight
weights. The plain way uses nothing but Triton's own operations and converts through float32, so it
also runs on other GPUs and on the interpreter, and takes scales that the first cannot.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _codes_fast(packed: tl.tensor) -> tl.tensor:
    """Turn four bytes into eight bfloat16, each e2m1 times 2**-126.

    ``pack=4`` hands the assembly four bytes in the order of registers, a word of the layout. The
    two results of each byte (h, e) are its codes j0 = 0 and 1.
    """
    low, high = tl.inline_asm_elementwise(
        asm="""{
        .reg .b32 a, b, c, d, e;
        and.b32 $0, $4, 0x81C081C0;
        shl.b32 a, $4, 6;
        and.b32 $1, a, 0x81C081C0;
        shf.l.wrap.b32 b, $4, $4, 12;
        and.b32 $2, b, 0x81C081C0;
        shl.b32 c, $4, 2;
        shf.l.wrap.b32 d, $4, $4, 10;
        and.b32 e, d, 0x01000100;
        lop3.b32 $3, c, 0x80C080C0, e, 0xEA;
        }""",
        constraints="=r,=r,=r,=r,r",
        args=[packed],
        dtype=(tl.bfloat16, tl.bfloat16),
        is_pure=True,
        pack=4,
    )
    return tl.join(low, high)


@triton.jit
def _scales_fast(stored: tl.tensor) -> tl.tensor:
    """Turn four stored scales into four bfloat16: the byte is the exponent field."""
    return tl.inline_asm_elementwise(
        asm="""{
        prmt.b32 $0, $2, 0, 0x5140;
        shl.b32 $0, $0, 7;
        prmt.b32 $1, $2, 0, 0x7362;
        shl.b32 $1, $1, 7;
        }""",
        constraints="=r,=r,r",
        args=[stored],
        dtype=tl.bfloat16,
        is_pure=True,
        pack=4,
    )


@triton.jit
def _product_fast(left: tl.tensor, right: tl.tensor) -> tl.tensor:
    """Multiply without contraction: Triton's own ``*`` would go through float32."""
    return tl.inline_asm_elementwise(
        "mul.bf16x2 $0, $1, $2;",
        "=r,r,r",
        [left, right],
        dtype=tl.bfloat16,
        is_pure=True,
        pack=2,
    )


@triton.jit
def tile_fast(values: tl.tensor, scales: tl.tensor) -> tl.tensor:
    """Dequantise a tile, uint8 (8192,) and (512,), to bfloat16 (128 n, 128 k)."""
    codes = _codes_fast(values.reshape(2, 8, 8, 4, 2, 2, 2, 2))  # G1 strip g t G0 j1 h e + j0
    codes = codes.trans(1, 6, 2, 0, 4, 5, 8, 3, 7).reshape(128, 128)
    powers = _scales_fast(scales).reshape(2, 8, 8, 2, 2).trans(1, 4, 2, 0, 3).reshape(128, 4)
    powers = tl.broadcast_to(powers[:, :, None], (128, 4, 32)).reshape(128, 128)
    return _product_fast(codes, powers)


@triton.jit
def tile_plain(words: tl.tensor, scales: tl.tensor, UNDO: tl.constexpr) -> tl.tensor:
    """Dequantise a tile, int32 words (2048,) and uint8 (512,), to bfloat16 (128 n, 128 k).

    ``UNDO`` is what the stored scales are too large by: 126 on the fast path, so that the bits are
    those of `tile_fast`. Else 3: they are e8m0 codes as they are, and an eighth of each value of
    MXFP4 is a bfloat16, the smallest ones subnormal.
    """
    # As in the assembly, each half holds sign, exponent and mantissa at its bits 15, 8 to 7 and 6.
    third = (words << 12) | ((words >> 20) & 0xFFF)
    lowest = ((words << 10) | ((words >> 22) & 0x3FF)) & 0x01000100
    fourth = ((words << 2) & -0x01000101) | lowest
    slots = tl.join(tl.join(words, words << 6), tl.join(third, fourth))  # + h + j0
    halves = tl.join(slots, slots >> 16)  # + e
    exponent = (halves >> 7) & 3
    mantissa = (halves >> 6) & 1
    half_units = tl.where(exponent == 0, mantissa, (mantissa + 2) << tl.maximum(exponent - 1, 0))
    values = half_units.to(tl.float32) * 0.5
    values = values.to(tl.int32, bitcast=True) | ((halves << 16) & -0x80000000)
    values = values.to(tl.float32, bitcast=True)
    # G1 strip g t G0 j1 h j0 e
    values = values.reshape(2, 8, 8, 4, 2, 2, 2, 2, 2)
    values = values.trans(1, 6, 2, 0, 4, 5, 7, 3, 8).reshape(128, 128)
    stored = scales.to(tl.int32)
    exponent = stored - UNDO
    bits = tl.where(exponent > 0, exponent << 23, 1 << tl.maximum(22 + exponent, 0))  # subnormal
    bits = tl.where(stored == 255, 0x7FC00000, bits)
    powers = bits.to(tl.float32, bitcast=True)
    powers = powers.reshape(2, 8, 8, 2, 2).trans(1, 4, 2, 0, 3).reshape(128, 4)
    powers = tl.broadcast_to(powers[:, :, None], (128, 4, 32)).reshape(128, 128)
    return (values * powers).to(tl.bfloat16)
