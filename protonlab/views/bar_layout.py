"""What bars have around them: the axis with their names, their values, whiskers and lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protonlab.model import Metric
from protonlab.model.frames import FloatArray
from protonlab.views import theme
from protonlab.views.figure import ProfileFigure
from protonlab.views.layout import layout_of
from protonlab.views.names import escaped, text_width
from protonlab.views.reference_lines import ReferenceLine, notes_of, shapes_of

_GAP = 0.2  # of a row, between bars
_VALUE_PADDING = 14  # pixels around a value
_AIR = "\u00a0"  # between a bar and its value, which plotly would let touch
_ROOM_LEFT = 0.15  # of the reach, for values of negative bars


class BarsFigure(ProfileFigure):
    """Bars, sorted, as a plotly figure."""


def bar_layout(
    title: str,
    ticks: Sequence[str],
    values: FloatArray,
    texts: Sequence[str],
    lines: Sequence[ReferenceLine],
    metric: Metric,
    legend: int,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Layout for bars of which each has a row.

    Parameters
    ----------
    title, legend, notes
        As `layout_of` takes them.
    ticks
        Escaped name of each bar, from top to bottom.
    values
        Value, low and high of each bar, shape (n, 3); low and high may be NaN.
    texts
        Value of each bar as text.
    lines, metric
        Reference lines, and the metric that they are values of.
    """
    reach = reach_of(values, lines)
    layout = layout_of("bars", title, len(ticks), legend=legend, notes=notes) | {
        "bargap": _GAP,
        "xaxis": {"visible": False, "range": list(reach), "fixedrange": True},
        "yaxis": {
            "range": [len(ticks) - 0.5, -0.5],
            "tickvals": list(range(len(ticks))),
            "ticktext": list(ticks),
            "ticks": "",
            "ticklabelstandoff": 6,
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "shapes": shapes_of(lines),
    }
    layout["annotations"] += notes_of(lines, metric, reach)
    above = theme.ROW_HEIGHT * len(lines)
    layout["margin"]["t"] += above
    layout["height"] += above
    layout["margin"]["r"] = max(map(text_width, texts), default=0) + _VALUE_PADDING
    return layout


def reach_of(values: FloatArray, lines: Sequence[ReferenceLine]) -> tuple[float, float]:
    """Range of the axis: zero, every bar with its whisker, and every line."""
    ends = [*values[~np.isnan(values)].tolist(), *(line.value for line in lines)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if lines:
        high += 0.01 * (high - low)  # at the very end plotly would draw half of a line
    if low < 0:
        low -= _ROOM_LEFT * (high - low)
    return low, high if high > low else low + 1.0


def value_traces(values: FloatArray, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Traces of whiskers, where there are some, and of the values behind bars and whiskers."""
    rows = list(range(len(values)))
    middle, low, high = values.T
    outer = np.where(middle < 0, np.fmin(middle, low), np.fmax(middle, high))
    bare = {
        "type": "scatter",
        "y": rows,
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    traces = []
    if not np.isnan(low).all():
        traces.append(
            bare
            | {
                "meta": "whiskers",
                "mode": "markers",
                "x": middle.tolist(),
                "marker": {"size": 2, "color": theme.WHISKER.light},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": np.nan_to_num(np.clip(high - middle, 0, None)).tolist(),
                    "arrayminus": np.nan_to_num(np.clip(middle - low, 0, None)).tolist(),
                    "color": theme.WHISKER.light,
                    **{"thickness": 1.2, "width": 4},
                },
            }
        )
    traces.append(
        bare
        | {
            "meta": "values",
            "mode": "text",
            "x": outer.tolist(),
            "text": [
                f"{escaped(text)}{_AIR}" if value < 0 else f"{_AIR}{escaped(text)}"
                for text, value in zip(texts, middle.tolist(), strict=True)
            ],
            "textposition": [
                "middle left" if value < 0 else "middle right" for value in middle.tolist()
            ],
            "textfont": {"size": theme.FONT_SIZE, "color": theme.TEXT.light},
        }
    )
    return traces
