"""What a saved profile carries beside its frames, checked while it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.model import MetricColumn
from protonlab.model.repeats import Repeats
from protonlab.model.sentences import printable

Stored = TypeVar("Stored")


def convert(value: Any, kind: type[Stored], place: str) -> Stored:
    """Check plain values against a type; ProfileFormatError names the place."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProfileFormatError(f"{place}: {error}") from None


def repeats_of(
    stored: Any, frames: pd.DataFrame, columns: Sequence[MetricColumn], source: str
) -> Repeats | None:
    """Read what each repeat recorded; None where nothing was repeated."""
    if stored is None:
        return None
    names = ["repeat", "frame_id", *(each.column for each in columns if each.additive)]
    try:
        number, values = int(stored["number"]), stored["values"]
        table = pd.DataFrame({name: values[name] for name in names if name in values}, dtype=object)
        for name in table:
            kind = np.int64 if name in names[:2] else frames[name].dtype
            table[name] = table[name].astype(kind)
        fits = table["repeat"].between(0, number - 1) & table["frame_id"].between(
            0, len(frames) - 1
        )
        if not fits.all():
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ProfileFormatError(
            f"{source}: protonlab.repeats does not fit the tree's {len(frames)} frames"
        ) from None
    return Repeats(number, table)


def check_times(frames: pd.DataFrame, source: str) -> None:
    """Check that times and counts are numbers, and none is negative."""
    for column in ("time_ns", "count"):
        values: Any = frames[column].array
        numeric = pd.api.types.is_numeric_dtype(values.dtype)
        if numeric:
            odd = values.to_numpy(dtype=float, na_value=np.nan) < 0
        else:
            odd = np.array([value is not None for value in values])
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            held = values[row] if numeric else printable(repr(values[row]))
            expected = "0 or more" if numeric else "a number"
            raise ProfileFormatError(
                f"{source}: frame {_path(frames, row)} has {column} {held}; expected {expected}"
            )


def _path(frames: pd.DataFrame, row: int) -> str:
    names = []
    while row >= 0:
        names.append(str(frames["name"].iloc[row]))
        row = int(frames["parent_id"].iloc[row])
    return " > ".join(reversed(names))
