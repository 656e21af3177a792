"""Bars of a run: a bar a rank, computing apart from collectives; or a bar a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Run
from protonlab.model.frames import FloatArray
from protonlab.model.rank_tables import kernel_values
from protonlab.model.units import counted
from protonlab.views.bar_layout import (
    THICK,
    BarsFigure,
    bar_boxes,
    bar_layout,
    outer_ends,
    value_trace,
    whisker_traces,
)
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.hover import caption, hover_text
from protonlab.views.layout import empty_layout, title_of
from protonlab.views.names import (
    escaped,
)
from protonlab.views.rank_words import WAITING, collective_names, rank_name, run_notes, where_of
from protonlab.views.reference_lines import ReferenceLine
from protonlab.views.selection import more_than

_PARTS = {"kernel": "computing", "nccl": "collectives"}


def rank_bars(run: Run, metric: str | None, by: str, top: int) -> BarsFigure:
    """Draw the ranks of a run, or its kernels.

    Parameters
    ----------
    run
        The run.
    metric
        As `bars` takes it.
    by
        ``"rank"``: all kernels of each rank, a metric that sums parted into computing and
        collectives. ``"kernel"``: the median of the ranks, with whiskers from the lowest to the
        highest.
    top
        Most bars to draw.
    """
    if by not in ("rank", "kernel"):
        raise ProtonLabError(f"by={by!r}; bars of a run are by 'rank' or by 'kernel'")
    wanted = run.metric("time" if metric is None else metric)
    things = "ranks" if by == "rank" else "kernels, median of the ranks,"
    title = title_of(run.name, f"{things} by {caption(wanted)}", where_of(run))
    draw = _of_ranks if by == "rank" else _of_kernels
    return draw(run, wanted, top, title)


def _of_ranks(run: Run, metric: Metric, top: int, title: str) -> BarsFigure:
    ranks = run.tree.ranks
    if metric.additive:
        values = kernel_values(run.tree.source, run.profiles, metric).matrix
        apart = collective_names(run)
        parts = {
            role: np.nansum(values[rows], axis=0)
            for role, rows in (("kernel", ~apart), ("nccl", apart))
        }
    else:
        parts = {"kernel": run.tree.values(metric).matrix[0]}
    whole: FloatArray = np.sum([*parts.values()], axis=0)
    known = np.flatnonzero(~np.isnan(whole))
    if not len(known) or not np.nanmax(np.abs(whole)) > 0:
        why = f"No rank recorded {caption(metric)}."
        return BarsFigure(layout=empty_layout("bars", title, why))
    middle = float(np.median(whole[known]))
    notes = run_notes(run)
    if "nccl" in parts and parts["nccl"].any() and metric.unit == "s":
        notes.insert(0, WAITING)
    if len(known) > top:
        far = np.argsort(-np.abs(whole[known] - middle), kind="stable")[:top]
        notes.append(
            f"The {top} of {counted(len(known), 'rank')} that lie farthest from the median: "
            f"top={top}."
        )
        known = known[np.sort(far)]
    rows: list[dict[str, Any]] = []
    names = [rank_name(run, ranks[at]) for at in known.tolist()]
    texts = [metric.format(float(whole[at])) for at in known.tolist()]
    for row, at in enumerate(known.tolist()):
        start = 0.0
        for role, values in parts.items():
            value = float(values[at])
            if value or len(parts) == 1:
                part = f"{_PARTS[role]}: <b>{escaped(metric.format(value))}</b>"
                total = f"{escaped(caption(metric))}: {escaped(texts[row])}"
                hover = hover_text(names[row], names[row], part, total)
                rows.append(
                    {"role": role, "start": start, "width": value, "row": row, "hover": hover,
                     "label": names[row], "aside": texts[row], "text": "", "edge": 1}
                )  # fmt: skip
            start += value
    traces = box_traces(pd.DataFrame(rows), _PARTS, THICK)
    spread = np.column_stack([whole[known], np.full((len(known), 2), np.nan)])
    lines = [ReferenceLine("median", middle)] if len(whole) > 2 else []
    return _figure(metric, names, spread, texts, traces, lines, title, notes, pd.DataFrame(rows))


def _of_kernels(run: Run, metric: Metric, top: int, title: str) -> BarsFigure:
    table = run.by_rank(metric.name)
    table = table[table["ranks"] > 0].sort_values("median", ascending=False, kind="stable")
    if table.empty:
        why = f"No kernel recorded {caption(metric)}."
        return BarsFigure(layout=empty_layout("bars", title, why))
    notes = [f"Bars: median of {where_of(run)}; whiskers: from the lowest rank to the highest."]
    notes += run_notes(run)
    notes += more_than(top, len(table))
    table = table.head(top)
    values = table[["median", "min", "max"]].to_numpy(np.float64)
    labels = [str(label) for label in table["label"]]
    texts, hovers = [], []
    title_text = escaped(caption(metric))
    for row in table.to_dict("records"):
        texts.append(metric.format(row["median"]))
        lines = [
            f"{title_text}, median: <b>{escaped(metric.format(row['median']))}</b>",
            f"lowest: {escaped(metric.format(row['min']))} on rank {row['lowest']}",
            f"highest: {escaped(metric.format(row['max']))} on rank {row['highest']}",
            f"on {counted(int(row['ranks']), 'rank')}",
        ]
        hovers.append(hover_text(str(row["label"]), str(row["name"]), *lines))
    boxes = bar_boxes(labels, texts, hovers).assign(role="kernel", width=values[:, 0])
    traces = [*box_traces(boxes, None, THICK), *whisker_traces(values)]
    return _figure(metric, labels, values, texts, traces, [], title, notes, boxes)


def _figure(
    metric: Metric,
    names: list[str],
    values: FloatArray,
    texts: list[str],
    traces: list[dict[str, Any]],
    lines: list[ReferenceLine],
    title: str,
    notes: list[str],
    boxes: pd.DataFrame,
) -> BarsFigure:
    explained = traces if needs_legend(boxes) else []
    layout = bar_layout(title, names, values, texts, metric, explained, notes, lines=lines)
    return BarsFigure(data=[*traces, value_trace(outer_ends(values), texts, lines)], layout=layout)
