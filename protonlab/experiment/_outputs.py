"""Whether two variants return the same: tensors, or what holds tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch


class Outputs:
    """What one call returned, copied to the host: the next call may write over it.

    Parameters
    ----------
    returned
        A tensor, an array, a number, or sequences, mappings and dataclasses of them.

    Attributes
    ----------
    leaves
        Tensors by their place in what was returned.
    left_out
        What is a number or a tensor and cannot be compared, in words.
    """

    def __init__(self, returned: Any) -> None:
        self.leaves: dict[str, torch.Tensor] = {}
        self.left_out: list[str] = []
        try:
            found = list(_leaves(returned, ""))
        except RecursionError:
            self.left_out.append("a result that holds itself")
            return
        for place, leaf in found:
            tensor = _tensor(leaf)
            if tensor is None:
                self.left_out.append(f"{place or 'the result'} ({_described(leaf)})")
            else:
                self.leaves[place] = tensor.detach().to("cpu", copy=True)


def compared(names: tuple[str, str], first: Outputs, second: Outputs) -> tuple[bool | None, str]:
    """Compare what two variants returned.

    Equal is what `torch.testing.assert_close` calls so by default, by the type of numbers: bfloat16
    within 1.6 %, float32 within 1.3e-6, integers exactly. NaN equals NaN.

    Returns
    -------
    equal
        None where there is nothing to compare.
    words
        The same for a reader.
    """
    ours, theirs = first.leaves, second.leaves
    left_out = next(iter(first.left_out + second.left_out), "")
    if not ours and not theirs:
        return None, f"not compared: {left_out or 'the variants return no tensors'}"
    if ours.keys() != theirs.keys():
        odd = sorted(ours.keys() ^ theirs.keys())[0]
        owner = names[0] if odd in ours else names[1]
        alone = "a tensor by itself" if ours and theirs else "a tensor"
        return False, f"only {owner} returns {odd or alone}"
    exact = True
    for place, tensor in ours.items():
        other = theirs[place]
        label = place or "the result"
        if (tensor.shape, tensor.dtype) != (other.shape, other.dtype):
            return False, (
                f"{label} is {_kind(tensor)} of {names[0]} and {_kind(other)} of {names[1]}"
            )
        same = tensor.dtype == other.dtype and torch.equal(_bits(tensor), _bits(other))
        exact &= same
        if not same and (difference := _difference(tensor, other)):
            return False, f"{label}: {difference}"
    count = f"{len(ours)} tensors" if len(ours) > 1 else "one tensor"
    but = f", not {left_out}" if left_out else ""
    return True, f"{'identical' if exact else 'equal within rounding'} ({count} compared{but})"


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.Tensor) and value.is_nested:
        yield from _leaves(value.unbind(), place)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "biufc":
            yield place, value
    elif isinstance(value, (torch.Tensor, bool, int, float, complex)):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}[{key!r}]")
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{index}]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _leaves(getattr(value, field.name), f"{place}.{field.name}")


def _tensor(leaf: Any) -> torch.Tensor | None:
    """Make it a dense tensor; None where it is a number that torch does not know, or no numbers."""
    if isinstance(leaf, torch.Tensor):
        if leaf.is_meta or leaf.is_quantized:
            return None
        return leaf if leaf.layout is torch.strided else leaf.to_dense()
    try:
        return torch.as_tensor(leaf.copy() if isinstance(leaf, np.ndarray) else leaf)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def _described(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        return "a meta tensor" if leaf.is_meta else f"a tensor of {leaf.dtype}"
    if isinstance(leaf, (np.ndarray, np.generic)):
        return f"of numpy's type {leaf.dtype}"
    return "an int of more than 64 bits" if isinstance(leaf, int) else type(leaf).__name__


def _kind(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """View a tensor as bytes, in which NaN equals itself."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _difference(tensor: torch.Tensor, other: torch.Tensor) -> str:
    """How two tensors of one type differ; empty when they are close."""
    if tensor.is_floating_point() and tensor.element_size() == 1:
        tensor, other = tensor.to(torch.float32), other.to(torch.float32)
    try:
        torch.testing.assert_close(tensor, other, equal_nan=True)
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines()[1:] if line.strip()]
        return "; ".join(lines) or str(error)
    return ""
