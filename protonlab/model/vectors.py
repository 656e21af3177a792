"""Numbers and vectors under one metric's name: a column for each, so that the numbers still sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from protonlab.model.frames import BoolArray, MetricColumn
from protonlab.model.sentences import some

# What Proton's name of a metric ends in where only its vectors are meant.
VECTOR = " (vector)"
_MOST_NAMES = 3


def parted(
    table: pd.DataFrame, columns: Sequence[MetricColumn]
) -> tuple[pd.DataFrame, tuple[MetricColumn, ...]]:
    """Move vectors out of columns that hold numbers, too, into columns of their own.

    One kernel may return ``{"n_tokens": 64}`` and another ``{"n_tokens": [10, 20, 34]}``: then
    ``n_tokens`` keeps the numbers, and ``n_tokens_vector`` takes the vectors.

    Parameters
    ----------
    table
        Its metric columns; others stay as they are.
    columns
        The metric columns.

    Returns
    -------
    table, columns
        The same two where nothing is mixed.
    """
    found: list[MetricColumn] = []
    for column in columns:
        values = table[column.column]
        vectors = _vectors(values)
        if vectors is None:
            found.append(column)
            continue
        numbers = replace(column, additive=MetricColumn.from_raw(column.raw).additive)
        apart = MetricColumn(f"{column.column}_vector", column.raw + VECTOR, "", additive=False)
        held = values.where(vectors, None)
        if apart.column in table:  # of a part that held both
            held = table[apart.column].where(table[apart.column].notna(), held)
        rest = values.mask(vectors, None)
        whole = all(isinstance(value, (int, np.integer)) for value in rest[rest.notna()])
        rest = rest.where(rest.notna(), pd.NA if whole else np.nan)
        table = table.assign(
            **{column.column: rest.astype("Int64" if whole else np.float64), apart.column: held}
        )
        found += [numbers, apart]
    if len(found) == len(columns):
        return table, tuple(columns)
    every = {column.column: column for column in found}
    return table[[*(name for name in table if name not in every), *every]], tuple(every.values())


def vector_notes(frames: pd.DataFrame, columns: Sequence[MetricColumn]) -> Iterator[str]:
    """Say of which frames a metric is a vector, while it is a number of others."""
    for column in columns:
        if column.raw.endswith(VECTOR):
            metric = column.raw.removesuffix(VECTOR)
            whose = frames["name"][frames[column.column].notna()].unique()
            yield (
                f"{metric} of {some([*map(str, whose)], _MOST_NAMES)} is a vector, which has no "
                f"sum, so {metric} is missing there: profile.frames[{column.column!r}] holds it"
            )


def _vectors(values: pd.Series) -> BoolArray | None:
    """Rows with a vector; None where there is none, or no number, or text beside them."""
    if values.dtype != object or tuple not in set(map(type, values)):
        return None
    vectors: BoolArray = np.array([isinstance(value, tuple) for value in values], dtype=np.bool_)
    rest = values[~vectors].dropna()
    if rest.empty or not rest.map(lambda value: isinstance(value, (int, float, np.number))).all():
        return None
    return vectors
