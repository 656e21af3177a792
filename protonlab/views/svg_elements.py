"""The elements that static pictures are made of: boxes, texts, strokes and hatching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from protonlab.views import theme
from protonlab.views.names import escaped

THINNEST = 0.3  # pixels; a narrower box cannot be seen
GAP = 0.6  # pixels between a box and the next
_DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3"}


def hatch_of(marker: Mapping[str, Any]) -> str:
    """Name of the hatching of a trace of bars, made from its colour; empty when it has none."""
    pattern = marker.get("pattern") or {}
    colour = str(pattern.get("fgcolor") or "")
    return f"protonlab-hatch-{colour.lstrip('#')}" if pattern.get("shape") and colour else ""


def hatches_of(traces: list[Mapping[str, Any]]) -> str:
    """Definitions of every hatching that traces of bars have."""
    found = {
        hatch_of(marker): marker["pattern"]["fgcolor"]
        for trace in traces
        if hatch_of(marker := trace.get("marker") or {})
    }
    return "".join(
        f'<pattern id={quoteattr(name)} width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path d="M-2 2L2 -2M0 8L8 0M6 10L10 6"{stroke(colour, 2)}/></pattern>'
        for name, colour in found.items()
    )


def of_point(value: Any, point: int) -> Any:
    """Value for one point of what may be one value for all."""
    return value[point] if isinstance(value, list | tuple) else value


def stroke(colour: Any, width: float, dash: str = "") -> str:
    """Attributes of a line, with a space before them; none where nothing is to be seen."""
    if not width or not colour:
        return ""
    dashes = f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""
    return f' stroke={quoteattr(str(colour))} stroke-width="{width:g}"{dashes}'


def fading(marker: Mapping[str, Any], point: int) -> str:
    """Attribute of a mark that stands back, with a space before it."""
    opacity = of_point(marker.get("opacity", 1), point)
    return f' opacity="{opacity:g}"' if opacity != 1 else ""


def box(
    x: float,
    y: float,
    wide: float,
    high: float,
    marker: Mapping[str, Any],
    point: int = 0,
    title: str = "",
) -> str:
    """Draw a box in the colour, hatching and opacity of one point of a trace's marker."""
    tip = f"<title>{escaped(title)}</title>" if title else ""
    wide = wide - GAP if wide > theme.NARROW else max(wide, THINNEST)
    place = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    place += fading(marker, point)
    fill, hatch = str(of_point(marker.get("color"), point)), hatch_of(marker)
    over = f"<rect {place} fill={quoteattr(f'url(#{hatch})')}/>" if hatch else ""
    return f"<rect {place} fill={quoteattr(fill)}>{tip}</rect>{over}"


def words(
    x: float,
    y: float,
    text: str,
    colour: str,
    size: float = 0,
    *,
    anchor: str = "start",
    heavy: bool = False,
) -> str:
    """Draw one line of text, not escaped."""
    look = f' font-size="{size:g}"' if size not in (0, theme.FONT_SIZE) else ""
    look += ' font-weight="600"' if heavy else ""
    look += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill={quoteattr(colour)}{look}>{escaped(text)}</text>'
