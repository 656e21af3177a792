"""Bars of a comparison: before and after of each kernel, or their difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import MetricError
from protonlab.model import Comparison
from protonlab.model.changes import ratio_texts
from protonlab.model.frames import FloatArray
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
from protonlab.views.boxes import box_traces
from protonlab.views.differences import difference_roles, difference_words
from protonlab.views.hover import caption, hover_text
from protonlab.views.layout import empty_layout, title_of
from protonlab.views.names import (
    escaped,
    shortened,
)
from protonlab.views.selection import more_than

_SHIFT, _THICK = 0.19, 0.36  # of a row: where the bars of a pair lie, and how thick they are
_PAIR_TALL = 1.5  # rows of the page that a pair takes
DIFFERENCE = "difference"


def compared_bars(comparison: Comparison, metric: str | None, top: int) -> BarsFigure:
    """Draw a comparison, greatest difference first.

    Parameters
    ----------
    comparison
        The comparison.
    metric
        None: a bar before and one after. ``"difference"``: after less before.
    top
        Most kernels to draw.

    Raises
    ------
    MetricError
        If `metric` is another.
    """
    if metric not in (None, DIFFERENCE):
        raise MetricError(
            f"metric={metric!r}: a comparison is of one metric, {comparison.metric.name!r}; leave "
            f"it out, or give '{DIFFERENCE}', or name another one in compare(…, metric=…)"
        )
    names = (comparison.before.info.name or "before", comparison.after.info.name or "after")
    is_difference = metric == DIFFERENCE
    what = f"{'difference of ' if is_difference else ''}{caption(comparison.metric)} by kernel"
    title = title_of(" → ".join(names), what, comparison.after.where)
    wanted = [DIFFERENCE] if is_difference else ["before", "after"]
    known = comparison.kernels.dropna(subset=wanted, how="all")
    if not len(known):
        why = (
            f"No kernel has a {' or '.join(wanted)} of {caption(comparison.metric)}."
            if len(comparison.kernels)
            else "No kernel was recorded."
        )
        return BarsFigure(layout=empty_layout("bars", title, why))
    sentences = [f"{comparison.summary}.", *comparison.notes]
    missing = len(comparison.kernels) - len(known)
    if missing:
        sentences.append(f"{counted(missing, 'kernel')} without {caption(comparison.metric)}.")
    sentences += more_than(top, len(known))
    draw = _differences if is_difference else _pairs
    return draw(comparison, known.head(top), title, sentences)


def _pairs(comparison: Comparison, rows: pd.DataFrame, title: str, notes: list[str]) -> BarsFigure:
    """Draw two bars a kernel, before above after; the whisker is what the ratio's interval says."""
    values = rows[["before", "after"]].to_numpy(dtype=np.float64)
    whiskers = np.column_stack([values[:, 1], values[:, :1] * _bounds(rows)])
    ends = np.fmax(np.fmax(values[:, 0], values[:, 1]), whiskers[:, 2])
    texts = [_pair_text(comparison, row) for row in rows.to_dict("records")]
    roles = difference_roles(comparison.metric, rows["change"], rows["ratio"])
    common = _boxes(comparison, rows, texts)
    before = common.assign(role="before", width=values[:, 0], row=common["row"] - _SHIFT)
    after = common.assign(role=roles, width=values[:, 1], row=common["row"] + _SHIFT)
    table = pd.concat([before, after]).dropna(subset=["width"])
    traces = box_traces(table, difference_words(comparison.metric), _THICK)
    traces += [*whisker_traces(whiskers, _SHIFT), value_trace(ends, texts)]
    reach = np.column_stack([values, whiskers])
    return _figure(comparison, rows, reach, traces, texts, title, notes, tall=_PAIR_TALL)


