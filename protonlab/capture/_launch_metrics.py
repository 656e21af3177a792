"""What a kernel's launch metadata holds, sorted into values that Proton can record.

Proton keeps an int64, a double or (since Triton 3.7) vectors of one of the two. What it would
bend silently (2**63 becomes a float, NaN becomes null) is told apart here.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

RESERVED_KEYS = frozenset({"name", "function", "stream"})
# Written by Proton for each kernel; a metric of the same name would be added to them.
_PROTONS_KEYS = frozenset({"count", "time (ns)", "device_id", "device_type"})
LOWEST, HIGHEST = -(2**63), 2**63 - 1
_FLOPS_KEYS = frozenset({"flops", "flops8", "flops16", "flops32", "flops64"})


class Unrecordable(Exception):
    """A metadata value that Proton cannot keep; the message says why."""


class LaunchMetrics(NamedTuple):
    """The metrics of one launch.

    Parameters
    ----------
    host
        Key -> int, float, or list of one of them.
    device
        Key -> tensor on a GPU, to be copied without a synchronisation.
    problems
        Key -> why there is no metric under it.
    """

    host: dict[str, Any]
    device: dict[str, Any]
    problems: dict[str, str]


def sort_metrics(
    metadata: Mapping[str, Any],
    *,
    record: frozenset[str] | None,
    types: dict[str, type],
    vectors: bool,
) -> LaunchMetrics:
    """Sort launch metadata into metrics and problems.

    Parameters
    ----------
    metadata
        The evaluated launch metadata.
    record
        Keys to record; None for all.
    types
        Key -> int or float as first seen, extended here: Proton refuses a metric that changes
        between the two.
    vectors
        Whether this Triton records lists.
    """
    host: dict[str, Any] = {}
    device: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for key, value in metadata.items():
        if key in RESERVED_KEYS or (record is not None and key not in record):
            continue
        kind = type(value)
        # The usual case, for speed: a number of the type that its key had before.
        if kind is types.get(key) and (
            isfinite(value) if kind is float else LOWEST <= value <= HIGHEST
        ):
            host[key] = value
            continue
        if value is None:
            continue
        try:
            if not isinstance(key, str) or not key:
                raise Unrecordable("a metric's name is a text that is not empty")
            if key in _PROTONS_KEYS:
                raise Unrecordable("Proton itself records something under that name")
            plain = _plain(value)
            if hasattr(plain, "data_ptr"):
                if not vectors and plain.ndim:
                    raise Unrecordable("this Triton records no vectors, 3.7 and later do")
                device[key] = plain
            elif isinstance(plain, list):
                if not vectors:
                    raise Unrecordable("this Triton records no vectors, 3.7 and later do")
                host[key] = [checked(key, item, types, plain) for item in plain]
            else:
                host[key] = checked(key, plain, types)
        except Unrecordable as error:
            problems[str(key)] = str(error)
        except Exception as error:  # of the value's own, or a number beyond any float
            problems[str(key)] = f"to read it raised {type(error).__name__}: {error}"
    return LaunchMetrics(host, device, problems)


def _plain(value: Any) -> Any:
    """Make a Python number of a value, a list of them, or leave a GPU tensor."""
    if isinstance(value, int | float):
        return value
    if hasattr(value, "data_ptr"):
        return _plain_tensor(value)
    if hasattr(value, "tolist") and hasattr(value, "ndim"):  # numpy
        if value.ndim > 1:
            raise Unrecordable(f"an array of {value.ndim} dimensions; give one of at most 1")
        value = value.tolist()
    if isinstance(value, list | tuple):
        if not value:
            raise Unrecordable("it is empty")
        return [_number(item) for item in value]
    return _number(value)


def _plain_tensor(value: Any) -> Any:
    if value.ndim > 1:
        raise Unrecordable(f"a tensor of {value.ndim} dimensions; give one of at most 1")
    if value.numel() == 0:
        raise Unrecordable("it is empty")
    if value.is_complex():
        raise Unrecordable("complex numbers cannot be recorded")
    if value.device.type == "cuda":
        return value
    if value.device.type != "cpu":
        raise Unrecordable(f"it is on the device {value.device}; give a tensor on CPU or GPU")
    return value.item() if value.ndim == 0 else _plain(value.tolist())


def _number(value: Any) -> int | float:
    if isinstance(value, int | float):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # numpy or torch scalar
        value = value.item()
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise Unrecordable(f"a {type(value).__name__} is no number")


def checked(
    key: str, value: int | float, types: dict[str, type], vector: Iterable[Any] = ()
) -> int | float:
    """Give the value the type that its key has had so far."""
    if isinstance(value, float) and not isfinite(value):
        raise Unrecordable(f"it is {value}")
    if key in _FLOPS_KEYS:
        types[key] = float
        return float(value)
    if key == "bytes" or isinstance(value, bool):
        value = int(value)
    wanted = types.get(key)
    if wanted is None:
        wanted = float if any(isinstance(item, float) for item in (value, *vector)) else int
        types[key] = wanted
    if wanted is int and isinstance(value, float):
        if not value.is_integer():
            raise Unrecordable(
                f"it was an int in an earlier launch and is {value} now; Proton keeps one type a "
                f"metric, so always return float({key})"
            )
        value = int(value)
    if wanted is float:
        return float(value)
    if not LOWEST <= value <= HIGHEST:
        raise Unrecordable(f"{value} does not fit in 64 bits; return it as a float")
    return value
