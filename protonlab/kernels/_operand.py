"""From packed words to the registers of a wgmma's left operand, as PTX for one thread."""

from __future__ import annotations

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

# The names of bits are those of `_layout`. A thread 4 * g + t holds, for each of its warp's strips,
# rows g and g + 8 and of every eight columns 2 * t and 2 * t + 1. Storage has the same order, so
# its four words of a strip are one read of 16 bytes, and its four scales one of four.


@gluon.constexpr_function
def word_layout(warps: int) -> Any:
    """Spread the words of 128 rows x 64 columns, int32 [4, 256].

    Word ``strip * 128 + g * 16 + t * 4 + G0 * 2 + j1``. Of the eight strips of 16 rows a warp takes
    every fourth, or one if there are eight warps.
    """
    strips = [[0, 128], [1, 0], [2, 0]]
    split = warps.bit_length() - 1
    lanes = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]]
    registers = [[0, 1], [0, 2], *strips[split:]]
    return gl.DistributedLinearLayout(registers, lanes, strips[:split], [], [4, 256])


@gluon.constexpr_function
def scale_layout(warps: int) -> Any:
    """Spread the scales of the same, int32 [1, 64]: word ``strip * 8 + g``, byte ``2 * G0 + h``."""
    strips = [[0, 8], [0, 16], [0, 32]]
    split = warps.bit_length() - 1
    lanes = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]]
    return gl.DistributedLinearLayout(strips[split:], lanes, strips[:split], [], [1, 64])


@gluon.constexpr_function
def operand_layout(warps: int) -> Any:
    """Say where the assembly leaves its bf16 [128, 64]: registers in the order e, h, j0, j1, G0."""
    strips = [[16, 0], [32, 0], [64, 0]]
    split = warps.bit_length() - 1
    registers = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], *strips[split:]]
    lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
    return gl.DistributedLinearLayout(registers, lanes, strips[:split], [], [128, 64])


@gluon.constexpr_function
def dequantise_asm(outputs: Any, inputs: Any) -> str:
    """Write PTX that turns a word into eight bf16 times their scales, in wgmma's register order.

    A code's exponent and mantissa are put at the low end of a bf16's exponent, where they are a
    subnormal; one multiplication by the scale, whose stored exponent is raised to make up for it,
    gives the value. The second and fourth code need shifts that ptxas gives to the FMA pipe.
    """
    (out,) = outputs
    words, scales = inputs
    lines = ["{", ".reg .b32 v<4>, a, b, c, d, e, y, z, q<4>;", ".reg .b16 lo, hi;"]
    for part, scale in enumerate(scales):
        lines += [
            f"shl.b32 y, {scale}, 7;",
            "and.b32 y, y, 0x7F807F80;",
            f"shr.u32 z, {scale}, 1;",
            "and.b32 z, z, 0x7F807F80;",
            # q[2 * G0 + h]; written so, ptxas folds each into the multiplication's half selector.
            "mov.b32 {lo, hi}, y;",
            "mov.b32 q0, {lo, lo};",
            "mov.b32 q2, {hi, hi};",
            "mov.b32 {lo, hi}, z;",
            "mov.b32 q1, {lo, lo};",
            "mov.b32 q3, {hi, hi};",
        ]
        for column in range(4):  # 2 * G0 + j1
            x = words[4 * part + column]
            lines += [
                f"and.b32 v0, {x}, 0x81C081C0;",
                f"shl.b32 a, {x}, 6;",
                "and.b32 v1, a, 0x81C081C0;",
                f"shf.l.wrap.b32 b, {x}, {x}, 12;",
                "and.b32 v2, b, 0x81C081C0;",
                f"shl.b32 c, {x}, 2;",
                f"shf.l.wrap.b32 d, {x}, {x}, 10;",
                "and.b32 e, d, 0x01000100;",
                "lop3.b32 v3, c, 0x80C080C0, e, 0xEA;",
            ]
            for slot in range(4):  # 2 * j0 + h
                first = 32 * part + 8 * column + 2 * slot
                lines += [
                    f"mul.bf16x2 v{slot}, v{slot}, q{2 * (column // 2) + slot % 2};",
                    f"mov.b32 {{{out[first]}, {out[first + 1]}}}, v{slot};",
                ]
    return "\n".join([*lines, "}"])


@gluon.jit
def dequantise(
    words: gl.tensor, scales: gl.tensor, operand: gl.constexpr, WARPS: gl.constexpr
) -> gl.tensor:
    """Read 128 rows x 64 columns from shared memory, as the left operand of a wgmma."""
    result: gl.constexpr = gl.distributed_type(gl.bfloat16, [128, 64], operand_layout(WARPS))
    a = gl.inline_asm(
        dequantise_asm,
        ("=h", "r", "r"),
        [words.load(word_layout(WARPS)), scales.load(scale_layout(WARPS))],
        result,
        is_pure=True,
    )
    return gl.convert_layout(a, operand, assert_trivial=True)
