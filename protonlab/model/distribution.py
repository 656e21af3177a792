"""How a metric of each kernel varies over repeats, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from protonlab.model.kernels import KERNEL_TEXT
from protonlab.model.statistics import IntervalMethod, described


def distribution(
    kernels: pd.DataFrame,
    tables: Sequence[pd.DataFrame],
    metric: str,
    quantiles: Sequence[float],
    method: IntervalMethod,
    confidence: float,
) -> pd.DataFrame:
    """Describe each kernel's values, one from each repeat in which it ran.

    Parameters
    ----------
    kernels
        Rows and order of the result; its text columns tell kernels apart.
    tables
        For each repeat a row per kernel with the text columns and `metric`.
    metric, quantiles, method, confidence
        Those of `Profile.distribution`.
    """
    keys = list(KERNEL_TEXT)
    rows = _keys(kernels)
    position = {key: row for row, key in enumerate(rows)}
    values = np.full((len(rows), len(tables)), np.nan)
    for repeat, table in enumerate(tables):
        for key, value in zip(_keys(table), table[metric].to_numpy(np.float64), strict=True):
            if key in position:
                values[position[key], repeat] = value
    # Without a kernel the arguments are checked all the same.
    columns = described(np.empty(0), quantiles, method, confidence).keys()
    found = [described(row, quantiles, method, confidence) for row in values]
    result = pd.concat([kernels[keys], pd.DataFrame(found, columns=list(columns))], axis=1)
    return result.astype({"n": np.int64})


def _keys(table: pd.DataFrame) -> list[tuple[str | None, ...]]:
    """Names that tell kernels apart, equal where they are missing."""
    columns = [
        [None if pd.isna(name) else str(name) for name in table[column]] for column in KERNEL_TEXT
    ]
    return list(zip(*columns, strict=True))
