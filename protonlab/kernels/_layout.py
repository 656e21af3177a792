"""The order in which a Hopper GPU reads an MXFP4 weight, and packing to and from it.

A storage tile is 128 rows of N by 128 of K: 8192 bytes of codes and 512 of scales. A warp of the
kernel owns 16-row strips, so that its lane ``4 * g + t`` finds the codes of 64 columns in one
16-byte read, already in the order of a wgmma's A registers. With the bits of a row and a column
named as

    n = 128 * nb + 16 * strip + 8 * h + g          k = 128 * kb + 64 * G1 + 32 * G0 + 16 * j1
                                                       + 8 * j0 + 2 * t + e

the codes of (j0, h, e) share a 32-bit word, the words of a tile are ordered by
(G1, strip, g, t, G0, j1), and the scale bytes by (G1, strip, g, G0, h).

In a word the eight codes lie where few integer operations turn them into bfloat16: the two lanes
``e`` 16 bits apart, and the four codes ``2 * j0 + h`` of a lane at the bits in `CODE_BITS`.
Bits ``0x81C081C0`` of the word, or of one rotated by 6, 12 or 10, are then sign, the two lowest
exponent bits and the highest mantissa bit of two bfloat16: e2m1 times 2**-126. A multiplication by
the bfloat16 whose exponent field is the stored scale makes up for it.

The stored scale is ``e8m0 + scale_shift``, with the largest shift, at most 126, that the weight's
largest scale leaves room for. So a product of kernel and weight comes out multiplied by
``2 ** (scale_shift - 126)``, at most 1, and the kernel multiplies the sum by the inverse,
`PackedWeight.output_scale`. That is exact, also in the smallest of bfloat16's normal numbers, if
the scales of a weight (blocks of zeros aside) span at most a factor 2**126, none is NaN and none
below 2**-125: `PackedWeight.fast` says so. What x may hold follows: float32 sums keep every bit of
products of x and w from ``2**-126 * output_scale`` up, where ``output_scale`` is 1, or half the
largest scale if that is more.

Other weights keep their e8m0 codes as they are, shift 0, and kernels take another way, which
converts an eighth of each value through float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._mxfp4 import GROUP, NAN_SCALE, MXFP4Weight

TILE = 128  # rows of N, and columns of K, in a storage tile
TILE_BYTES = TILE * TILE // 2
TILE_SCALES = TILE * TILE // GROUP
ALIGNMENT = 16  # bytes that a lane reads at once
LARGEST_SHIFT = 126  # undoes the 2**-126 of the codes
EIGHTH = 3  # an eighth of the largest value, 6 * 2**127, is a bfloat16; so is one of the smallest
_LARGEST_STORED = 254  # the exponent field 255 is infinity

# For the code 2 * j0 + h: where its bits 0 to 3 (mantissa, exponent, exponent, sign) lie in a
# word, in lane e = 0; lane 1 has them 16 bits on, round the end.
CODE_BITS = ((6, 7, 8, 15), (0, 1, 2, 9), (26, 27, 28, 3), (4, 5, 30, 13))


@dataclass(frozen=True, eq=False)
class PackedWeight:
    """An MXFP4 weight in Hopper's order; made by `pack`.

    Parameters
    ----------
    values
        uint8, shape (E, ceil(N / 128), ceil(K / 128), 8192).
    scales
        uint8, shape (E, ceil(N / 128), ceil(K / 128), 512): e8m0 plus `scale_shift`.
    shape
        (N, K), or (E, N, K) for a mixture of experts.
    scale_shift
        What was added to the e8m0 codes.
    fast
        Whether the fast path, bfloat16 arithmetic, is exact for this weight.
    """

    values: torch.Tensor
    scales: torch.Tensor
    shape: tuple[int, ...]
    scale_shift: int
    fast: bool

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.values.device

    @property
    def experts(self) -> int:
        """Number of experts; 1 for a weight of two dimensions."""
        return self.values.shape[0]

    @property
    def output_scale(self) -> float:
        """What a kernel multiplies its sums by."""
        return 2.0 ** (self.undo - self.scale_shift)

    @property
    def undo(self) -> int:
        """What a kernel takes the stored scales to be too large by."""
        return LARGEST_SHIFT if self.fast else EIGHTH

    def expert(self, index: int) -> PackedWeight:
        """Take one expert's weight, without a copy."""
        values, scales = self.values[index : index + 1], self.scales[index : index + 1]
        return PackedWeight(values, scales, self.shape[-2:], self.scale_shift, self.fast)

    def to(self, device: torch.device | str) -> PackedWeight:
        """Copy to a device."""
        values, scales = self.values.to(device), self.scales.to(device)
        return PackedWeight(values, scales, self.shape, self.scale_shift, self.fast)


