"""MXFP4 weights as the OCP microscaling formats define them: e2m1 codes, e8m0 scales of 32."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from protonlab.errors import KernelInputError

GROUP = 32  # weights along K that share a scale
NAN_SCALE = 255  # the one e8m0 code that is no power of two
SCALE_BIAS = 127

# The value of each e2m1 code; its bits are sign, two of exponent, one of mantissa.
VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
# The value of each e8m0 code.
_SCALES = (*(2.0 ** (code - SCALE_BIAS) for code in range(NAN_SCALE)), float("nan"))

# Between two neighbours: their middle, and whether the middle itself goes up, to the even code.
_MIDDLES = (
    (0.25, False),
    (0.75, True),
    (1.25, False),
    (1.75, True),
    (2.5, False),
    (3.5, True),
    (5.0, False),
)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True, eq=False)
class MXFP4Weight:
    """A weight in four bits, row by row, as files hold it.

    Parameters
    ----------
    codes
        uint8, shape (N, K / 2) or (E, N, K / 2). A byte holds the codes of two neighbours along K,
        the even one in its low half.
    scales
        uint8, shape (N, K / 32) or (E, N, K / 32): e8m0, so code ``c`` is ``2 ** (c - 127)`` and
        255 is NaN.

    Raises
    ------
    KernelInputError
        If the two do not belong together.

    Examples
    --------
    >>> w = quantize_mxfp4(torch.randn(256, 512))
    >>> w.shape
    (256, 512)
    """

    codes: torch.Tensor
    scales: torch.Tensor

    def __post_init__(self) -> None:
        codes, scales = self.codes, self.scales
        for name, tensor in (("codes", codes), ("scales", scales)):
            if not isinstance(tensor, torch.Tensor):
                raise KernelInputError(
                    f"{name} are a {type(tensor).__name__}; give a tensor of uint8, or make a "
                    "weight with quantize_mxfp4(w)"
                )
            if tensor.dtype != torch.uint8 or tensor.ndim not in (2, 3):
                raise KernelInputError(
                    f"{name} are {tensor.dtype} of shape {tuple(tensor.shape)}; an MXFP4 weight "
                    "holds uint8 of 2 dimensions, or 3 for a mixture of experts; make one with "
                    "quantize_mxfp4(w)"
                )
        wanted = (*scales.shape[:-1], scales.shape[-1] * GROUP // 2)
        if tuple(codes.shape) != wanted:
            raise KernelInputError(
                f"codes have the shape {tuple(codes.shape)}, but with scales of shape "
                f"{tuple(scales.shape)} they need {wanted}: a scale covers 32 codes, two a byte"
            )
        if codes.device != scales.device:
            raise KernelInputError(
                f"codes are on {codes.device} and scales on {scales.device}; move one of them"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weight that this stands for: (N, K) or (E, N, K)."""
        return (*self.codes.shape[:-1], self.codes.shape[-1] * 2)

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.codes.device

    def to(self, device: torch.device | str) -> MXFP4Weight:
        """Copy to a device."""
        return MXFP4Weight(self.codes.to(device), self.scales.to(device))


