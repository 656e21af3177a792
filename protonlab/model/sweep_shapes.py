"""One shape of a sweep: its rows by tokens per expert, and where overlap begins to pay there."""

from __future__ import annotations

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError


def of_shape(
    table: pd.DataFrame, kernel: str, k: int | None, n: int | None, experts: int | None
) -> pd.DataFrame:
    """Choose the cases of one kernel and shape, by tokens; of what is None, the largest.

    Raises
    ------
    ProtonLabError
        If the sweep measured others alone; the message names them.
    """
    asked = {"kernel": kernel, "k": k, "n": n, "experts": experts}
    given = {name: value for name, value in asked.items() if value is not None}
    rows = table
    for name, value in given.items():
        rows = rows[rows[name] == value]
    if rows.empty and not table.empty:
        words = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise ProtonLabError(f"{words} is not in this sweep; it has {_measured(table)}")
    for name in ("k", "n", "experts"):
        rows = rows[rows[name] == rows[name].max()]
    return rows.sort_values("tokens")


def several_shapes(table: pd.DataFrame) -> list[str]:
    """Name what of a shape, K aside, is not the same in all cases."""
    return [name for name in ("n", "experts") if table[name].nunique() > 1]


def crossings(rows: pd.DataFrame) -> tuple[float, ...]:
    """Find between which tokens the ratio passes 1; `EpilogueSweep.crossings` describes it."""
    sure = rows[(rows["ratio_low"] > 1) | (rows["ratio_high"] < 1)]
    at, ratio = np.log2(sure["tokens"].to_numpy(float)), np.log(sure["ratio"].to_numpy(float))
    return tuple(
        float(2 ** (at[i] - ratio[i] * (at[i + 1] - at[i]) / (ratio[i + 1] - ratio[i])))
        for i in range(len(at) - 1)
        if ratio[i] * ratio[i + 1] < 0
    )


def _measured(table: pd.DataFrame) -> str:
    names = ["k", *several_shapes(table)]
    shapes = table[["kernel", *names]].drop_duplicates().to_dict("records")
    return ", ".join(
        f"kernel={shape['kernel']!r} with "
        + " and ".join(f"{name}={shape[name]}" for name in names)
        for shape in shapes
    )