def _differences(
    comparison: Comparison, rows: pd.DataFrame, title: str, notes: list[str]
) -> BarsFigure:
    """Draw one bar a kernel, from zero to the right for more and to the left for less."""
    difference = rows["difference"].to_numpy(dtype=np.float64)
    before = rows["before"].to_numpy(dtype=np.float64)
    values = np.column_stack([difference, before[:, None] * (_bounds(rows) - 1)])
    texts = [_difference_text(comparison, row) for row in rows.to_dict("records")]
    roles = difference_roles(comparison.metric, rows["change"], rows["ratio"])
    table = _boxes(comparison, rows, texts).assign(role=roles, width=difference)
    traces = box_traces(table, difference_words(comparison.metric), THICK)
    traces += [*whisker_traces(values), value_trace(outer_ends(values), texts)]
    return _figure(comparison, rows, values, traces, texts, title, notes)


def _figure(
    comparison: Comparison,
    rows: pd.DataFrame,
    reach: FloatArray,
    traces: list[dict[str, Any]],
    texts: list[str],
    title: str,
    notes: list[str],
    *,
    tall: float = 1,
) -> BarsFigure:
    labels = [str(label) for label in rows["label"]]
    boxes = [trace for trace in traces if trace["meta"] == "boxes"]
    layout = bar_layout(title, labels, reach, texts, comparison.metric, boxes, notes, tall=tall)
    return BarsFigure(data=traces, layout=layout)


def _boxes(comparison: Comparison, rows: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    hovers = [_hover(comparison, row) for row in rows.to_dict("records")]
    return bar_boxes([str(label) for label in rows["label"]], texts, hovers)


def _bounds(rows: pd.DataFrame) -> FloatArray:
    """Interval of each ratio, shape (n, 2); NaN without repeats."""
    if "low" not in rows:
        return np.full((len(rows), 2), np.nan)
    bounds: FloatArray = rows[["low", "high"]].to_numpy(dtype=np.float64)
    return bounds


def _pair_text(comparison: Comparison, row: Mapping[Any, Any]) -> str:
    before, after = (comparison.metric.format(row[side]) for side in ("before", "after"))
    if row["change"] == "added":
        return f"new, {after}"
    if row["change"] == "removed":
        return f"gone, {before}"
    return f"{before} → {after}{_ratio(row)}"


def _difference_text(comparison: Comparison, row: Mapping[Any, Any]) -> str:
    text = comparison.metric.format(row["difference"])
    text = f"+{text}" if row["difference"] > 0 else text
    word = {"added": ", new", "removed": ", gone"}.get(row["change"], "")
    return f"{text}{word or _ratio(row)}"


def _ratio(row: Mapping[Any, Any]) -> str:
    """Write the ratio, with its interval where there is one, and a word where nothing changed."""
    if math.isnan(row["ratio"]):
        return ""
    if row["change"] == "unchanged":
        return ", unchanged"
    bounds = [row[name] for name in ("low", "high") if not math.isnan(row.get(name, math.nan))]
    ratio, *ends = ratio_texts(row["ratio"], *bounds)
    return f", × {ratio} ({' to '.join(ends)})" if ends else f", × {ratio}"


def _hover(comparison: Comparison, row: Mapping[Any, Any]) -> str:
    title = escaped(caption(comparison.metric))
    lines = []
    for side in ("before", "after", "difference"):
        value = comparison.metric.format(row[side])
        lines.append(f"{title}, {side}: <b>{escaped(value)}</b>")
    verdict = str(row.get("verdict") or row["change"])
    launches = " and ".join(
        f"{row[f'count_{side}']:.0f} {side}"
        for side in ("before", "after")
        if not pd.isna(row[f"count_{side}"])
    )
    old = row["renamed_from"]
    renamed = "" if pd.isna(old) else f"before: {escaped(shortened(str(old), 90))}"
    about = f"launches: {launches}" if launches else ""
    return hover_text(str(row["label"]), str(row["name"]), *lines, escaped(verdict), about, renamed)