def pack(w: MXFP4Weight) -> PackedWeight:
    """Put a weight into Hopper's order. Reads its scales on the host, so do it once, when loading.

    Raises
    ------
    KernelInputError
        If it is no `MXFP4Weight`, or has a dimension of 0.

    Examples
    --------
    >>> w = pack(quantize_mxfp4(torch.randn(8, 256, 512)))
    >>> w.shape, tuple(w.values.shape), w.fast
    ((8, 256, 512), (8, 2, 4, 8192), True)
    """
    if not isinstance(w, MXFP4Weight) or 0 in w.shape:
        raise KernelInputError(
            f"w is a {type(w).__name__} of shape {tuple(getattr(w, 'shape', ()))}; pack takes an "
            "MXFP4Weight without a dimension of 0, once: pack(quantize_mxfp4(w))"
        )
    n, k = w.shape[-2:]
    codes = w.codes.reshape(-1, n, k // 2)
    blocks = w.scales.reshape(-1, n, k // GROUP)
    rows, columns = -(-n // TILE), -(-k // TILE)
    shift, fast = _shift(codes, blocks)
    values = torch.empty(len(codes), rows, columns, TILE_BYTES, dtype=torch.uint8, device=w.device)
    scales = torch.empty(len(codes), rows, columns, TILE_SCALES, dtype=torch.uint8, device=w.device)
    missing = (rows * TILE - n, columns * TILE - k)
    for expert, its_codes in enumerate(codes):  # one at a time, for memory
        pairs = _padded(its_codes, missing[0], missing[1] // 2)
        values[expert] = _pack_codes(torch.stack((pairs & 15, pairs >> 4), -1).flatten(-2))
        scales[expert] = _pack_scales(
            _padded(blocks[expert] + shift, missing[0], missing[1] // GROUP)
        )
    return PackedWeight(values, scales, w.shape, shift, fast)


def unpack(w: PackedWeight) -> MXFP4Weight:
    """Put a weight back into rows: the exact inverse of `pack`.

    Raises
    ------
    KernelInputError
        If the tensors' shapes do not fit the weight's shape.
    """
    check_packed(w)
    n, k = w.shape[-2:]
    codes = torch.empty(w.experts, n, k // 2, dtype=torch.uint8, device=w.device)
    scales = torch.empty(w.experts, n, k // GROUP, dtype=torch.uint8, device=w.device)
    for expert in range(w.experts):
        pairs = _unpack_codes(w.values[expert])[:n, :k].reshape(n, k // 2, 2)
        codes[expert] = pairs[..., 0] | (pairs[..., 1] << 4)
        scales[expert] = _unpack_scales(w.scales[expert])[:n, : k // GROUP] - w.scale_shift
    return MXFP4Weight(codes.view(*w.shape[:-1], k // 2), scales.view(*w.shape[:-1], k // GROUP))


def check_packed(w: PackedWeight) -> None:
    """Raise unless the tensors have the shapes and the alignment that the kernels count on."""
    if not isinstance(w, PackedWeight):
        raise KernelInputError(f"w is a {type(w).__name__}; unpack takes what pack made")
    n, k = w.shape[-2:]
    tiles = (w.shape[0] if len(w.shape) == 3 else 1, -(-n // TILE), -(-k // TILE))
    for name, tensor, size in (("values", w.values, TILE_BYTES), ("scales", w.scales, TILE_SCALES)):
        shape, wanted = tuple(tensor.shape), (*tiles, size)
        if shape != wanted or tensor.dtype != torch.uint8 or not tensor.is_contiguous():
            raise KernelInputError(
                f"packed {name} are {tensor.dtype} of shape {shape}; a weight of shape {w.shape} "
                f"needs contiguous uint8 of shape {wanted}: make it with pack(quantize_mxfp4(w))"
            )
        if tensor.storage_offset() % ALIGNMENT:
            raise KernelInputError(
                f"packed {name} begin {tensor.storage_offset()} bytes into their storage; kernels "
                f"read {ALIGNMENT} bytes at a time: {name}.clone()"
            )
    if w.values.device != w.scales.device:
        raise KernelInputError(
            f"packed values are on {w.values.device} and scales on {w.scales.device}; use "
            "w.to(device), which moves both"
        )


def _shift(codes: torch.Tensor, scales: torch.Tensor) -> tuple[int, bool]:
    """Choose what to add to the scales, and say whether the fast path is then exact."""
    largest, smallest = 0, NAN_SCALE
    for its_codes, its_scales in zip(codes, scales, strict=True):
        pairs = its_codes.reshape(*its_scales.shape, GROUP // 2)
        holds_any = ((pairs & 0x77) != 0).any(-1)
        largest = max(largest, int(its_scales.max()))
        smallest = min(smallest, int(torch.where(holds_any, its_scales, NAN_SCALE).min()))
    if largest == NAN_SCALE:
        return 0, False
    shift = min(LARGEST_SHIFT, _LARGEST_STORED - largest)
    # Half a scale, the smallest value, must be a normal bfloat16: none may be flushed to zero.
    return (shift, True) if smallest + shift >= 128 else (0, False)


def _padded(tensor: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    return torch.nn.functional.pad(tensor, (0, columns, 0, rows))


def _pack_codes(codes: torch.Tensor) -> torch.Tensor:
    """Order the codes of one expert, (rows * 128, columns * 128) of 0 to 15, into bytes."""
    rows, columns = codes.shape[0] // TILE, codes.shape[1] // TILE
    # nb strip h g, kb G1 G0 j1 j0 t e -> nb kb G1 strip g t G0 j1, j0 h, e
    bits = codes.reshape(rows, 8, 2, 8, columns, 2, 2, 2, 2, 4, 2)
    bits = bits.permute(0, 4, 5, 1, 3, 9, 6, 7, 8, 2, 10).reshape(rows, columns, 2048, 4, 2)
    words = torch.zeros(bits.shape[:3], dtype=torch.int32, device=codes.device)
    for slot, places in enumerate(CODE_BITS):
        for lane in range(2):
            code = bits[..., slot, lane].to(torch.int32)
            for bit, place in enumerate(places):
                words |= ((code >> bit) & 1) << ((place + 16 * lane) % 32)
    return words.view(torch.uint8)


def _unpack_codes(values: torch.Tensor) -> torch.Tensor:
    rows, columns = values.shape[:2]
    words = values.view(torch.int32)
    codes = torch.zeros(rows, columns, 2048, 4, 2, dtype=torch.uint8, device=values.device)
    for slot, places in enumerate(CODE_BITS):
        for lane in range(2):
            for bit, place in enumerate(places):
                found = (words >> ((place + 16 * lane) % 32)) & 1
                codes[..., slot, lane] |= (found << bit).to(torch.uint8)
    tiles = codes.reshape(rows, columns, 2, 8, 8, 4, 2, 2, 2, 2, 2)
    tiles = tiles.permute(0, 3, 9, 4, 1, 2, 6, 7, 8, 5, 10)
    return tiles.reshape(rows * TILE, columns * TILE)


def _pack_scales(scales: torch.Tensor) -> torch.Tensor:
    rows, columns = scales.shape[0] // TILE, scales.shape[1] * GROUP // TILE
    # nb strip h g, kb G1 G0 -> nb kb G1 strip g G0 h
    tiles = scales.reshape(rows, 8, 2, 8, columns, 2, 2).permute(0, 4, 5, 1, 3, 6, 2)
    return tiles.reshape(rows, columns, TILE_SCALES)


def _unpack_scales(scales: torch.Tensor) -> torch.Tensor:
    rows, columns = scales.shape[:2]
    tiles = scales.reshape(rows, columns, 2, 8, 8, 2, 2).permute(0, 3, 6, 4, 1, 2, 5)
    return tiles.reshape(rows * TILE, columns * TILE // GROUP)
