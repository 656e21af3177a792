"""What may be asked for when a matmul is cut and launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from protonlab.errors import KernelInputError
from protonlab.kernels._row_classes import CLASSES, LEAST_STAGES

EngineName = Literal["triton", "gluon", "reference"]
EngineChoice = EngineName | Literal["auto"]


def _one_of(*values: Any) -> tuple[Callable[[Any], bool], str]:
    kind = type(values[0])
    words = f"one of {', '.join(map(repr, values))}"
    return lambda value: type(value) is kind and value in values, words


def _between(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and low <= value <= high, f"{low} to {high}"


def _is_classes(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and 1 <= len(value) <= 4
        and all(type(rows) is int and rows in CLASSES for rows in value)
        and sorted({*value}) == [*value]
    )


_FLAG = (lambda value: isinstance(value, bool), "True or False")
_POWERS = (8, 16, 32, 64, 128, 256)
# Field of `MatmulOptions` -> whether a value is legal, and the legal values in words.
_LEGAL: dict[str, tuple[Callable[[Any], bool], str]] = {
    "engine": _one_of(*get_args(EngineName)),
    "block_m": _one_of(*CLASSES),
    "block_n": _one_of(64, 128, 256),
    "block_k": _one_of(32, 64, 128),
    "num_stages": _between(1, 8),
    "num_warps": _one_of(4, 8),
    "persistent": _FLAG,
    "programs_per_sm": _between(1, 16),
    "flatten_loops": _FLAG,
    "warp_specialize": _FLAG,
    "split_k": _between(1, 64),
    "row_classes": (_is_classes, f"an ascending tuple of one to four of {CLASSES}"),
    "strips": _between(1, 8),
}


def check_options(values: Mapping[str, Any]) -> None:
    """Raise for a field that there is not, a value that it may not have, or two that disagree."""
    for field, value in values.items():
        if field not in _LEGAL:
            raise KernelInputError(
                f"matmul_options has no {field!r}; it has {', '.join(sorted(_LEGAL))}"
            )
        is_legal, words = _LEGAL[field]
        if not is_legal(value):
            raise KernelInputError(f"{field}={value!r} cannot be chosen; give {words}")
    rows, classes = values.get("block_m"), values.get("row_classes")
    gluon = values.get("engine") == "gluon"
    if gluon:
        _check_gluon(values)
    elif rows and rows not in _POWERS:
        raise KernelInputError(f"block_m={rows} cannot be chosen; give one of {_POWERS}")
    if rows and classes and classes != (rows,) and not (gluon and classes[-1] == rows):
        raise KernelInputError(
            f"block_m={rows} and row_classes={classes} contradict each other; give row_classes to "
            "engine='gluon', whose last is block_m, and block_m to others"
        )


def _check_gluon(values: Mapping[str, Any]) -> None:
    for name in ("flatten_loops", "warp_specialize"):
        if values.get(name):
            raise KernelInputError(
                f"{name}=True with engine='gluon', whose loads always run ahead, in a warp of "
                "their own; the switch is the plain Triton kernel's: engine='triton'"
            )
    stages = values.get("num_stages", LEAST_STAGES)
    if stages < LEAST_STAGES:
        raise KernelInputError(
            f"num_stages={stages} with engine='gluon', whose ring gives a stage back while it "
            f"reads the next; give {LEAST_STAGES} to 8"
        )


def check_overlap(value: Any, engine: str) -> None:
    """Raise unless the switch is on, off or left to the rule, as it is where there is none."""
    if value is not None and not isinstance(value, bool):
        raise KernelInputError(
            f"overlap_epilogue={value!r} is no position of the switch; give True, False, or None "
            "for what the rule says"
        )
    if engine == "gluon" and value is not None:
        raise KernelInputError(
            f"overlap_epilogue={value} with engine='gluon', whose loads always overlap with the "
            "epilogue; the switch is the plain Triton kernel's: engine='triton'"
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
