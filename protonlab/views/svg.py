"""The static picture of a figure: SVG drawn by us from the same marks, without script or browser.

It is made from plotly's JSON, so a title that a person changed is changed here too. Bars, points,
lines, texts, whiskers, hatching, reference lines and notes are drawn; what else a person adds is
left to plotly. The picture has its own white ground, because nobody swaps its colours on a dark
page, but for what a notebook shows only while it runs (`themed_picture_of`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import plotly.graph_objects as go

from protonlab.views import theme
from protonlab.views.layout import legend_places
from protonlab.views.names import unmarked
from protonlab.views.plane import Plane, numbers, ticks
from protonlab.views.svg_elements import (
    GAP,
    THINNEST,
    box,
    fading,
    hatches_of,
    of_point,
    stroke,
    words,
)

_LINE = 16  # pixels from one line of a note to the next
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
# Where a notebook says that it is dark: JupyterLab and Notebook 7, VS Code.
_IN_THE_DARK = ':is([data-jp-theme-light="false"], .vscode-dark) .protonlab-picture'


def picture_of(figure: go.Figure) -> str:
    """Draw a figure of this package as HTML that needs neither script nor browser."""
    return in_html(drawing(json.loads(figure.to_json())))


def themed_picture_of(figure: go.Figure) -> str:
    """Draw a figure as `picture_of` does, in dark colours where the notebook around it is dark."""
    drawn = drawing(json.loads(figure.to_json()))
    twins = theme.DARK_TWINS | {theme.PAGE[0]: "transparent"}
    rules = [
        f'{_IN_THE_DARK} [{part}="{light}"] {{{part}: {dark}}}'
        for light, dark in twins.items()
        for part in ("fill", "stroke")
        if f'{part}="{light}"' in drawn
    ]
    return f'<style>{"".join(rules)}</style><div class="protonlab-picture">{in_html(drawn)}</div>'


def in_html(drawn: str) -> str:
    """Put an SVG document into a page, where it scrolls if it is too wide."""
    return f'<div style="overflow-x:auto">{drawn}</div>'


def drawing(figure: Mapping[str, Any]) -> str:
    """Draw a figure as an SVG document.

    Parameters
    ----------
    figure
        Plotly's JSON of a figure made by this package.
    """
    layout = figure["layout"]
    traces = [trace for trace in figure["data"] if trace.get("visible", True) is True]
    plane = Plane.of(figure)
    title = unmarked((layout.get("title") or {}).get("text") or "")
    body = [words(8, 26, title, theme.TEXT.light, theme.TITLE_SIZE, heavy=True)]
    body += _ticks(plane, layout)
    for trace in traces:
        body += _bar(trace, plane, layout) if trace.get("type") == "bar" else _points(trace, plane)
    for shape in layout.get("shapes") or ():
        body.append(_shape(shape, plane))
    for note in layout.get("annotations") or ():
        body += _note(note, plane)
    if layout.get("showlegend"):
        shown = [trace for trace in traces if trace.get("showlegend")]
        body += _legend(shown, layout.get("legend") or {}, plane)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(title)} '
        f'width="{plane.width}" height="{plane.height}" '
        f'viewBox="0 0 {plane.width} {plane.height}" '
        f'font-family={quoteattr(theme.FONT)} font-size="{theme.FONT_SIZE}">{hatches_of(traces)}'
        f'<rect width="100%" height="100%" fill="{theme.PAGE[0]}"/>{"".join(body)}</svg>'
    )


def _bar(trace: Mapping[str, Any], plane: Plane, layout: Mapping[str, Any]) -> Iterator[str]:
    """Draw horizontal bars, and the texts inside of them as they are for this width."""
    widths, rows = numbers(trace.get("x")), numbers(trace.get("y"))
    bases = numbers(trace.get("base")) or [0.0] * len(widths)
    names = trace.get("customdata") or [()] * len(widths)
    texts = trace.get("text") or [""] * len(widths)
    high = plane.y.unit * (trace.get("width") or 1 - (layout.get("bargap") or 0))
    marker = trace.get("marker") or {}
    for point, (base, wide, row, name, text) in enumerate(
        zip(bases, widths, rows, names, texts, strict=True)
    ):
        if not math.isfinite(base + wide + row):
            continue
        left, right = sorted((plane.x.within(base), plane.x.within(base + wide)))
        if right - left < THINNEST and wide:
            continue
        middle = plane.y.pixel(row)
        tip = " ".join(str(part) for part in name[:2])
        yield box(left, middle - high / 2, right - left, high, marker, point, tip)
        if text and trace.get("textposition") == "outside":
            yield words(right + 5, middle + 4, unmarked(text), theme.TEXT.light)
        elif text and trace.get("textposition") != "none":
            yield words(left + 5, middle + 4, unmarked(text), theme.INK.light)


def _points(trace: Mapping[str, Any], plane: Plane) -> Iterator[str]:
    """Draw lines, whiskers, markers and texts of points."""
    mode = trace.get("mode") or "markers"
    xs = [plane.x.pixel(value) for value in numbers(trace.get("x"))]
    ys = [plane.y.pixel(value) for value in numbers(trace.get("y"))]
    if trace.get("fill") == "toself":
        yield _polyline(xs, ys, {"width": 0}, trace.get("fillcolor"))
    elif "lines" in mode:
        yield _polyline(xs, ys, trace.get("line") or {})
    yield from _whiskers(trace, plane)
    marker = trace.get("marker") or {}
    outline = marker.get("line") or {}
    look = stroke(outline.get("color"), outline.get("width") or 0)
    texts = trace.get("text") or [""] * len(xs)
    positions = trace.get("textposition") or "middle center"
    for point, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if not math.isfinite(x + y):
            continue
        size = float(of_point(marker.get("size") or 6, point)) if "markers" in mode else 0.0
        if "markers" in mode:
            fill = of_point(marker.get("color") or theme.OUTLINE.light, point)
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="{size / 2:.1f}"'
            yield f'<circle {place} fill="{fill}"{look}{fading(marker, point)}/>'
        if "text" in mode and of_point(texts, point):
            down, across = str(of_point(positions, point)).split(" ")
            anchor = {"left": "end", "right": "start"}.get(across, "middle")
            radius = size / 2
            shift = {"left": -2 - radius, "right": 2 + radius}.get(across, 0)
            drop = {"top": -7 - radius, "bottom": 15 + radius}.get(down, 4)
            font = trace.get("textfont") or {}
            colour = font.get("color") or theme.TEXT.light
            text = unmarked(of_point(texts, point))
            yield words(x + shift, y + drop, text, colour, anchor=anchor)


def _whiskers(trace: Mapping[str, Any], plane: Plane) -> Iterator[str]:
    error = trace.get("error_x") or {}
    if error.get("visible") is False or not error.get("array"):
        return
    below = error.get("arrayminus") or error["array"]
    look = stroke(error.get("color") or theme.WHISKER.light, error.get("thickness") or 1)
    for x, y, plus, minus in zip(
        *map(numbers, (trace["x"], trace["y"], error["array"], below)), strict=True
    ):
        if not math.isfinite(x + y + plus + minus):
            continue
        low, high, row = plane.x.within(x - minus), plane.x.within(x + plus), plane.y.pixel(y)
        path = f"M{low:.1f} {row:.1f}H{high:.1f}"
        path += "".join(f"M{end:.1f} {row - 4:.1f}v8" for end in (low, high))
        yield f'<path d="{path}" fill="none"{look}/>'


def _polyline(xs: list[float], ys: list[float], line: Mapping[str, Any], fill: Any = "none") -> str:
    points, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if math.isfinite(x + y):
            points.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        else:
            pen = "M"  # a gap
    look = stroke(line.get("color"), line.get("width") or 2, line.get("dash") or "")
    return f'<path d="{"".join(points)}" fill={quoteattr(str(fill))}{look}/>'


def _shape(shape: Mapping[str, Any], plane: Plane) -> str:
    x0, x1 = (plane.place(shape, "x", which) for which in "01")
    y0, y1 = (plane.place(shape, "y", which) for which in "01")
    line = shape.get("line") or {}
    look = stroke(line.get("color"), line.get("width") or 0, line.get("dash") or "")
    if shape.get("type") == "line":
        return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" fill="none"{look}/>'
    size = f'width="{abs(x1 - x0):.1f}" height="{abs(y1 - y0):.1f}"'
    fill = quoteattr(shape.get("fillcolor") or "none")
    return f'<rect x="{min(x0, x1):.1f}" y="{min(y0, y1):.1f}" {size} fill={fill}{look}/>'


def _note(note: Mapping[str, Any], plane: Plane) -> Iterator[str]:
    """Draw an annotation where plotly does: anchors, shifts and lines are its own."""
    lines = [unmarked(line) for line in str(note.get("text") or "").split("<br>")]
    x = plane.place(note, "x") + (note.get("xshift") or 0)
    y = plane.place(note, "y") - (note.get("yshift") or 0)
    above = {"top": 0.0, "bottom": 1.0}.get(note.get("yanchor") or "middle", 0.5)
    first = y + _LINE - 4 - above * _LINE * len(lines)
    font = note.get("font") or {}
    anchor = _ANCHORS[note.get("xanchor") or "center"]
    for row, line in enumerate(lines):
        colour, size = font.get("color") or theme.MUTED.light, font.get("size") or 0
        yield words(x, first + row * _LINE, line, colour, size, anchor=anchor)


def _ticks(plane: Plane, layout: Mapping[str, Any]) -> Iterator[str]:
    for name, axis in (("x", plane.x), ("y", plane.y)):
        about = layout.get(f"{name}axis") or {}
        for place, text in ticks(axis, about):
            if about.get("showgrid"):
                across = (
                    f"M{place:.1f} {plane.y.start:.1f}V{plane.y.end:.1f}"
                    if name == "x"
                    else f"M{plane.x.start:.1f} {place:.1f}H{plane.x.end:.1f}"
                )
                yield f'<path d="{across}" fill="none"{stroke(theme.GRID.light, 1)}/>'
            if name == "x":
                yield words(place, plane.y.start + 16, text, theme.TEXT.light, anchor="middle")
            else:
                yield words(plane.x.start - 8, place + 4, text, theme.TEXT.light, anchor="end")
        title = unmarked((about.get("title") or {}).get("text") or "")
        if title and name == "x" and about.get("visible") is not False:
            middle = (plane.x.start + plane.x.end) / 2
            yield words(middle, plane.y.start + 34, title, theme.MUTED.light, anchor="middle")
        elif title and about.get("visible") is not False:
            yield words(8, plane.y.end - 8, title, theme.MUTED.light)


def _legend(
    traces: list[Mapping[str, Any]], about: Mapping[str, Any], plane: Plane
) -> Iterator[str]:
    names = [unmarked(str(trace.get("name") or "")) for trace in traces]
    places, rows = legend_places(names)
    top = plane.height - theme.LEGEND_HEIGHT * rows
    if about.get("yanchor") == "top":  # right below the notes, also where it takes fewer rows
        top = min(top, plane.height * (1 - float(about["y"])))
    for trace, name, (x, row) in zip(traces, names, places, strict=True):
        y = top + row * theme.LEGEND_HEIGHT
        marker = trace.get("marker") or {}
        line = (trace.get("line") or {}).get("color")
        color = marker.get("color") or line or theme.OUTLINE.light
        yield box(x, y + 2, 12 + GAP, 12, {**marker, "color": color, "opacity": 1})
        yield words(x + 18, y + 12, name, theme.MUTED.light)
