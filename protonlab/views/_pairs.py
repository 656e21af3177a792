"""Two variants measured in pairs: every sample, running medians, and the bands round them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, VariantComparison
from protonlab.model.frames import FloatArray
from protonlab.model.running import RunningMedian, running_median
from protonlab.model.sentences import cleaned
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.figure import ProfileFigure
from protonlab.views.layout import chart_layout, empty_layout, fixed_axis, title_of
from protonlab.views.names import escaped, shortened
from protonlab.views.reference_lines import ReferenceLine, reference_line
from protonlab.views.sources import keeps_sources

_ROWS = 13  # the figure is so many rows of a flame graph high
_NEAR = 0.06  # a reference line so near to the samples widens the axis; others stand at its edge
_PADDING = 0.12
_LOOKS = (
    ("first", theme.FIRST, theme.FIRST_BAND, "circle"),
    ("second", theme.SECOND, theme.SECOND_BAND, "diamond"),
)


class PairsFigure(ProfileFigure):
    """Samples of two variants as a plotly figure."""

    _verdict = ""

    @property
    def verdict(self) -> str:
        """The comparison's verdict."""
        return self._verdict

    def __repr__(self) -> str:
        return f"{super().__repr__().removesuffix(', 0 boxes>')}: {cleaned(self._verdict)}>"


@keeps_sources
def pairs(
    comparison: VariantComparison,
    *,
    lines: Mapping[str, float] | None = None,
    title: str = "",
    notes: tuple[str, ...] = (),
) -> PairsFigure:
    """Draw a comparison pair by pair, with running medians and their 95 % intervals as bands.

    Parameters
    ----------
    comparison
        From `compare_variants`.
    lines
        Label -> value of reference lines, in the metric's unit. One far from the samples would
        flatten them, so it is only named, at the edge that it lies behind.
    title
        Instead of the names of the variants.
    notes
        Sentences below the figure, before those that say what makes the numbers doubtful.

    Raises
    ------
    ProtonLabError
        If `comparison` is something else, or a line is no label with a finite number.

    Examples
    --------
    >>> protonlab.pairs(comparison, lines={"copy, measured": 4250})  # doctest: +SKIP
    """
    if not isinstance(comparison, VariantComparison):
        raise ProtonLabError(
            f"pairs() draws what compare_variants() measured, not a {type(comparison).__name__}; "
            "bars() draws a comparison of two profiles"
        )
    if not isinstance(lines, Mapping | None):
        raise ProtonLabError(
            f"lines={lines!r}; give label -> value in the metric's unit, such as "
            "{'copy, measured': 4210}"
        )
    metric = comparison.metric
    heading = title_of(
        title or " against ".join(comparison.names),
        metric.name,
        counted(len(comparison), "pair"),
        comparison.info.backend if _is_interpreted(comparison) else "",
    )
    references = [reference_line(label, value) for label, value in (lines or {}).items()]
    if not len(comparison):
        figure = PairsFigure(layout=empty_layout("pairs", heading, "Nothing measured yet."))
        figure._verdict = comparison.verdict
        return figure
    low, high = _reach(comparison, references)
    inside = [line for line in references if low <= line.value <= high]
    layout = chart_layout("pairs", heading, _ROWS, (*notes, *doubts(comparison)))
    last = len(comparison)
    layout |= {
        "xaxis": fixed_axis("pair", (0.0, last + max(1.0, 0.02 * last))),
        "yaxis": fixed_axis(metric.name, (low, high)) | _decimals(high),
        "shapes": [_shape(line) for line in inside],
    }
    layout["annotations"] += [*_beside(inside, metric, low, high)]
    layout["annotations"] += [*_beyond(references, metric, low, high)]
    figure = PairsFigure(data=[*_traces(comparison)], layout=layout)
    figure._verdict = comparison.verdict
    return figure


def doubts(comparison: VariantComparison) -> tuple[str, ...]:
    """Say what makes the numbers of a comparison doubtful, one sentence each."""
    times = ("Warning: times on the interpreter say nothing about a GPU.",)
    warnings = (f"Warning: {each}" for each in comparison.warnings)
    return (*(times if _is_interpreted(comparison) else ()), *warnings)


def _is_interpreted(comparison: VariantComparison) -> bool:
    return comparison.info.backend.startswith("interpreter")


def _decimals(high: float) -> dict[str, Any]:
    """Write small rates without plotly's prefixes, which before no unit read as one."""
    plain = {"exponentformat": "none" if high > 1e-4 else "e", "automargin": True}
    return plain if high < 1 else {}


def _reach(comparison: VariantComparison, lines: list[ReferenceLine]) -> tuple[float, float]:
    values = np.concatenate(comparison.values)
    low, high = float(values.min()), float(values.max())
    near = [line.value for line in lines if low * (1 - _NEAR) <= line.value <= high * (1 + _NEAR)]
    low, high = min([low, *near]), max([high, *near])
    padding = _PADDING * (high - low) or 0.01 * high
    return low - padding, high + padding


