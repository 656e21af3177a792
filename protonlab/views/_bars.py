"""Kernels, or groups of them, as horizontal bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Profile
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.bar_layout import BarsFigure, bar_layout, value_traces
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.hover import caption
from protonlab.views.layout import empty_layout, title_of
from protonlab.views.names import cleaned, escaped, shortened, text_width, told_apart, unmarked
from protonlab.views.ranking import Ranking, ranking
from protonlab.views.reference_lines import Lines, ReferenceLine, reference_lines
from protonlab.views.stack import check_stack, has_negative, parts_of

_LONGEST_TICK, _LONGEST_LABEL = 44, 200
_LEGEND_ENTRY = 45  # pixels that plotly puts around a text in the legend


def bars(
    profile: Profile,
    *,
    metric: str = "time",
    by: str = "kernel",
    stacked: bool = False,
    lines: Lines | None = None,
    top: int = 20,
    everything: bool = False,
) -> BarsFigure:
    """Draw the kernels, or groups of kernels, with the highest values of a metric.

    Each bar is a sum over the tree, a rate the ratio of two sums. Where the code was repeated, a
    metric that sums is shown a repeat, and whiskers show the 95 % interval over the repeats.

    Parameters
    ----------
    profile
        The profile.
    metric
        Any metric of the grammar: ``"time"``, ``"gbyte/s"``, ``"avg_time/us"``, ``"n_tokens/s"``.
    by
        ``"kernel"``; ``"scope"``, the innermost around each kernel; ``"device"``; or a regular
        expression, searched in each kernel's label, then in its full name: its first group in
        parentheses names the bar, without one the whole match does, and kernels without a match
        are ``"other"``.
    stacked
        Whether each bar is parted by scope; the metric must be one that sums.
    lines
        Reference lines: label -> value in the metric's unit, such as
        ``{"copy, measured": 4210}`` for ``"gbyte/s"``; ``"peak"`` for the data sheet's peak of the
        metric on the profile's devices; or a list of both.
    top
        Most bars to draw.
    everything
        Also kernels outside of the filter that the profile was recorded with. Without them a line
        says how many there are.

    Returns
    -------
    BarsFigure
        A plotly figure.

    Raises
    ------
    MetricError
        If `metric` is unknown here, or does not sum where it must.
    ProtonLabError
        If another argument is not legal.

    Examples
    --------
    >>> protonlab.bars(profile, metric="gbyte/s", lines="peak")  # doctest: +SKIP
    >>> protonlab.bars(profile, by="(gemm|norm|attention)", stacked=True)  # doctest: +SKIP
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ProtonLabError(f"top={top!r}; give a whole number, at least 1")
    wanted = profile.metric(metric)
    if stacked:
        check_stack(profile, wanted, by)
    drawn_lines, line_notes = reference_lines(profile, wanted, lines)
    found = ranking(profile, wanted, by, everything=everything)
    title = _title(profile, wanted, by)
    if stacked and not found.why_empty and has_negative(found.rows["value"]):
        why = f"{caption(wanted)} is negative somewhere, and no part of a stack can be."
        return BarsFigure(layout=empty_layout("bars", title, why))
    if found.why_empty:
        return BarsFigure(layout=empty_layout("bars", title, found.why_empty))
    notes = [*found.notes, *line_notes]
    if profile.repeats is not None:
        notes.append(_of_repeats(profile, wanted))
    if len(found.rows) > top:
        more = counted(len(found.rows) - top, f"more {'kernel' if by == 'kernel' else 'bar'}")
        notes.append(f"{more}: top={top}.")
    return _figure(profile, wanted, found, by, top, drawn_lines, title, notes, stacked=stacked)


def _title(profile: Profile, metric: Metric, by: str) -> str:
    things = {"kernel": "kernels", "scope": "scopes", "device": "devices"}.get(by, f"kernels {by}")
    each = " a repeat" if profile.repeats is not None and metric.additive else ""
    what = f"{shortened(cleaned(things), 40)} by {caption(metric)}{each}"
    return title_of(profile.info.name, what, profile.where)


def _of_repeats(profile: Profile, metric: Metric) -> str:
    assert profile.repeats is not None
    number = counted(profile.repeats.number, "repeat")
    what = "Mean" if metric.additive else "Ratio of sums"
    return f"{what} of {number}; whiskers: 95 % interval (Student's t)."


def _figure(
    profile: Profile,
    metric: Metric,
    found: Ranking,
    by: str,
    top: int,
    lines: list[ReferenceLine],
    title: str,
    notes: list[str],
    *,
    stacked: bool,
) -> BarsFigure:
    rows = found.rows.head(top)
    labels = [cleaned(str(label)) for label in rows["label"]]
    texts = [
        _value_text(metric, *numbers)
        for numbers in zip(rows["value"], rows["low"], rows["high"], strict=True)
    ]
    bar = pd.DataFrame(
        {
            "role": rows["role"].tolist(),
            "start": 0.0,
            "width": rows["value"].tolist(),
            "row": range(len(rows)),
            "hover": rows["hover"].tolist(),
            "edge": 0,
        }
    )
    names: dict[str, str] = {}
    if stacked:
        parts, names = parts_of(profile, metric, rows, by, found.selection)
        bar = parts.assign(edge=1)
    bar["label"] = [shortened(labels[row], _LONGEST_LABEL) for row in bar["row"]]
    bar["aside"] = [texts[row] for row in bar["row"]]
    bar["text"] = ""
    traces = box_traces(bar, names)
    ticks = [escaped(label) for label in told_apart(labels, _LONGEST_TICK)]
    legend = _legend_rows(traces, ticks, texts) if stacked or needs_legend(bar) else 0
    values = rows[["value", "low", "high"]].to_numpy(dtype=np.float64)
    layout = bar_layout(title, ticks, values, texts, lines, metric, legend, notes)
    return BarsFigure(data=[*traces, *value_traces(values, texts)], layout=layout)


def _value_text(metric: Metric, value: float, low: float, high: float) -> str:
    """Value with its unit; with an interval also half its width in percent."""
    text = metric.format(value)
    if math.isnan(low) or not value > 0:
        return text
    half = 50 * (high - low) / value
    return f"{text} ± {half:.1f} %" if half < 99.95 else f"{text} ± {half:.0f} %"


def _legend_rows(traces: list[dict[str, Any]], ticks: list[str], texts: list[str]) -> int:
    """Rows of the legend in plotly, which gives it the width of the bars, in even columns."""
    names = [unmarked(trace["name"]) for trace in traces if trace["showlegend"]]
    widths = [text_width(name) + _LEGEND_ENTRY for name in names]
    outside = (max(text_width(unmarked(each)) for each in column) for column in (ticks, texts))
    room = theme.NOMINAL_WIDTH - sum(outside) - 2 * _LEGEND_ENTRY
    if sum(widths) <= room:
        return 1
    columns = max(1, int(room / max(widths)))
    return math.ceil(len(names) / columns)
