"""Axes and roofs of a roofline: logarithmic, with a line and a label for each roof."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from protonlab.model import format_quantity
from protonlab.model.roofs import MEASURED, Roof, Roofs
from protonlab.views import theme
from protonlab.views.layout import fixed_axis
from protonlab.views.names import escaped

_FEW_DECADES = 3.0
_PREFIXES = ("", "k", "M", "G", "T", "P")


def reach_of(
    table: pd.DataFrame, memory: Roof | None, products: Sequence[Roof]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Find ends of both axes that hold every point, and the ridge where memory meets matmul."""
    xs, ys = table["flop/byte"].tolist(), table["flop/s"].tolist()
    ys += [roof.value for roof in products]
    if memory is not None:
        xs += [roof.value / memory.value for roof in products]
    low, high = min(xs) / 4, max(xs) * 4
    if memory is not None and not products:
        ys += [memory.value * value for value in table["flop/byte"]]
    return (low, high), (min(ys) / 4, max(ys) * 2.5)


def roof_lines(
    roofs: Roofs, products: Sequence[Roof], reach: tuple[float, float]
) -> Iterator[dict[str, Any]]:
    """Make traces of the roofs: what memory allows, and what each width's arithmetic does."""
    low, high = reach
    memory = roofs.bandwidth
    dash = "solid" if roofs.source == MEASURED else "dash"
    look = {
        **{"type": "scatter", "mode": "lines", "meta": "roof", "hoverinfo": "skip"},
        "showlegend": False,
        "line": {"color": theme.OUTLINE.light, "width": 1.5, "dash": dash},
    }
    top = max((roof.value for roof in products), default=math.inf)
    if memory is not None:
        end = min(high, top / memory.value)
        yield look | {"x": [low, end], "y": [low * memory.value, end * memory.value]}
    for roof in products:
        start = max(low, roof.value / memory.value) if memory is not None else low
        yield look | {"x": [start, high], "y": [roof.value] * 2}


def roof_labels(
    roofs: Roofs, products: Sequence[Roof], reach: tuple[float, float]
) -> Iterator[dict[str, Any]]:
    """Make annotations; plotly takes places on a logarithmic axis in powers of ten."""
    low, high = reach
    look = {
        "showarrow": False,
        "font": {"size": theme.FONT_SIZE, "color": theme.MUTED.light},
    }
    bandwidths = [roof for roof in roofs.roofs if roof.unit == "B/s"]
    memory = roofs.bandwidth
    if memory is not None:
        words = ", ".join(
            f"{each.name} {format_quantity(each.value, 'B/s')}" for each in bandwidths
        )
        at = low * 1.3
        yield look | {
            "text": escaped(f"{words} ({roofs.source})"),
            **{"x": math.log10(at), "y": math.log10(at * memory.value)},
            **{"xanchor": "left", "yanchor": "top", "xshift": 8},
        }
    for roof in products:
        yield look | {
            "text": escaped(
                f"{roof.name} {format_quantity(roof.value, 'FLOP/s')} ({roofs.source})"
            ),
            **{"x": math.log10(high), "y": math.log10(roof.value)},
            **{"xanchor": "right", "yanchor": "bottom"},
        }


def log_axis(title: str, reach: tuple[float, float]) -> dict[str, Any]:
    """Make a logarithmic axis with a tick for each power of ten."""
    low, high = (math.log10(end) for end in reach)
    steps = (1, 2, 5) if high - low < _FEW_DECADES else (1,)
    values = [
        step * 10.0**power for power in range(math.floor(low), math.ceil(high)) for step in steps
    ]
    values = [value for value in values if low <= math.log10(value) <= high]
    return fixed_axis(title, (low, high)) | {
        "type": "log",
        "tickvals": values,
        "ticktext": [_tick(value) for value in values],
        "ticks": "",
    }


def _tick(value: float) -> str:
    """Write ``2 T`` for 2e12."""
    step = math.floor(math.log10(value) / 3 + 1e-9)
    if step < 0 or step >= len(_PREFIXES):
        return f"{value:g}"
    return f"{value / 1000.0**step:g} {_PREFIXES[step]}".rstrip()
