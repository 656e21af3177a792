"""Where a static picture puts what plotly's JSON says: axes in pixels, ticks, and their texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protonlab.model.units import plain
from protonlab.views import theme
from protonlab.views.names import text_width, unmarked

_TICKS = 6  # about so many on an axis that says nothing else
_STANDOFF = 8  # pixels between a text and its axis


@dataclass(frozen=True)
class Axis:
    """One axis: data on the one side, pixels on the other.

    Parameters
    ----------
    low, high
        Range in data; of a logarithmic axis in powers of ten, as plotly writes it.
    start, end
        The same places in pixels of the picture.
    is_log
        Whether the axis is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def pixel(self, value: float) -> float:
        """Place of a value in pixels; NaN where it has none, as zero on a logarithmic axis."""
        if self.is_log:
            value = math.log10(value) if value > 0 else math.nan
        part = (value - self.low) / (self.high - self.low or 1.0)
        return self.start + part * (self.end - self.start)

    def within(self, value: float) -> float:
        """Place of a value, or the end of the axis that it lies behind."""
        place = self.pixel(value)
        low, high = sorted((self.start, self.end))
        return min(max(place, low), high) if place == place else self.start

    @property
    def unit(self) -> float:
        """Pixels that one unit of data takes on a linear axis."""
        return abs((self.end - self.start) / (self.high - self.low or 1.0))


@dataclass(frozen=True)
class Plane:
    """The part of a picture that holds its marks.

    Parameters
    ----------
    width, height
        Of the whole picture, in pixels.
    x, y
        Its axes.
    """

    width: float
    height: float
    x: Axis
    y: Axis

    @classmethod
    def of(cls, figure: Mapping[str, Any]) -> Plane:
        """Lay a figure out as plotly would at the width of a static picture."""
        layout = figure["layout"]
        margin = {**theme.MARGIN, **(layout.get("margin") or {})}
        width, height = theme.NOMINAL_WIDTH, layout.get("height") or 450
        labels = list(tick_texts(layout.get("yaxis") or {}))
        longest = max((text_width(text) for text in labels), default=0.0)
        left = margin["l"] + (longest + _STANDOFF if labels else 0.0)
        return cls(
            width,
            height,
            _axis(figure, "x", left, width - margin["r"]),
            _axis(figure, "y", height - margin["b"], margin["t"]),
        )

    def place(self, mark: Mapping[str, Any], name: str, which: str = "") -> float:
        """Place in pixels of a shape's or an annotation's ``x``, ``y``, ``x0``, …."""
        axis = self.x if name == "x" else self.y
        value = float(mark.get(name + which, 0))
        if mark.get(f"{name}ref", name) == "paper":
            return axis.start + value * (axis.end - axis.start)
        if axis.is_log and which == "":  # plotly takes annotations in powers of ten, shapes not
            value = 10.0**value
        return axis.pixel(value)


def tick_texts(axis: Mapping[str, Any]) -> Iterator[str]:
    """Texts of an axis' own ticks, without tags."""
    if axis.get("visible") is not False and axis.get("showticklabels") is not False:
        yield from (unmarked(str(text)) for text in axis.get("ticktext") or ())


def ticks(axis: Axis, about: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Places and texts of an axis' ticks: its own, or round numbers."""
    if about.get("visible") is False or about.get("showticklabels") is False:
        return []
    values = about.get("tickvals")
    if values:
        texts: Sequence[str] = list(tick_texts(about)) or [plain(value) for value in values]
    else:
        values = list(_decades(axis) if axis.is_log else _round_numbers(axis))
        texts = [f"{value:.10g}{about.get('ticksuffix') or ''}" for value in values]
    return [
        (axis.pixel(value), text)
        for value, text in zip(values, texts, strict=False)
        if axis.within(value) == axis.pixel(value)
    ]


def numbers(values: Iterable[Any] | None) -> list[float]:
    """Values of a trace; what is missing or no number is NaN."""
    return [
        float(value) if isinstance(value, int | float) else math.nan
        for value in ([] if values is None else values)
    ]


def _axis(figure: Mapping[str, Any], name: str, start: float, end: float) -> Axis:
    about = figure["layout"].get(f"{name}axis") or {}
    is_log = about.get("type") == "log"
    low, high = about.get("range") or (None, None)
    if low is None or high is None:
        found = list(_extent(figure["data"], name))
        found = [math.log10(value) for value in found if value > 0] if is_log else found
        low, high = (min(found), max(found)) if found else (0.0, 1.0)
        if name == "y" and about.get("autorange") == "reversed":
            low, high = high, low
    return Axis(low, high, start, end, is_log)


def _extent(traces: Iterable[Mapping[str, Any]], name: str) -> Iterator[float]:
    for trace in traces:
        values = numbers(trace.get(name))
        if name == "x" and trace.get("type") == "bar":
            bases = numbers(trace.get("base")) or [0.0] * len(values)
            yield from (base for base in bases if base == base)
            values = [base + value for base, value in zip(bases, values, strict=False)]
        yield from (value for value in values if value == value)


def _decades(axis: Axis) -> Iterator[float]:
    for power in range(math.ceil(axis.low - 1e-9), math.floor(axis.high + 1e-9) + 1):
        yield 10.0**power


def _round_numbers(axis: Axis) -> Iterator[float]:
    low, high = sorted((axis.low, axis.high))
    rough = (high - low) / _TICKS
    if not rough > 0:
        return
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    number = math.ceil(low / step - 1e-9)
    while number * step <= high + step * 1e-9:
        yield number * step
        number += 1
