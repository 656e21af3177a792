"""Figures in an exported page: plotly.js and our ES module once, then plain JSON a figure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from plotly.offline import get_plotlyjs

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_FIGURE = re.compile(
    '<div class="protonlab-figure"><script type="application/json">(.*?)</script>', re.DOTALL
)
# Parts of one module, in this order.
_DRAWING = ("theme.js", "texts.js", "tools.js", "figure.js", "timeline.js")


def drawing_source() -> str:
    """Source of the ES module that draws figures, zooms, searches and follows the theme."""
    return "\n".join(map(_source, _DRAWING))


def kernel_source() -> str:
    """Source of the same module for pages with a living kernel."""
    return "\n".join((drawing_source(), _source("plotly.js"), _source("kernel.js")))


def panel_source(panel: str) -> str:
    """Source of a module for a widget of its own that draws figures.

    Parameters
    ----------
    panel
        Code that may call ``plotlyFrom(model)``, ``recolour``, ``isDark`` and ``followTheme``.
    """
    return "\n".join((_source("theme.js"), _source("plotly.js"), panel))


def _source(name: str) -> str:
    return (resources.files("protonlab.views") / "static" / name).read_text("utf-8")


def page_script() -> str:
    """HTML that draws every figure of a page; it belongs at the end of the body, once."""
    return (
        f"<script>{get_plotlyjs()}</script>\n"
        f'<script type="module">\n{drawing_source()}\nwatch(async () => Plotly);\n</script>\n'
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
