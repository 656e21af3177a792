"""What bars have around them: the axis with their names, their values, whiskers and lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model import Metric
from protonlab.model.frames import FloatArray
from protonlab.views import theme
from protonlab.views.figure import ProfileFigure
from protonlab.views.layout import STANDOFF, layout_of, names_axis
from protonlab.views.names import (
    LONGEST_LABEL,
    LONGEST_TICK,
    escaped,
    shortened,
    text_width,
    told_apart,
    unmarked,
)
from protonlab.views.reference_lines import ReferenceLine, notes_of, shapes_of

THICK = 0.8  # of a row: a bar
_LEGEND_ENTRY = 45  # pixels that plotly puts around a text in the legend
_VALUE_PADDING = 14  # pixels around a value
_AIR = "\u00a0"  # between a bar and its value, which plotly would let touch
_TOUCHING = 6  # pixels from the end of a bar back to a line that would still touch its value
_LEAST_ROOM = 340  # pixels for bars on a narrow page


class BarsFigure(ProfileFigure):
    """Bars, sorted, as a plotly figure."""


def bar_layout(
    title: str,
    labels: Sequence[str],
    values: FloatArray,
    texts: Sequence[str],
    metric: Metric,
    explained: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    *,
    lines: Sequence[ReferenceLine] = (),
    tall: float = 1,
) -> dict[str, Any]:
    """Layout for bars of which each has a row.

    Parameters
    ----------
    title, notes
        As `layout_of` takes them.
    labels
        Name of each bar, from top to bottom, not escaped.
    values
        All values that the axis must hold, one row a bar, its own first; NaN where there is none.
    texts
        Value of each bar as text.
    explained
        Traces that the legend explains.
    lines, metric
        Reference lines, and the metric that they are values of.
    tall
        Height of a bar's row, in rows of the page.
    """
    ticks = [escaped(label) for label in told_apart(labels, LONGEST_TICK)]
    legend = legend_rows(explained, ticks, texts) if explained else 0
    names = max(text_width(unmarked(tick)) for tick in ticks) + STANDOFF
    room = theme.NOMINAL_WIDTH - names - theme.MARGIN["l"] - theme.MARGIN["r"]
    after, ahead = _value_room(values[:, 0], texts)
    reach = reach_of(values, lines, ahead / max(room - after - ahead, 1.0))
    rows = math.ceil(len(ticks) * tall)
    above = theme.ROW_HEIGHT * len(lines)
    layout = layout_of(
        "bars", title, rows, legend=legend, notes=notes, names=ticks, above=above
    ) | {
        "xaxis": {"visible": False, "range": list(reach), "fixedrange": True},
        "yaxis": names_axis(ticks, len(ticks)),
        "shapes": shapes_of(lines),
    }
    layout["annotations"] += notes_of(lines, metric, reach)
    layout["margin"]["r"] = after
    return layout


def bar_boxes(labels: Sequence[str], texts: Sequence[str], hovers: Sequence[str]) -> pd.DataFrame:
    """Describe bars from zero, as `box_traces` needs it but for role and width.

    Parameters
    ----------
    labels, texts
        As `bar_layout` takes them.
    hovers
        Escaped.
    """
    return pd.DataFrame(
        {
            "start": 0.0,
            "row": np.arange(len(labels), dtype=np.float64),
            "label": [shortened(label, LONGEST_LABEL) for label in labels],
            "aside": texts,
            "text": "",
            "hover": hovers,
            "edge": 0,
        }
    )


def _value_room(values: FloatArray, texts: Sequence[str]) -> tuple[float, float]:
    """Pixels that values need behind the longest bar, and ahead of the most negative one."""
    after, ahead = float(theme.MARGIN["r"]), 0.0
    for value, text in zip(values.tolist(), texts, strict=True):
        width = text_width(text) + _VALUE_PADDING
        after, ahead = (after, max(ahead, width)) if value < 0 else (max(after, width), ahead)
    return after, ahead


def reach_of(
    values: FloatArray, lines: Sequence[ReferenceLine], ahead: float
) -> tuple[float, float]:
    """Range of the axis: zero, every bar with its whisker, every line, and `ahead` of it more."""
    ends = [*values[~np.isnan(values)].tolist(), *(line.value for line in lines)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if lines:
        high += 0.01 * (high - low)  # at the very end plotly would draw half of a line
    low -= ahead * (high - low)
    return low, high if high > low else low + 1.0


def whisker_traces(values: FloatArray, shift: float = 0.0) -> list[dict[str, Any]]:
    """Trace of the whiskers, or none where no bar has one.

    Parameters
    ----------
    values
        Value, low and high of each bar, shape (n, 3); low and high may be NaN.
    shift
        How far below the middle of its row a whisker lies, in rows.
    """
    middle, low, high = values.T
    if np.isnan(low).all():
        return []
    error = {
        "type": "data",
        "symmetric": False,
        "array": np.nan_to_num(np.clip(high - middle, 0, None)).tolist(),
        "arrayminus": np.nan_to_num(np.clip(middle - low, 0, None)).tolist(),
        "color": theme.WHISKER.light,
        **{"thickness": 1.2, "width": 4},
    }
    return [
        _points(len(values), shift)
        | {
            "meta": "whiskers",
            "mode": "markers",
            "x": np.where(np.isnan(low), np.nan, middle).tolist(),
            "marker": {"size": 2, "color": theme.WHISKER.light},
            "error_x": error,
        }
    ]


def value_trace(
    ends: FloatArray, texts: Sequence[str], lines: Sequence[ReferenceLine] = ()
) -> dict[str, Any]:
    """Trace of the values, each as text behind what ends there, or behind the line in its way.

    Parameters
    ----------
    ends
        Where each bar ends, with its whisker; shape (n,).
    texts
        Value of each bar as text.
    lines
        Reference lines.
    """
    pixel = max([*ends.tolist(), *(line.value for line in lines)]) / _LEAST_ROOM
    places, airs = ends.tolist(), [_AIR] * len(texts)
    for line in sorted(lines, key=lambda each: each.value):
        for row, text in enumerate(texts):
            ahead = (line.value - places[row]) / pixel  # pixels
            if places[row] >= 0 and -_TOUCHING < ahead < text_width(text):
                places[row], airs[row] = max(places[row], line.value), 2 * _AIR
    return _points(len(ends)) | {
        "meta": "values",
        "mode": "text",
        "x": places,
        "text": [
            f"{escaped(text)}{air}" if end < 0 else f"{air}{escaped(text)}"
            for text, end, air in zip(texts, places, airs, strict=True)
        ],
        "textposition": ["middle left" if end < 0 else "middle right" for end in places],
        "textfont": {"size": theme.FONT_SIZE, "color": theme.TEXT.light},
    }


def outer_ends(values: FloatArray) -> FloatArray:
    """End of each bar and its whisker, away from zero; shape (n,)."""
    middle, low, high = values.T
    ends: FloatArray = np.where(middle < 0, np.fmin(middle, low), np.fmax(middle, high))
    return ends


def legend_rows(
    traces: Sequence[Mapping[str, Any]], ticks: Sequence[str], texts: Sequence[str]
) -> int:
    """Rows of the legend in plotly, which gives it the width of the bars, in even columns."""
    names = [unmarked(trace["name"]) for trace in traces if trace["showlegend"]]
    widths = [text_width(name) + _LEGEND_ENTRY for name in names]
    outside = (max(text_width(unmarked(each)) for each in column) for column in (ticks, texts))
    room = theme.NOMINAL_WIDTH - sum(outside) - 2 * _LEGEND_ENTRY
    if sum(widths) <= room:
        return 1
    return math.ceil(len(names) / max(1, int(room / max(widths))))


def _points(count: int, shift: float = 0.0) -> dict[str, Any]:
    return {
        "type": "scatter",
        "y": [row + shift for row in range(count)],
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
