"""What a flame graph shows, read from its figure."""

from __future__ import annotations

from protonlab.views import FlameFigure


def boxes(figure: FlameFigure) -> dict[str, list[tuple[float, float, int]]]:
    """Label -> (start, width, depth) of its boxes, from left to right."""
    found: dict[str, list[tuple[float, float, int]]] = {}
    for trace in figure.data:
        for start, width, row, (label, *_) in zip(
            trace.base, trace.x, trace.y, trace.customdata, strict=True
        ):
            found.setdefault(label, []).append((start, width, row))
    return {label: sorted(places) for label, places in found.items()}


def hovers(figure: FlameFigure) -> list[str]:
    return [text for trace in figure.data for text in trace.hovertext]


def sentence(figure: FlameFigure) -> str:
    """What stands in place of the picture; there must be no boxes then."""
    assert not figure.data
    return str(figure.layout.annotations[0].text)
