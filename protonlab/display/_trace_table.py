"""The kernels of a trace, or its scopes where it has none, as a table like a profile's."""

from __future__ import annotations

import pandas as pd

from protonlab.model import Metric, Trace
from protonlab.model.units import MISSING
from protonlab.views.columns import Column, column_of, full_name, kernel_column
from protonlab.views.kernel_table import KernelTable

_TEXT = ("name", "label", "hook")


def trace_table(trace: Trace, *, top: int) -> KernelTable:
    """Make a table of kernels, most time first: times in µs, or in cycles as they are.

    Parameters
    ----------
    trace
        The trace.
    top
        Most rows to list; a line says where the rest is.
    """
    thing = "scope" if trace.kernels.empty else "kernel"
    table = trace.scopes if trace.kernels.empty else trace.kernels
    rows = table.head(top)
    columns = [Column(thing, kernel_column(rows).cells, is_text=True)]
    time = f"time_{trace.unit}"  # first of all, so that it is in sight on a narrow page
    for name in (time, *(each for each in map(str, rows) if each not in (*_TEXT, time))):
        columns.append(_numbers(name, rows[name], trace.unit))
        if name == time and thing == "kernel" and table[name].sum():
            share = 100 * rows[name].astype(float) / float(table[name].sum())
            columns.append(column_of(Metric("time/%", "%", "share", (name,)), share))
    if "hook" in rows and rows["hook"].nunique() > 1:
        hooks = tuple(MISSING if pd.isna(hook) else str(hook) for hook in rows["hook"])
        columns.append(Column("hook", hooks, is_text=True))
    more = len(table) - len(rows)
    return KernelTable(
        title=f"{thing}s of {trace.info.name or 'the trace'}",
        columns=tuple(columns),
        names=tuple(map(full_name, rows["name"])),
        note=f"{more:,} more with less time: trace.{thing}s has all." if more else "",
    )


def _numbers(name: str, values: pd.Series, unit: str) -> Column:
    stem = name.removesuffix(f"_{unit}")
    if stem not in ("time", "min", "median", "max") or stem == name:
        return column_of(Metric(name, "", "value", (name,)), values.astype(float))
    factor, header, digits = (1e-3, "µs", 2) if unit == "ns" else (1.0, unit, 0)
    numbers = values.astype(float) * factor
    cells = (MISSING if pd.isna(each) else f"{each:.{digits}f}" for each in numbers)
    return Column(f"{stem} ({header})", tuple(cells))