def quantize_mxfp4(w: torch.Tensor) -> MXFP4Weight:
    """Round a weight to MXFP4.

    A block of 32 neighbours along K gets the scale ``2 ** (floor(log2(max |w|)) - 2)``, limited to
    e8m0's range, and each of its values the nearest e2m1 value, ties to the even code. Values
    beyond 6 scales become 6 scales. A block of zeros gets scale code 0. A block that holds NaN or
    infinity, which e2m1 has no code for, becomes NaN as a whole: scale code 255, codes 0.

    Parameters
    ----------
    w
        Floating point, shape (N, K) or (E, N, K), K a multiple of 32.

    Raises
    ------
    KernelInputError
        If it is of another type or shape.

    Examples
    --------
    >>> dequantize(quantize_mxfp4(torch.tensor([[0.9, -7.0] + [0.0] * 30])))[0, :2]
    tensor([ 1., -6.])
    """
    if not isinstance(w, torch.Tensor):
        raise KernelInputError(
            f"w is a {type(w).__name__}; give a torch tensor of shape (N, K) or (E, N, K)"
        )
    if w.dtype not in _FLOATS or w.ndim not in (2, 3):
        raise KernelInputError(
            f"w is {w.dtype} of shape {tuple(w.shape)}; quantize_mxfp4 takes float16, bfloat16, "
            "float32 or float64 of shape (N, K) or (E, N, K)"
        )
    *lead, n, k = w.shape
    if k % GROUP or not k:
        raise KernelInputError(
            f"w has K = {k}, which is no multiple of {GROUP} (a scale covers {GROUP} values along "
            "K); pad K with zeros: torch.nn.functional.pad(w, (0, -K % 32))"
        )
    if 0 in w.shape:
        raise KernelInputError(f"w has the shape {tuple(w.shape)}; no dimension may be 0")
    codes = torch.empty(*lead, n, k // 2, dtype=torch.uint8, device=w.device)
    scales = torch.empty(*lead, n, k // GROUP, dtype=torch.uint8, device=w.device)
    flat = (w.reshape(-1, n, k), codes.view(-1, n, k // 2), scales.view(-1, n, k // GROUP))
    for expert, its_codes, its_scales in zip(*flat, strict=True):  # one at a time, for memory
        _quantize(expert, its_codes, its_scales)
    return MXFP4Weight(codes, scales)


def _quantize(w: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor) -> None:
    wide = w if w.dtype == torch.float64 else w.to(torch.float32)  # both exact
    blocks = wide.reshape(w.shape[0], -1, GROUP)
    largest = blocks.abs().amax(-1)
    known = largest.isfinite()
    _, exponent = torch.frexp(torch.where(known, largest, 1.0))  # largest < 2 ** exponent
    exponent = torch.where(largest > 0, exponent - 3, -SCALE_BIAS).clamp(-SCALE_BIAS, SCALE_BIAS)
    scales.copy_(torch.where(known, exponent + SCALE_BIAS, NAN_SCALE))
    powers = torch.tensor(_SCALES, dtype=torch.float64, device=w.device).to(wide.dtype)
    scaled = blocks * powers[(SCALE_BIAS - exponent).int()][..., None]
    size = scaled.abs()
    code = torch.zeros(blocks.shape, dtype=torch.uint8, device=w.device)
    for middle, upwards in _MIDDLES:
        code += size >= middle if upwards else size > middle
    code += scaled.signbit().to(torch.uint8) * 8
    code *= known[..., None]
    pairs = code.reshape(w.shape[0], -1, 2)
    codes.copy_(pairs[..., 0] | (pairs[..., 1] << 4))


def dequantize(w: MXFP4Weight, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Give the values that a weight stands for.

    Parameters
    ----------
    w
        The weight.
    dtype
        Of the result. float32 and bfloat16 hold every value but those of 2**128 and more, which
        become infinite; float64 holds all.

    Returns
    -------
    torch.Tensor
        Shape (N, K) or (E, N, K).

    Raises
    ------
    KernelInputError
        If w is another kind of weight, or the type holds no fractions.

    Examples
    --------
    >>> w = MXFP4Weight(torch.tensor([[0x72] * 16], dtype=torch.uint8),
    ...                 torch.tensor([[128]], dtype=torch.uint8))
    >>> dequantize(w)[0, :2]
    tensor([ 2., 12.])
    """
    if not isinstance(w, MXFP4Weight):
        raise KernelInputError(
            f"w is a {type(w).__name__}; dequantize takes an MXFP4Weight: unpack(w) of a packed one"
        )
    if not dtype.is_floating_point:
        raise KernelInputError(
            f"{dtype} does not hold a weight's fractions; give torch.float32, bfloat16 or float64"
        )
    out = torch.empty(w.shape, dtype=dtype, device=w.device)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    values = torch.tensor(VALUES, dtype=wide, device=w.device)
    scales = torch.tensor(_SCALES, dtype=torch.float64, device=w.device).to(wide)
    n, k = w.shape[-2:]
    flat = (w.codes.reshape(-1, n, k // 2), w.scales.reshape(-1, n, k // GROUP))
    for codes, blocks, target in zip(*flat, out.view(-1, n, k), strict=True):
        both = torch.stack((codes & 15, codes >> 4), -1).reshape(n, -1, GROUP)
        target.copy_((values[both.int()] * scales[blocks.int()][..., None]).reshape(n, k))
    return out
