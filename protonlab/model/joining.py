"""Columns of several tables, one behind the other, without a loop over their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.frames import categorical


def cells(table: pd.DataFrame, name: str) -> pd.Series:
    """Take a column of a table, missing throughout where the table has none."""
    if name in table:
        return table[name]
    return pd.Series(np.nan, index=table.index)


def joined_text(columns: Sequence[pd.Series], constant: tuple[str, ...] = ()) -> pd.Categorical:
    """Join text columns whose categories differ; `constant`: categories that are always these."""
    of_text: dict[str, int] = {text: code for code, text in enumerate(constant)}
    codes = []
    for column in columns:
        own: Any = column.array  # quicker than the column's accessors, for thousands of columns
        moved = [of_text.setdefault(text, len(of_text)) for text in own.categories]
        codes.append(np.array([*moved, -1], dtype=np.int32)[own.codes])
    return categorical(np.concatenate(codes), constant or list(of_text))


def joined_numbers(columns: Sequence[pd.Series]) -> Any:
    """Join columns of numbers: whole ones stay whole, vectors and text stay what they are."""
    kind = columns[0].dtype
    if isinstance(kind, pd.Int64Dtype) and all(each.dtype == kind for each in columns):
        return pd.concat(columns, ignore_index=True).array
    if any(pd.api.types.is_object_dtype(each.dtype) for each in columns):
        return np.concatenate([each.astype(object).to_numpy() for each in columns])
    whole = [each for each in columns if pd.api.types.is_integer_dtype(each.dtype)]
    known = [each for each in columns if not each.isna().all()]
    if len(whole) < len(columns) and any(each.dtype.kind == "f" for each in known):
        return np.concatenate([each.to_numpy(np.float64, na_value=np.nan) for each in columns])
    data = np.concatenate([each.fillna(0).to_numpy(np.int64) for each in columns])
    missing = np.concatenate([each.isna().to_numpy() for each in columns])
    return pd.arrays.IntegerArray(data, missing)
