"""What may be asked for when a matmul is cut and launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from protonlab.errors import KernelInputError

EngineName = Literal["triton", "gluon", "reference"]


def _one_of(values: tuple[Any, ...]) -> tuple[Callable[[Any], bool], str]:
    return lambda value: value in values, f"one of {', '.join(map(repr, values))}"


def _power_of_two(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    legal = [1 << bit for bit in range(low.bit_length() - 1, high.bit_length())]
    return lambda value: type(value) is int and value in legal, f"one of {legal}"


def _between(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and low <= value <= high, f"{low} to {high}"


def _is_classes(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and 1 <= len(value) <= 4
        and all(type(rows) is int and 0 < rows <= 256 and rows % 8 == 0 for rows in value)
        and sorted({*value}) == [*value]
    )


_FLAG = (lambda value: isinstance(value, bool), "True or False")
# Field of `MatmulOptions` -> whether a value is legal, and the legal values in words.
_LEGAL: dict[str, tuple[Callable[[Any], bool], str]] = {
    "engine": _one_of(get_args(EngineName)),
    "block_m": _power_of_two(8, 256),
    "block_n": _power_of_two(64, 256),
    "block_k": _power_of_two(32, 128),
    "num_stages": _between(1, 8),
    "num_warps": _power_of_two(4, 8),
    "persistent": _FLAG,
    "programs_per_sm": _between(1, 16),
    "flatten_loops": _FLAG,
    "warp_specialize": _FLAG,
    "split_k": _between(1, 64),
    "row_classes": (_is_classes, "one to four ascending multiples of 8 up to 256, as a tuple"),
    "strips": _between(1, 8),
}


def check_options(values: Mapping[str, Any]) -> None:
    """Raise for a field that there is not, or a value that it may not have."""
    for field, value in values.items():
        if field not in _LEGAL:
            raise KernelInputError(
                f"matmul_options has no {field!r}; it has {', '.join(sorted(_LEGAL))}"
            )
        is_legal, words = _LEGAL[field]
        if not is_legal(value):
            raise KernelInputError(f"{field}={value!r} cannot be chosen; give {words}")


def check_overlap(value: Any) -> None:
    """Raise unless the switch is on, off or left to the rule."""
    if value is not None and not isinstance(value, bool):
        raise KernelInputError(
            f"overlap_epilogue={value!r} is no position of the switch; give True, False, or None "
            "for what the rule says"
        )


def check_shape(rows: int, n: int, k: int, experts: int | None, sms: int) -> None:
    """Raise unless these can be a matmul's, on a GPU."""
    least = {"rows": 0, "n": 1, "k": 1, "experts": 1, "sms": 1}
    for name, value in zip(least, (rows, n, k, experts, sms), strict=True):
        if name == "experts" and value is None:
            continue
        if not isinstance(value, int) or value < least[name]:
            without = ", or None without routing" if name == "experts" else ""
            raise KernelInputError(
                f"{name}={value!r} is no number of a matmul's; give an int from {least[name]} "
                f"on{without}"
            )
