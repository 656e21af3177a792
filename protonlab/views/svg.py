"""The static picture of a figure: SVG drawn by us from the same boxes, without script or browser.

It is made from plotly's JSON, so a title that a person changed is changed here too. The picture
has its own white ground, because nobody swaps its colours on a dark page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from protonlab.views import theme
from protonlab.views.names import escaped, fitted, text_width, unmarked

_WIDTH = theme.NOMINAL_WIDTH
_THINNEST = 0.3  # pixels; a narrower box cannot be seen


def picture(figure: dict[str, Any]) -> str:
    """Draw a figure's bars as inline SVG in HTML.

    Parameters
    ----------
    figure
        Plotly's JSON of a figure made by this package.
    """
    layout = figure["layout"]
    boxes = [trace for trace in figure["data"] if trace.get("meta") == "boxes"]
    view = layout.get("meta", {}).get("protonlab", {}).get("view")
    draw = _bars if view == "bars" else _flame
    body = [_text(8, 26, unmarked(layout.get("title", {}).get("text", "")), theme.TITLE_SIZE)]
    body += [part for trace in boxes for part in draw(trace, boxes)]
    body += [line for note in layout.get("annotations", []) for line in _note(note, layout)]
    if layout.get("showlegend"):
        body += _legend(boxes, layout["height"])
    return (
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{_WIDTH}" height="{layout["height"]}" viewBox="0 0 {_WIDTH} {layout["height"]}" '
        f'font-family={quoteattr(theme.FONT)} font-size="{theme.FONT_SIZE}">'
        f'<rect width="100%" height="100%" fill="{theme.PAGE[0]}"/>{"".join(body)}</svg></div>'
    )


def _flame(trace: dict[str, Any], boxes: list[dict[str, Any]]) -> list[str]:
    total = max(wide for box in boxes for wide in box["x"])  # the root's
    left = theme.MARGIN["l"]
    scale = (_WIDTH - left - theme.MARGIN["r"]) / total
    parts = []
    for base, wide, depth, names in zip(
        trace["base"], trace["x"], trace["y"], trace["customdata"], strict=True
    ):
        if wide * scale < _THINNEST:
            continue
        x, y = left + base * scale, theme.MARGIN["t"] + depth * theme.ROW_HEIGHT
        parts.append(_box(x, y, wide * scale, trace["marker"]["color"], " ".join(names)))
        text = fitted(names[0], names[1], wide * scale - theme.TEXT_PADDING)
        if text:
            parts.append(_text(x + 5, y + 15, text))
    return parts


def _bars(trace: dict[str, Any], boxes: list[dict[str, Any]]) -> list[str]:
    longest = max(text_width(row[0]) for box in boxes for row in box["customdata"])
    left = longest + 20
    top = max(max(box["x"]) for box in boxes)
    scale = (_WIDTH - left - 100) / top if top > 0 else 0.0
    parts = []
    for wide, row, names in zip(trace["x"], trace["y"], trace["customdata"], strict=True):
        y = theme.MARGIN["t"] + row * theme.ROW_HEIGHT
        parts.append(_text(left - 8, y + 15, names[0], anchor="end"))
        length = max(wide * scale, 0.0)
        parts.append(_box(left, y, length, trace["marker"]["color"], " ".join(names)))
        parts.append(_text(left + length + 6, y + 15, names[1]))
    return parts


def _note(note: dict[str, Any], layout: dict[str, Any]) -> Iterator[str]:
    """Draw footnotes, or the sentence in place of a picture: the layout has no other notes."""
    lines = [unmarked(line) for line in note["text"].split("<br>")]
    if note["y"] > 0:
        yield _text(_WIDTH / 2, layout["height"] / 2, lines[0], theme.TITLE_SIZE, "middle")
        return
    top = layout["height"] - layout["margin"]["b"] + 16
    for row, line in enumerate(lines):
        yield _text(8, top + row * theme.ROW_HEIGHT, line)


def _legend(boxes: list[dict[str, Any]], height: float) -> list[str]:
    parts, x = [], 8.0
    for trace in (trace for trace in boxes if trace["showlegend"]):
        parts.append(_box(x, height - 24, 12, trace["marker"]["color"], "", 12))
        parts.append(_text(x + 18, height - 14, trace["name"]))
        x += 38 + text_width(trace["name"])
    return parts


def _box(x: float, y: float, wide: float, fill: str, title: str, high: float = 20) -> str:
    tip = f"<title>{escaped(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide - 0.6, 0.3):.1f}" height="{high}" '
        f"fill={quoteattr(fill)}>{tip}</rect>"
    )


def _text(x: float, y: float, text: str, size: float = 0, anchor: str = "") -> str:
    look = f' font-size="{size}" font-weight="600"' if size else ""
    look += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{theme.TEXT.light}"{look}>{escaped(text)}</text>'
