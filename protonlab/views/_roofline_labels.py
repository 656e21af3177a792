"""Which points of a roofline get their name beside them, and on which side: no two overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from protonlab.views import theme
from protonlab.views.names import text_width, told_apart, unmarked

_LONGEST = 34
_HIGH = 15  # pixels of a line of text
_WIDTH, _HEIGHT = theme.NOMINAL_WIDTH - 90, 390  # of the plot, about
_SIDES = ("top center", "bottom center", "middle right", "middle left")
_Box = tuple[float, float, float, float]


def label_places(
    labels: Sequence[str],
    xs: Sequence[float],
    ys: Sequence[float],
    sizes: Sequence[float],
    lines: Sequence[tuple[Sequence[float], Sequence[float]]],
    notes: Sequence[Mapping[str, Any]],
    x_reach: tuple[float, float],
    y_reach: tuple[float, float],
) -> list[tuple[str, str]]:
    """Choose text and side of each point; the text is empty where there is no room for it.

    Parameters
    ----------
    labels
        Names of the points, the most important first, not escaped.
    xs, ys
        Where they are, on logarithmic axes.
    sizes
        Their diameters in pixels.
    lines
        Ends of lines that no text should cross, as xs and ys.
    notes
        Annotations that no text should cover.
    x_reach, y_reach
        Ends of the axes.
    """

    def place(x: float, y: float) -> tuple[float, float]:
        return _part(x, x_reach) * _WIDTH, (1 - _part(y, y_reach)) * _HEIGHT

    centres = [place(x, y) for x, y in zip(xs, ys, strict=True)]
    marks = [
        (x - size / 2, y - size / 2, x + size / 2, y + size / 2)
        for (x, y), size in zip(centres, sizes, strict=True)
    ]
    taken = [
        dot for ends in lines for dot in _dots(*(place(x, y) for x, y in zip(*ends, strict=True)))
    ]
    taken += [_note(note, *place(10.0 ** note["x"], 10.0 ** note["y"])) for note in notes]
    places = []
    for at, text in enumerate(told_apart(labels, _LONGEST)):
        others = [*taken, *marks[:at], *marks[at + 1 :]]
        for side in _SIDES:
            box = _box(text, side, *centres[at], sizes[at] / 2)
            inside = box[0] >= 0 and box[2] <= _WIDTH and box[1] >= 0 and box[3] <= _HEIGHT
            if inside and not any(_overlap(box, other) for other in others):
                taken.append(box)
                places.append((text, side))
                break
        else:
            places.append(("", _SIDES[0]))
    return places


def _note(note: Mapping[str, Any], x: float, y: float) -> _Box:
    wide = text_width(unmarked(note["text"]))
    left = x - wide if note["xanchor"] == "right" else x + note.get("xshift", 0)
    top = y - _HIGH if note["yanchor"] == "bottom" else y
    return left, top, left + wide, top + _HIGH


def _dots(begin: tuple[float, float], end: tuple[float, float]) -> list[_Box]:
    """Cut a line into dots, dense enough that no text fits between two."""
    count = 1 + int(max(abs(end[0] - begin[0]), abs(end[1] - begin[1])) / 8)
    steps = (step / count for step in range(count + 1))
    dots = [tuple(a + (b - a) * step for a, b in zip(begin, end, strict=True)) for step in steps]
    return [(x - 2, y - 2, x + 2, y + 2) for x, y in dots]


def _part(value: float, reach: tuple[float, float]) -> float:
    low, high = (math.log10(end) for end in reach)
    return (math.log10(value) - low) / (high - low)


def _box(text: str, side: str, x: float, y: float, radius: float) -> _Box:
    wide = text_width(text)
    if side == "middle right":
        return x + radius, y - _HIGH / 2, x + radius + wide, y + _HIGH / 2
    if side == "middle left":
        return x - radius - wide, y - _HIGH / 2, x - radius, y + _HIGH / 2
    if side == "top center":
        return x - wide / 2, y - radius - _HIGH, x + wide / 2, y - radius
    return x - wide / 2, y + radius, x + wide / 2, y + radius + _HIGH


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
