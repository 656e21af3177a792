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
def _slot(
    words: tl.tensor,
    lane: tl.constexpr,
    S: tl.constexpr,
    E1: tl.constexpr,
    E0: tl.constexpr,
    M: tl.constexpr,
) -> tl.tensor:
    """Take one code's bits out of words (see `_layout.CODE_BITS`); its value as float32.

    ``lane`` is 0 or 16. The bits of lane 1 lie 16 further on, round the end.
    """
    sign = (words >> ((S + lane) % 32)) & 1
    exponent = ((words >> ((E1 + lane) % 32)) & 1) * 2 + ((words >> ((E0 + lane) % 32)) & 1)
    mantissa = (words >> ((M + lane) % 32)) & 1
    halves = tl.where(exponent == 0, mantissa, (2 + mantissa) << tl.maximum(exponent - 1, 0))
    value = halves.to(tl.float32) * 0.5
    return (value.to(tl.int32, bitcast=True) | (sign << 31)).to(tl.float32, bitcast=True)


@triton.jit
def _lanes(
    words: tl.tensor, S: tl.constexpr, E1: tl.constexpr, E0: tl.constexpr, M: tl.constexpr
) -> tl.tensor:
    return tl.join(_slot(words, 0, S, E1, E0, M), _slot(words, 16, S, E1, E0, M))


@triton.jit
def tile_plain(words: tl.tensor, scales: tl.tensor, UNDO: tl.constexpr) -> tl.tensor:
    """Dequantise a tile, int32 words (2048,) and uint8 (512,), to bfloat16 (128 n, 128 k).

    ``UNDO`` is what the stored scales are too large by: 126 on the fast path, so that the bits are
    those of `tile_fast`, 0 where they are e8m0 codes as they are.
    """
    words = words.reshape(2, 8, 8, 4, 2, 2)  # G1 strip g t G0 j1, + e + h + j0
    low = tl.join(_lanes(words, 15, 8, 7, 6), _lanes(words, 9, 2, 1, 0))
    high = tl.join(_lanes(words, 3, 28, 27, 26), _lanes(words, 13, 30, 5, 4))
    values = tl.join(low, high).trans(1, 7, 2, 0, 4, 5, 8, 3, 6).reshape(128, 128)
    code = scales.to(tl.int32) - UNDO
    bits = tl.where(code > 0, code << 23, 0x00400000)  # code 0 is 2**-127, a subnormal float32
    bits = tl.where(code == 255, 0x7FC00000, bits)
    powers = bits.to(tl.float32, bitcast=True)
    powers = powers.reshape(2, 8, 8, 2, 2).trans(1, 4, 2, 0, 3).reshape(128, 4)
    powers = tl.broadcast_to(powers[:, :, None], (128, 4, 32)).reshape(128, 128)
    return (values * powers).to(tl.bfloat16)
