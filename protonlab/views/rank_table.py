"""The kernel table of a run: each kernel over all ranks, and which rank stands out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Run
from protonlab.model.metrics import metric_names
from protonlab.model.units import MISSING
from protonlab.views.columns import (
    Column,
    cells_of,
    full_name,
    kernel_column,
    unit_of,
)
from protonlab.views.kernel_table import KernelTable
from protonlab.views.rank_words import run_notes, where_of
from protonlab.views.selection import more_than


def rank_table(run: Run, metrics: Sequence[str] | str | None, top: int) -> KernelTable:
    """Make the table of a run, most time over all ranks first.

    Parameters
    ----------
    run
        The run.
    metrics
        Name of one metric in the grammar; by default ``"time"``.
    top
        Most kernels to list.

    Raises
    ------
    ProtonLabError
        If several metrics are given.
    """
    names = metric_names(metrics, ["time"])
    if len(names) != 1:
        raise ProtonLabError(
            f"metrics={metrics!r}: the table of a run is of one metric; run.to_dataframe() and "
            "table(run.merged()) take several"
        )
    (metric,) = names
    whole = run.by_rank(metric)
    listed = whole.head(top)
    notes = run_notes(run)
    if not len(whole):
        notes.append("No kernel was recorded.")
    notes += more_than(top, len(whole))
    return KernelTable(
        title=" · ".join(filter(None, (run.name, metric, where_of(run)))),
        columns=(kernel_column(listed), *spread_columns(run, metric, listed)),
        names=tuple(map(full_name, listed["name"])),
        note=" ".join(notes),
    )


def spread_columns(run: Run, metric: str, rows: pd.DataFrame) -> list[Column]:
    """Write median, lowest and highest, which ranks these are, and how far they are apart.

    Parameters
    ----------
    run, metric
        The run, and the metric of `rows`.
    rows
        Rows of `Run.by_rank`.
    """
    wanted = run.metric(metric)
    values = rows[["median", "min", "max"]].to_numpy(np.float64)
    scale, unit = unit_of(wanted, values)
    columns = [
        Column(f"{name} {unit}".strip(), cells_of(wanted, values[:, place], scale))
        for place, name in enumerate(("median", "lowest", "highest"))
    ]
    spread = rows["spread"].to_numpy(np.float64)
    texts = tuple(MISSING if np.isnan(each) else f"{100 * each:.1f}" for each in spread)
    columns.append(Column("spread (%)", texts, tuple(np.clip(100 * spread, 0, 100).tolist())))
    for title, name in (("lowest on", "lowest"), ("highest on", "highest")):
        ranks = (MISSING if pd.isna(rank) else f"rank {rank}" for rank in rows[name])
        columns.append(Column(title, tuple(ranks), is_text=True))
    if (rows["ranks"] < len(run.tree.ranks)).any():
        columns.append(Column("ranks", tuple(f"{number}" for number in rows["ranks"])))
    return columns
