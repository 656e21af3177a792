"""Lines across bars: what a rate could be at most, as measured or as a data sheet says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model import Device, Metric, Profile
from protonlab.model.roofs import WIDTH_OF, Roofs
from protonlab.views import theme
from protonlab.views.names import escaped, shortened

PEAK = "peak"
_LONGEST_LABEL = 60

# What `bars` takes: the word, label -> value in the metric's unit, measured roofs, or several.
Line = str | Mapping[str, float] | Roofs
Lines = Line | Sequence[Line]


@dataclass(frozen=True)
class ReferenceLine:
    """A value with a label, in the unit of the metric's name."""

    label: str
    value: float


def reference_lines(
    profile: Profile, metric: Metric, lines: Lines | None
) -> tuple[list[ReferenceLine], list[str]]:
    """Read lines; lowest first, with notes on peaks that are not known.

    Raises
    ------
    ProtonLabError
        If a line is no number or a word that is not known, or the metric has no peak.
    """
    if lines is None:
        return [], []
    given = [lines] if isinstance(lines, str | Mapping | Roofs) else lines
    found: list[ReferenceLine] = []
    notes: list[str] = []
    if not isinstance(given, Iterable):
        raise ProtonLabError(_wrong(lines))
    for each in given:
        if isinstance(each, Mapping):
            found += [reference_line(label, value) for label, value in each.items()]
        elif isinstance(each, Roofs):
            found += _roofs(each, metric)
            if profile.info.gpu and each.gpu != profile.info.gpu:
                notes.append(f"The roofs are those of {each.gpu}.")
        elif isinstance(each, str) and each == PEAK:
            peaks, missing = _peaks(profile.devices, metric)
            found += peaks
            notes += missing
        else:
            raise ProtonLabError(_wrong(each))
    return sorted(found, key=lambda line: line.value), notes


def shapes_of(lines: Sequence[ReferenceLine]) -> list[dict[str, Any]]:
    """Make plotly shapes of the lines, from top to bottom of the plot."""
    return [
        {
            "type": "line",
            **{"x0": line.value, "x1": line.value, "y0": 0, "y1": 1, "yref": "paper"},
            "line": {"color": theme.REFERENCE.light, "width": 1.5, "dash": "dash"},
        }
        for line in lines
    ]


def notes_of(
    lines: Sequence[ReferenceLine], metric: Metric, reach: tuple[float, float]
) -> list[dict[str, Any]]:
    """Make plotly annotations: labels above the plot, a row each, on the inner side."""
    middle = sum(reach) / 2
    return [
        {
            "text": f"{escaped(line.label)}: {escaped(metric.format(line.value))}",
            "x": line.value,
            **{"y": 1, "yref": "paper", "yanchor": "bottom"},
            "xanchor": "right" if line.value > middle else "left",
            "yshift": theme.ROW_HEIGHT * row,
            "showarrow": False,
            "font": {"size": theme.FONT_SIZE, "color": theme.REFERENCE.light},
        }
        for row, line in enumerate(lines)
    ]


def reference_line(label: Any, value: Any) -> ReferenceLine:
    """Check one line.

    Raises
    ------
    ProtonLabError
        If the label is no text or the value no finite number.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not isinstance(label, str) or isinstance(value, str | bool) or not math.isfinite(number):
        raise ProtonLabError(_wrong({label: value}))
    return ReferenceLine(shortened(label, _LONGEST_LABEL), number)


def _peaks(devices: Sequence[Device], metric: Metric) -> tuple[list[ReferenceLine], list[str]]:
    if metric.form == "util":
        return [ReferenceLine("peak", 1.0)], []
    _check_rate(metric, f"lines='{PEAK}'")
    column = metric.sources[0]
    width = column.removeprefix("flops")
    if metric.unit == "FLOP/s" and not width:
        return [], [f"{metric.name} says no width, so no data sheet's peak is known for it."]
    found: dict[float, str] = {}
    notes = []
    for device in devices:
        if column == "bytes":
            what, peak = "peak bandwidth", device.peak_bandwidth
        else:
            what, peak = f"peak at {width} bits", device.peak_flops(int(width))
        if peak is None:
            notes.append(f"No data sheet's {what} is known for {device}.")
        else:
            found.setdefault(peak / metric.scale, f"{what}, data sheet")
    return [ReferenceLine(label, value) for value, label in found.items()], notes


def _roofs(roofs: Roofs, metric: Metric) -> list[ReferenceLine]:
    """Lines of the roofs that the metric is a rate of."""
    _check_rate(metric, "lines=Roofs(…)")
    width = metric.sources[0].removeprefix("flops")
    return [
        ReferenceLine(f"{roof.name}, {roofs.source}", roof.value / metric.scale)
        for roof in roofs.roofs
        if roof.unit == metric.unit and (roof.unit == "B/s" or str(WIDTH_OF[roof.name]) == width)
    ]


def _check_rate(metric: Metric, lines: str) -> None:
    if metric.form != "ratio" or metric.unit not in ("B/s", "FLOP/s"):
        raise ProtonLabError(
            f"{lines}: {metric.name!r} has no peak; rates of bytes and flops have one, such as "
            "'gbyte/s' and 'tflop16/s'. Give label -> value for others."
        )


def _wrong(line: Any) -> str:
    return (
        f"lines={line!r} is no line; give '{PEAK}', or label -> value in the metric's unit, "
        "such as {'copy, measured': 4210}, or what measure_roofs() returns, or a list of these"
    )
