"""A sweep of epilogue overlap: bandwidth against tokens per expert, or what the switch changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.epilogue_sweep import OVERLAP, SERIAL, EpilogueSweep
from protonlab.model.sweep_shapes import crossings, of_shape, several_shapes
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.figure import ProfileFigure
from protonlab.views.layout import chart_layout, empty_layout, fixed_axis, title_of
from protonlab.views.names import escaped
from protonlab.views.sources import keeps_sources

Shown = Literal["gbyte/s", "difference"]
_ROWS = 14  # the figure is so many rows of a flame graph high
_PADDING = 0.08
_SIDES = (
    (OVERLAP, theme.FIRST, theme.FIRST_BAND, "solid"),
    (SERIAL, theme.SECOND, theme.SECOND_BAND, "dash"),
)


class OverlapFigure(ProfileFigure):
    """A sweep as a plotly figure."""

    _words = ""

    def __repr__(self) -> str:
        return f"{super().__repr__().removesuffix(', 0 boxes>')}: {self._words}>"


@keeps_sources
def overlap_by_tokens(
    sweep: EpilogueSweep,
    *,
    kernel: str = "ours",
    k: int | None = None,
    n: int | None = None,
    experts: int | None = None,
    show: Shown = "gbyte/s",
) -> OverlapFigure:
    """Draw a sweep against tokens per expert, overlap on and off, and mark where they cross.

    Parameters
    ----------
    sweep
        From `sweep_epilogue`, `protonlab.recorded.epilogue_sweep` or `load`.
    kernel
        ``"ours"`` or ``"upstream"``.
    k, n, experts
        Columns and rows of the weights, and how many experts; by default the largest K that was
        measured, the largest N at that K, and the most experts there.
    show
        ``"gbyte/s"``: medians of both settings, in bands from the 5 % to the 95 % quantile of
        their samples. ``"difference"``: how much more bandwidth overlap gives, in percent, in the
        95 % interval of the ratio.

    Raises
    ------
    ProtonLabError
        If this is no sweep, it holds no such kernel or shape, or `show` is neither.

    Examples
    --------
    >>> protonlab.overlap_by_tokens(protonlab.recorded.epilogue_sweep(), k=256)  # doctest: +SKIP
    """
    if not isinstance(sweep, EpilogueSweep):
        raise ProtonLabError(
            f"overlap_by_tokens() draws an EpilogueSweep, not a {type(sweep).__name__}; "
            "sweep_epilogue() measures one, load() reads one"
        )
    if show not in ("gbyte/s", "difference"):
        raise ProtonLabError(f"show={show!r}; give 'gbyte/s' or 'difference'")
    table = sweep.to_dataframe()
    rows = of_shape(table, kernel, k, n, experts)
    what = "bandwidth" if show == "gbyte/s" else "what overlap gives"
    named = "our kernel" if kernel == "ours" else "upstream's kernel"
    title = title_of(
        "epilogue overlap", what, ", ".join([named, *_shape(rows, table)]), sweep.info.gpu
    )
    if rows.empty:
        return OverlapFigure(layout=empty_layout("sweep", title, "The sweep holds no case."))
    crossed = crossings(rows)
    drawn = list(_bandwidth(rows) if show == "gbyte/s" else _difference(rows))
    figure = OverlapFigure(data=drawn, layout=_layout(rows, drawn, title, show, crossed, sweep))
    figure._words = _said(rows, crossed)
    return figure


def _shape(rows: pd.DataFrame, table: pd.DataFrame) -> Iterator[str]:
    """Say which shape was chosen: K, and what else the sweep has several of."""
    for name in ("k", *several_shapes(table)) if len(rows) else ():
        value = rows[name].iloc[0]
        yield counted(value, "expert") if name == "experts" else f"{name.upper()} = {value}"


def _bandwidth(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    at = rows["tokens"].tolist()
    for name, _, band, _ in _SIDES:
        low, high = rows[f"gbyte_s_{name}_low"].tolist(), rows[f"gbyte_s_{name}_high"].tolist()
        yield _band(at, low, high, band)
    for name, colour, _, dash in _SIDES:
        values = rows[f"gbyte_s_{name}"].tolist()
        hovers = [
            f"{name}, {count:,} tokens: {value:,.0f} GB/s; {escaped(verdict)}"
            for count, value, verdict in zip(at, values, rows["verdict"], strict=True)
        ]
        yield _line(at, values, f"{name}: median, 5 to 95 % of samples", colour, dash, hovers)


def _difference(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """How much more bandwidth overlap gives: the ratio of the table is serial by overlap."""
    at = rows["tokens"].tolist()
    middle, low, high = (
        [100 * (1 / value - 1) for value in rows[name]]
        for name in ("ratio", "ratio_high", "ratio_low")
    )
    yield _band(at, low, high, theme.FIRST_BAND)
    hovers = [
        f"{count:,} tokens: {value:+.2f} % ({least:+.2f} to {most:+.2f} %)"
        for count, value, least, most in zip(at, middle, low, high, strict=True)
    ]
    yield _line(at, middle, "overlap against serial, 95 % interval", theme.FIRST, "solid", hovers)


def _band(
    at: Sequence[int], low: Sequence[float], high: Sequence[float], colour: theme.Colour
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "fillcolor": colour.light,
        "line": {"width": 0, "color": colour.light},
        "x": [*at, *reversed(at)],
        "y": [*low, *reversed(high)],
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _line(
    at: Sequence[int],
    values: Sequence[float],
    name: str,
    colour: theme.Colour,
    dash: str,
    hovers: Sequence[str],
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "showlegend": True,
        "x": list(at),
        "y": list(values),
        "line": {"color": colour.light, "width": 2.5, "dash": dash},
        "marker": {"color": colour.light, "size": 7},
        "hovertext": list(hovers),
        "hoverinfo": "text",
    }


def _layout(
    rows: pd.DataFrame,
    drawn: Sequence[dict[str, Any]],
    title: str,
    show: Shown,
    crossed: Sequence[float],
    sweep: EpilogueSweep,
) -> dict[str, Any]:
    said = _said(rows, crossed)
    notes = [f"{said[0].upper()}{said[1:]}.", f"Measured on {sweep.where}, in interleaved pairs."]
    layout = chart_layout("sweep", title, _ROWS, notes)
    values = [value for trace in drawn for value in trace["y"]] + [0.0] * (show == "difference")
    low, high = min(values), max(values)
    padding = _PADDING * (high - low) or 1.0
    low = max(low - padding, 0.0) if show == "gbyte/s" else low - padding
    tokens = rows["tokens"].tolist()
    ends = [math.log10(tokens[0]) - 0.06, math.log10(tokens[-1]) + 0.06]
    unit = "GB/s" if show == "gbyte/s" else "%"
    layout["xaxis"] = fixed_axis("tokens per expert", ends) | {
        "type": "log",
        "tickvals": tokens,
        "ticktext": [f"{count:,}" for count in tokens],
    }
    layout["yaxis"] = fixed_axis(unit, [low, high + padding])
    layout["shapes"] = [_upright(crossing) for crossing in crossed]
    if show == "difference":
        layout["shapes"].append(_level())
    if crossed:
        layout["annotations"].append(_crossing(crossed, ends))
    return layout


def _upright(at: float) -> dict[str, Any]:
    look = {"color": theme.REFERENCE.light, "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": look}


def _level() -> dict[str, Any]:
    look = {"color": theme.WHISKER.light, "width": 1}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": 0, "y1": 0, "line": look}


def _crossing(crossed: Sequence[float], ends: Sequence[float]) -> dict[str, Any]:
    """One label: several would lie on each other where crossings are near, or the page narrow."""
    place, anchor, side = 1.0, "paper", "right"
    if len(crossed) == 1:
        place, anchor = math.log10(crossed[0]), "x"  # plotly takes annotations on such an axis so
        side = "right" if place > sum(ends) / 2 else "left"
    return {
        "text": f"they cross at about {_in_words(crossed)} tokens",
        **{"x": place, "xref": anchor, "xanchor": side},
        **{"y": 1, "yref": "paper", "yanchor": "bottom"},
        "showarrow": False,
        "font": {"size": theme.FONT_SIZE, "color": theme.REFERENCE.light},
    }


def _in_words(crossed: Sequence[float]) -> str:
    return " and ".join(f"{at:.0f}" for at in crossed)


def _said(rows: pd.DataFrame, crossed: Sequence[float]) -> str:
    """Say at how many sizes which setting is faster, and where that changes."""
    gains, costs = rows["ratio_high"] < 1, rows["ratio_low"] > 1
    count = len(rows)
    parts = [
        f"overlap is faster at {int(gains.sum())} and slower at {int(costs.sum())} "
        f"of {count} sizes, by {_most(rows[gains | costs])} at most"
    ]
    ties = count - int((gains | costs).sum())
    if ties:
        parts.append(f"the interval holds a tie at {ties}")
    if crossed:
        parts.append(f"they cross at about {_in_words(crossed)}")
    return "; ".join(parts)


def _most(rows: pd.DataFrame) -> str:
    most = max((abs(1 / ratio - 1) for ratio in rows["ratio"]), default=0.0)
    return f"{100 * most:.1f} %"