def _traces(comparison: VariantComparison) -> Iterator[dict[str, Any]]:
    medians = [running_median(values) for values in comparison.values]
    number = np.arange(1.0, len(comparison) + 1)
    for running, (which, _, band, _) in zip(medians, _LOOKS, strict=True):
        yield _band(number, running, which, band.light)
    for side in (0, 1):
        yield _points(comparison, number, side)
    for side, running in enumerate(medians):
        yield _line(comparison, number, running, side)


def _band(number: FloatArray, running: RunningMedian, which: str, colour: str) -> dict[str, Any]:
    known = np.isfinite(running.low)
    x = number[known]
    return {
        "type": "scatter",
        "meta": f"band {which}",
        "mode": "lines",
        "fill": "toself",
        "fillcolor": colour,
        "line": {"width": 0, "color": colour},
        "x": [*x.tolist(), *x[::-1].tolist()],
        "y": [*_rounded(running.low[known]), *_rounded(running.high[known][::-1])],
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _points(comparison: VariantComparison, number: FloatArray, side: int) -> dict[str, Any]:
    which, colour, _, symbol = _LOOKS[side]
    name, metric = _name(comparison, side), comparison.metric
    clocks = comparison.pairs
    return {
        "type": "scatter",
        "meta": f"points {which}",
        "mode": "markers",
        "name": name,
        "showlegend": False,
        "x": number.tolist(),
        "y": _rounded(comparison.values[side]),
        "marker": {"color": colour.light, "size": 5, "symbol": symbol, "opacity": 0.55},
        "hovertext": [
            f"{name}, pair {at:.0f}: {said(metric, value)}{_state(mhz, watts)}"
            for at, value, mhz, watts in zip(
                number.tolist(),
                comparison.values[side].tolist(),
                clocks["sm_clock_mhz"].tolist(),
                clocks["power_w"].tolist(),
                strict=True,
            )
        ],
        "hoverinfo": "text",
    }


def _line(
    comparison: VariantComparison, number: FloatArray, running: RunningMedian, side: int
) -> dict[str, Any]:
    which, colour, *_ = _LOOKS[side]
    metric = comparison.metric
    middle, low, high = (float(part[-1]) for part in (running.median, running.low, running.high))
    bounds = ""
    if math.isfinite(low):
        bounds = f" (95 % interval {_number(low)} to {_number(high)})"
    return {
        "type": "scatter",
        "meta": f"median {which}",
        "mode": "lines",
        "name": f"{_name(comparison, side)}: median {said(metric, middle)}{bounds}",
        "showlegend": True,
        "legendrank": 1 + side,  # whichever is drawn last
        "x": number.tolist(),
        "y": _rounded(running.median),
        "line": {"color": colour.light, "width": 2.5, "dash": "solid" if side == 0 else "dash"},
        "hoverinfo": "skip",
    }


def said(metric: Metric, value: float) -> str:
    """Write a value with four digits in the unit of the metric's name.

    The ends of an interval would look the same with three.
    """
    unit = "GB/s" if metric.name == "gbyte/s" else metric.name
    return f"{_number(value)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _state(mhz: float, watts: float) -> str:
    """Clock and power beside a pair, as far as they are known."""
    parts = [f"{mhz:.0f} MHz"] * (mhz == mhz) + [f"{watts:.0f} W"] * (watts == watts)
    return f" ({', '.join(parts)})" if parts else ""


def _name(comparison: VariantComparison, side: int) -> str:
    return escaped(shortened(comparison.names[side], 40))


def _rounded(values: FloatArray) -> list[float]:
    """Six digits are more than a picture shows, and make a small figure."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _shape(line: ReferenceLine) -> dict[str, Any]:
    return {
        "type": "line",
        **{"x0": 0, "x1": 1, "xref": "paper", "y0": line.value, "y1": line.value},
        "line": {"color": theme.REFERENCE.light, "width": 1.5, "dash": "dot"},
    }


def _beside(
    lines: list[ReferenceLine], metric: Metric, low: float, high: float
) -> Iterator[dict[str, Any]]:
    """Labels on lines within the picture, at its right edge."""
    for line in lines:
        yield {
            "text": f"{escaped(line.label)}: {escaped(said(metric, line.value))}",
            **{"x": 1, "xref": "paper", "xanchor": "right", "y": line.value},
            "yanchor": "bottom" if line.value < high - 0.1 * (high - low) else "top",
            "showarrow": False,
            "font": {"size": theme.FONT_SIZE, "color": theme.REFERENCE.light},
        }


def _beyond(
    lines: list[ReferenceLine], metric: Metric, low: float, high: float
) -> Iterator[dict[str, Any]]:
    """One text at either edge that names the lines behind it."""
    for arrow, place, found in (
        ("↑", 1, [line for line in lines if line.value > high]),
        ("↓", 0, [line for line in lines if line.value < low]),
    ):
        if found:
            texts = [
                f"{escaped(each.label)}: {escaped(said(metric, each.value))}" for each in found
            ]
            yield {
                "text": f"{arrow} {' · '.join(texts)}",
                **{"x": 1, "xref": "paper", "xanchor": "right", "y": place, "yref": "paper"},
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": theme.FONT_SIZE, "color": theme.REFERENCE.light},
            }
