"""Outputs of a cell as harmless HTML.

They come from wherever the notebook came from. Figures are taken as plotly's JSON and drawn by our
own script; every other HTML is reduced to text, links, images and tables.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape
from nbformat import NotebookNode

from protonlab import views
from protonlab.page._prose import clean, prose
from protonlab.views import PLOTLY_MIME

# Shown as pictures; a browser runs no script inside an <img>, so SVG is safe there too.
_PICTURES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp")
# Colours and the like, and what a terminal shows nowhere: titles, targets of links.
_TERMINAL_CODES = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-B])"
)
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)
_OWN_PICTURE = r'<div style="overflow-x:auto">(?P<picture><svg\b.*?</svg>)</div>'
_STATIC = re.compile(_OWN_PICTURE, re.DOTALL)
# What a living notebook stores of a figure, its JSON and its picture; or the picture alone.
_FIGURE = re.compile(
    r'<div class="protonlab-figure"><script type="application/json">(?P<json>.*?)</script>'
    rf"(?:{_OWN_PICTURE})?(?:</div>)?|{_OWN_PICTURE.replace('picture', 'still')}",
    re.DOTALL,
)
_OUTPUT = Markup('<div class="output">{}</div>')


def without_terminal_codes(text: str) -> str:
    """Take out what a terminal reads as colours, titles and links."""
    return _TERMINAL_CODES.sub("", text)


def outputs_of(cell: NotebookNode) -> Iterator[Markup]:
    """Render each output; what a stream wrote in pieces becomes one."""
    streams: list[str] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            streams.append(output.text)
            continue
        if streams:
            yield _text("".join(streams))
            streams = []
        if output.output_type == "error":
            lines = output.traceback or [f"{output.ename}: {output.evalue}"]
            yield _text("\n".join(lines), "output error")
        else:
            yield _display(output.data)
    if streams:
        yield _text("".join(streams))


def _display(data: NotebookNode) -> Markup:
    """Show the richest form that is safe; the text twin is the last."""
    html = data.get("text/html", "")
    if figure := _figure(data.get(PLOTLY_MIME)):
        static = _STATIC.fullmatch(html)
        picture = static["picture"] if static else data.get("image/svg+xml", "")
        return _OUTPUT.format(_drawing(figure, picture))
    if _FIGURE.search(html):
        return _OUTPUT.format(_with_figures(html))
    for kind in _PICTURES:
        if kind in data:
            return _OUTPUT.format(_picture(kind, data[kind]))
    if (cleaned := clean(html)).striptags() or "<img" in cleaned:
        return _OUTPUT.format(cleaned)
    if "text/markdown" in data:
        return _OUTPUT.format(prose(data["text/markdown"]))
    return _text(data.get("text/plain", ""))


def _figure(value: Any) -> dict[str, Any] | None:
    """Take plotly's JSON; what only looks like a figure is shown as what else it is."""
    return value if isinstance(value, dict) and isinstance(value.get("data"), list) else None


def _with_figures(html: str) -> Markup:
    """Take figures out of HTML, clean what is around them, and put them back."""
    parts, end = [], 0
    for found in _FIGURE.finditer(html):
        parts.append(clean(html[end : found.start()]))
        end = found.end()
        try:
            figure = _figure(json.loads(found["json"] or "null"))
        except (ValueError, RecursionError):
            figure = None
        picture = found["picture"] or found["still"] or ""
        if figure is not None:
            parts.append(_drawing(figure, picture))
        elif picture:
            parts.append(_picture("image/svg+xml", picture))
    return Markup("").join([*parts, clean(html[end:])])


def _drawing(figure: dict[str, Any], picture: str) -> Markup:
    """Let the page draw a figure; on paper, and where scripts are off, its picture stands."""
    still = _picture("image/svg+xml", picture) if picture else Markup("")
    drawn = Markup(views.figure_html(figure))
    return drawn + (Markup('<div class="still">{}</div>').format(still) if still else "")


def _picture(kind: str, content: str) -> Markup:
    if kind == "image/svg+xml":
        content = base64.b64encode(content.encode()).decode()
    return Markup('<img alt="" src="data:{};base64,{}">').format(kind, content.replace("\n", ""))


def _text(text: str, css: str = "output") -> Markup:
    plain = _OVERWRITTEN.sub("", without_terminal_codes(text)).rstrip()
    return Markup('<pre class="{}">{}</pre>').format(css, escape(plain)) if plain else Markup("")
