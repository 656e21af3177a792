"""Copies of tensors that lie elsewhere: that decides over a percent of a short kernel's time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from protonlab.errors import ProtonLabError

_UNIT = 512  # bytes; torch's allocator aligns to as many
_LARGEST_GAP = 2**26
_LARGEST_SHIFT, _SHARE_OF_SPARE = 2**32, 4
# torch keeps tensors of up to 1 MiB by themselves, and hands out the smallest hole that is enough.
_SMALL_BITS, _MOST_SMALL = (9, 20), 400


@contextmanager
def scattered() -> Iterator[None]:
    """Have what is allocated inside lie in other pages of the GPU than what was freed before.

    torch would hand out again what it keeps, and the driver what it was given back last: so torch
    keeps nothing, and until the end a block of random size, up to a quarter of what is to spare, is
    in the way of large tensors, and a random number of small ones in that of small tensors.
    """
    torch.cuda.empty_cache()
    spare = torch.cuda.mem_get_info()[0] - torch.cuda.memory_allocated()
    blocks = []
    with suppress(torch.OutOfMemoryError):  # another process was faster
        for size in _blocking_sizes(min(_LARGEST_SHIFT, spare // _SHARE_OF_SPARE)):
            blocks.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    try:
        yield
    finally:
        blocks.clear()
        with suppress(RuntimeError):  # a variant's kernel may have broken CUDA
            torch.cuda.empty_cache()


def _blocking_sizes(most: int) -> list[int]:
    """Draw bytes of one block of up to so many, and of small ones, as many of each magnitude."""
    draw = random.Random()
    small = range(draw.randrange(_MOST_SMALL))
    return [draw.randrange(max(1, most)), *(int(2 ** draw.uniform(*_SMALL_BITS)) for _ in small)]


def elsewhere(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor to memory of its own, behind a gap of random size.

    For functions that make variants anew (`compare_variants`): a plain clone may come to lie where
    the last but one lay. Chance has no seed here, since the place of physical memory has none.

    Parameters
    ----------
    tensor
        Dense, of any shape, strides and type, on any device; what shares memory in it, as an
        expanded tensor's elements do, shares it in the copy.

    Raises
    ------
    ProtonLabError
        If it is no tensor, or a sparse one.

    Examples
    --------
    >>> def make():
    ...     x, w = elsewhere(x0), elsewhere(w0)
    ...     return {"torch": lambda: x @ w.T, "ours": lambda: matmul(x, w)}
    >>> compare_variants(make)  # doctest: +SKIP
    """
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
        what = getattr(tensor, "layout", None) or type(tensor).__name__
        raise ProtonLabError(
            f"elsewhere takes one dense tensor, and was given one of type {what}; give it the "
            "dense tensors that this consists of, one by one"
        )
    size, elements = tensor.element_size(), min(1, tensor.numel())
    if elements:
        for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
            elements += (length - 1) * stride
    gap = random.Random().randrange(0, _LARGEST_GAP, _UNIT)
    room = torch.empty(gap + elements * size, dtype=torch.uint8, device=tensor.device)
    # Its memory as it lies: elements of an expanded tensor share theirs, and cannot be written to.
    placed = room[gap:].view(tensor.dtype).copy_(tensor.as_strided((elements,), (1,)))
    return placed.as_strided(tensor.shape, tensor.stride())
