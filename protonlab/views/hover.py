"""What a hover box says about a frame or a kernel: every metric with its unit, shares, device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from protonlab.model import Metric, Profile, format_quantity
from protonlab.views.names import escaped, hover_lines

_LONGEST_VECTOR = 60


def caption(metric: Metric) -> str:
    """Name of a metric where its value carries the unit: ``bytes/s`` for ``gbyte/s``."""
    stems = [source.removesuffix("_ns") for source in metric.sources]
    if metric.form == "ratio":
        return f"{stems[0]}/{ {'time': 's', 'count': 'launch'}.get(stems[1], stems[1]) }"
    return stems[0] if metric.form == "value" else metric.name


def metric_lines(profile: Profile, sums: pd.DataFrame) -> list[str]:
    """Lines of sums and rates for each row of a table of sums, joined by ``<br>``.

    Parameters
    ----------
    profile
        Knows the metrics.
    sums
        Additive columns, shape (n, columns): rows of ``profile.inclusive`` or ``profile.kernels``.
    """
    names = [column.column for column in profile.columns if column.column in sums]
    rates = [metric for metric in map(profile.metric, profile.metrics) if metric.form == "ratio"]
    metrics = [*map(profile.metric, names), *rates]
    lines: list[list[str]] = [[] for _ in range(len(sums))]
    for metric in metrics:
        title = escaped(caption(metric))
        whole = metric.name == "count"
        for row, value in zip(lines, metric.values(sums).tolist(), strict=True):
            if value == value:  # a missing value has no line
                text = f"{value:,.0f}" if whole else metric.format(value)
                row.append(f"{title}: <b>{escaped(text)}</b>")
    return ["<br>".join(row) for row in lines]


def own_lines(profile: Profile, rows: Sequence[int]) -> list[str]:
    """Lines of what cannot be summed, vectors and properties, as the frames recorded it."""
    columns = [column.column for column in profile.columns if not column.additive]
    table = profile.frames[columns].iloc[list(rows)]
    lines: list[list[str]] = [[] for _ in rows]
    for column in columns:
        for row, value in zip(lines, table[column].tolist(), strict=True):
            if isinstance(value, tuple) or not pd.isna(value):
                row.append(f"{escaped(column)}: <b>{escaped(str(value)[:_LONGEST_VECTOR])}</b>")
    return ["<br>".join(row) for row in lines]


def share(part: float, whole: float) -> str:
    """Write a part in percent of a whole; missing when the whole is nothing."""
    return format_quantity(part / whole * 100 if whole else np.nan, "%")


def hover_text(label: str, name: str, *parts: str) -> str:
    """Put a hover box together: label, full name where it says more, then the parts."""
    head = f"<b>{hover_lines(label)}</b>"
    full = "" if name == label else hover_lines(name)
    return "<br>".join(filter(None, (head, full, *parts)))
