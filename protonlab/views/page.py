"""Figures in an exported page: plotly.js and our ES module once, then plain JSON a figure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from plotly.offline import get_plotlyjs

from protonlab.views.assets import asset

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_FIGURE = re.compile(
    '<div class="protonlab-figure"><script type="application/json">(.*?)</script>', re.DOTALL
)
_DRAWING = ("theme.js", "figure.js")
# What it needs behind that: by view, and where figures have notes, whatever their view.
_VIEWS = {
    "flame": ("texts.js", "flame.js"),
    "timeline": ("fitting.js", "texts.js", "asking.js", "timeline.js"),
    "bars": ("fitting.js", "marking.js"),
    "heatmap": ("fitting.js", "marking.js"),
    "roofline": ("fitting.js", "marking.js"),
}
_NOTES = ("fitting.js",)
_KERNEL = ("asking.js", "refining.js", "plotly.js", "kernel.js")


def drawing_source(views: Iterable[str], more: Iterable[str] = ()) -> str:
    """Source of the ES module that draws figures, zooms, searches and follows the theme.

    Parameters
    ----------
    views
        Views of the page, as ``layout.meta.protonlab`` names them.
    more
        Files that it needs besides.
    """
    parts = [part for view in views for part in _VIEWS.get(view, ())]
    return "".join(map(asset, dict.fromkeys((*_DRAWING, *parts, *more))))


def kernel_source() -> str:
    """Source of the same module for pages with a living kernel."""
    return drawing_source(_VIEWS, _KERNEL)


def panel_source(panel: str) -> str:
    """Source of a module for a widget of its own that draws figures.

    Parameters
    ----------
    panel
        Code that may call ``plotlyFrom(model)``, ``followTheme`` and ``new FittedDrawing(host,
        Plotly, figure)``, whose ``paint()`` draws the figure in the page's colours and width.
    """
    return "\n".join((drawing_source((), (*_NOTES, "plotly.js")), panel))


def page_script(figures: str) -> str:
    """HTML that draws every figure of a page; it belongs at the end of the body, once.

    Parameters
    ----------
    figures
        HTML that holds all of them, each as `figure_html` makes it.
    """
    # In a string of the JSON the quotation marks would be escaped.
    views = [view for view in _VIEWS if f'"view":"{view}"' in figures]
    source = drawing_source(views, _NOTES if '"name":"notes"' in figures else ())
    return (
        f"<script>{get_plotlyjs()}</script>\n"
        f'<script type="module">\n{source}\nwatch(async () => Plotly);\n</script>\n'
    )


def figure_of(bundle: Mapping[str, Any]) -> dict[str, Any] | None:
    """Find plotly's JSON in an output of a stored notebook.

    Parameters
    ----------
    bundle
        Mime type -> content.

    Returns
    -------
    dict or None
        The figure, from ``application/vnd.plotly.v1+json`` or from within `figure_html`.
    """
    if PLOTLY_MIME in bundle:
        return dict(bundle[PLOTLY_MIME])
    found = _FIGURE.search(bundle.get("text/html", ""))
    return dict(json.loads(found[1])) if found else None


def figure_html(figure: dict[str, Any], picture: str = "") -> str:
    """HTML of one figure.

    Parameters
    ----------
    figure
        Plotly's JSON, as a notebook stores it under ``application/vnd.plotly.v1+json``.
    picture
        HTML that stands there until `page_script` draws the figure, and where scripts are off.
    """
    data = json.dumps(figure, ensure_ascii=True, separators=(",", ":"))
    data = data.replace("<", "\\u003c")  # neither </script> nor <!-- can stand in a string then
    return (
        f'<div class="protonlab-figure"><script type="application/json">{data}</script>'
        f"{picture}</div>"
    )
