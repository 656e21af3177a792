"""The heat map of a run: a row a kernel, a column a rank, coloured by what stands out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Run
from protonlab.model.frames import FloatArray
from protonlab.model.rank_tables import kernel_values
from protonlab.model.units import counted, plain
from protonlab.views import theme
from protonlab.views.bar_layout import legend_rows
from protonlab.views.boxes import box_traces
from protonlab.views.figure import ProfileFigure
from protonlab.views.hover import caption, hover_text
from protonlab.views.layout import (
    AXIS_ROOM,
    empty_layout,
    fixed_axis,
    layout_of,
    names_axis,
    title_of,
)
from protonlab.views.names import (
    LONGEST_LABEL,
    LONGEST_TICK,
    escaped,
    shortened,
    text_width,
    told_apart,
)
from protonlab.views.rank_words import WAITING, collective_names, rank_name, run_notes, where_of
from protonlab.views.selection import check_count, more_than
from protonlab.views.sources import keeps_sources

_MOST_COLUMNS = 128
_LEAST_ROOM, _TICK_GAP = 340, 10  # pixels for all ticks of a narrow page, and between two
_SAME = 0.01  # what differs from the median by less than this share looks unchanged


class HeatmapFigure(ProfileFigure):
    """A heat map as a plotly figure."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """What the cells show; `value` has shape (rows, columns).

    Parameters
    ----------
    labels, names
        Of each row.
    value
        In the unit of the metric's name; NaN where a rank has none.
    middle
        Median of each row over all ranks.
    rank
        Rank whose value a cell shows: of several, the one farthest from the median.
    columns
        First and last rank of each column.
    """

    labels: list[str]
    names: list[str]
    value: FloatArray
    middle: FloatArray
    rank: list[list[int]]
    columns: list[tuple[int, int]]


@keeps_sources
def heatmap(run: Run, *, metric: str = "time", top: int = 20) -> HeatmapFigure:
    """Draw kernels by ranks: each cell coloured by how far it lies from the kernel's median.

    Parameters
    ----------
    run
        The run.
    metric
        Any metric of the grammar: ``"time"`` (as by default), ``"avg_time/us"``, ``"gbyte/s"``.
        Red is what costs more than the median of the ranks, or does less.
    top
        Most kernels to draw, by their time over all ranks. A metric that sums has one row more, of
        all kernels.

    Returns
    -------
    HeatmapFigure
        A plotly figure. Beyond 128 ranks a column stands for several, and shows the rank among
        them that is farthest from the median.

    Raises
    ------
    MetricError
        If `metric` is unknown here, or has no number a kernel.
    ProtonLabError
        If this is no run, no rank left a profile, or `top` is not legal.

    Examples
    --------
    >>> protonlab.heatmap(protonlab.load_run("runs/tonight"))  # doctest: +SKIP
    """
    if not isinstance(run, Run):
        raise ProtonLabError(
            f"a heat map is of a Run, not of a {type(run).__name__}: load_run(folder), or "
            "Run.from_profiles({0: first, 1: second})"
        )
    check_count("top", top)
    wanted = run.metric(metric)
    title = title_of(
        run.name, f"{caption(wanted)} by kernel and rank, colour: × the median", where_of(run)
    )
    values = kernel_values(run.tree.source, run.profiles, wanted).matrix
    first, kernels = run.tree.source.kernel_rows
    known = ~np.isnan(values[kernels]).all(axis=1)
    if not known.any():
        why = (
            f"No kernel recorded {caption(wanted)}." if len(kernels) else "No kernel was recorded."
        )
        return HeatmapFigure(layout=empty_layout("heatmap", title, why))
    first, kernels = first[known], kernels[known]
    notes = run_notes(run)
    if collective_names(run)[kernels].any() and wanted.unit == "s":
        notes.insert(0, WAITING)
    notes += more_than(top, len(kernels))
    text = run.frames[["label", "name"]].iloc[first[:top]].astype(str)
    labels, names = text["label"].tolist(), text["name"].tolist()
    shown = values[kernels[:top]]
    if wanted.additive:
        every = np.nansum(values[kernels], axis=0)
        shown = np.vstack([every, shown])
        labels, names = ["all kernels", *labels], ["all kernels", *names]
    grid = _grid(run.tree.ranks, labels, names, shown)
    if len(grid.columns) < len(run.tree.ranks):
        notes.append(
            f"{counted(len(run.tree.ranks), 'rank')} in {len(grid.columns)} columns: each shows "
            "the rank among its own that is farthest from the median."
        )
    return _figure(run, wanted, grid, title, notes)


def _grid(ranks: tuple[int, ...], labels: list[str], names: list[str], value: FloatArray) -> _Grid:
    middle = np.nanmedian(value, axis=1)
    each = math.ceil(len(ranks) / _MOST_COLUMNS)
    starts = range(0, len(ranks), each)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(np.log(value / middle[:, None]))
    away = np.where(np.isnan(away), -1.0, away)
    picked = np.stack([low + away[:, low : low + each].argmax(axis=1) for low in starts], axis=1)
    return _Grid(
        labels,
        names,
        np.take_along_axis(value, picked, axis=1),
        middle,
        np.array(ranks)[picked].tolist(),
        [(ranks[low], ranks[min(low + each, len(ranks)) - 1]) for low in starts],
    )


def _figure(run: Run, metric: Metric, grid: _Grid, title: str, notes: list[str]) -> HeatmapFigure:
    ticks = [escaped(each) for each in told_apart(grid.labels, LONGEST_TICK)]
    columns = len(grid.columns)
    left = max(map(text_width, ticks)) + 2 * theme.MARGIN["l"]
    room = (theme.NOMINAL_WIDTH - left) / columns
    table = _cells(run, metric, grid, room)
    words = _words(metric)
    traces = box_traces(table, words)
    rows = legend_rows(traces, ticks, [""])
    high = max(len(ticks), theme.LOWEST)
    layout = layout_of(
        "heatmap",
        title,
        high,
        legend=rows,
        notes=notes,
        names=ticks,
        under=AXIS_ROOM,
    )
    widest = text_width(str(grid.columns[-1][0])) + _TICK_GAP
    step = math.ceil(columns * widest / _LEAST_ROOM)
    several = grid.columns[0][1] - grid.columns[0][0] + 1
    axis = fixed_axis(f"first of {several} ranks" if several > 1 else "rank", (0, columns)) | {
        "tickangle": 0,
        "tickvals": [column + 0.5 for column in range(0, columns, step)],
        "ticktext": [str(low) for low, _ in grid.columns[::step]],
        "showgrid": False,
        "ticks": "",
    }
    return HeatmapFigure(
        data=traces,
        layout=layout
        | {
            "bargap": 0.06,
            "xaxis": axis,
            "yaxis": names_axis(ticks, high),
        },
    )


def _cells(run: Run, metric: Metric, grid: _Grid, room: float) -> pd.DataFrame:
    """Describe each cell as `box_traces` needs it, row by row."""
    rows = []
    title = escaped(caption(metric))
    ranks = {rank: escaped(rank_name(run, rank)) for line in grid.rank for rank in line}
    for row, (label, name) in enumerate(zip(grid.labels, grid.names, strict=True)):
        middle = grid.middle[row]
        short = shortened(label, LONGEST_LABEL)
        head = hover_text(label, name)
        about = f"median of the ranks: {escaped(metric.format(middle))}"
        for column, value in enumerate(grid.value[row].tolist()):
            role = _role(metric, value, middle)
            text = "" if math.isnan(value) else metric.format(value)
            ratio = value / middle if middle else math.nan
            times = f" (× {plain(ratio)})" if ratio == ratio else ""
            said = f"{title}: <b>{escaped(text)}</b>{times}" if text else "did not run here"
            hover = "<br>".join((head, ranks[grid.rank[row][column]], said, about))
            fits = text_width(text) + theme.TEXT_PADDING <= room
            rows.append((role, column, row, short, text, escaped(text) if fits else "", hover))
    table = pd.DataFrame(rows, columns=["role", "start", "row", "label", "aside", "text", "hover"])
    return table.assign(width=1.0, edge=int(room > 4 * theme.NARROW))  # a page may be narrower


def _role(metric: Metric, value: float, middle: float) -> str:
    if math.isnan(value):
        return "removed"
    if not middle > 0 or abs(value - middle) <= _SAME * middle:
        return "unchanged"
    ratio = value / middle
    cost = (1 / ratio if ratio > 0 else math.inf) if metric.is_better_high else ratio
    return theme.role_of_difference("changed", cost)


def _words(metric: Metric) -> dict[str, str]:
    """Words of the legend: how far from the median, in the metric's own sense."""
    above = ("over 1.5 ×", "1.1 to 1.5 ×", "1.01 to 1.1 ×")
    below = ("0.91 to 0.99 ×", "0.67 to 0.91 ×", "under 0.67 ×")
    keys = ("slower_most", "slower_more", "slower"), ("faster", "faster_more", "faster_most")
    if metric.is_better_high:
        keys = (keys[1][::-1], keys[0][::-1])
    return {
        **dict(zip(keys[0], above, strict=True)),
        "unchanged": "within 1 %",
        **dict(zip(keys[1], below, strict=True)),
        "removed": "not on the rank",
    }
