"""How figures look: fonts, sizes, and a palette that reads in a light and a dark notebook.

Fills follow Paul Tol's light scheme, distinct with each common colour blindness. Each colour has a
dark twin; figures are built in light colours and the ES module swaps them where they are drawn.
Text on a fill, and text on the page, keep a contrast of 4.5 or more (WCAG AA) in both themes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FONT_SIZE = 12
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
TITLE_SIZE = 14
ROW_HEIGHT = 22
TEXT_PADDING = 10  # pixels of a box that its text cannot use; the ES module has its own copy
NARROW = 3  # pixels; a narrower box has no edge, it would be nothing but edge
LOWEST = 3  # rows; a lower picture looks broken
MARGIN = {"l": 8, "r": 8, "t": 44, "b": 8}
LEGEND_HEIGHT = 26
# Width that a front end without our ES module is assumed to have, and of the static picture.
NOMINAL_WIDTH = 900
# Pages behind a figure: JupyterLab's two, which stand for others close to white and black.
PAGE = ("#ffffff", "#111111")


@dataclass(frozen=True)
class Colour:
    """A colour for light pages and its twin for dark ones."""

    light: str
    dark: str


TEXT = Colour("#1f2328", "#e8eaed")
MUTED = Colour("#59626c", "#a3abb5")
GRID = Colour("#d9dee4", "#343a41")
EDGE = Colour("#fffffe", "#111112")  # between boxes: the page's colour, one step aside
HOVER = Colour("#fbfcfd", "#1e2226")
# On a box; a name apart from TEXT because fills differ from the page.
INK = Colour("#1f2329", "#f2f4f6")


@dataclass(frozen=True)
class Role:
    """What a box stands for: its words in the legend and its fill."""

    name: str
    fill: Colour
    pattern: str = ""


ROLES = {
    "scope": Role("scope", Colour("#dce1e8", "#39424d")),
    "python": Role("Python line", Colour("#e9e4d8", "#47433a")),
    "kernel": Role("kernel", Colour("#8db8e2", "#24609c")),
    "filtered": Role("kernel, filtered out", Colour("#f0b09a", "#7d3324")),
    "unseen": Role("kernel not launched by Triton", Colour("#e6d88f", "#77691c")),
    "overhead": Role("profiling and tuning", Colour("#cfc0e0", "#5d4a75")),
    "other": Role("folded together", Colour("#c3c9cf", "#565e67"), pattern="/"),
}

# What a launch hook's record means for a kernel.
HOOK_WORDS = {
    "kept": "launched by Triton",
    "filtered": "filtered out",
    "unseen": "not launched by Triton",
}

_COLOURS = (TEXT, MUTED, GRID, EDGE, HOVER, INK, *(role.fill for role in ROLES.values()))
# Light -> dark, as the ES module needs it.
DARK_TWINS = {colour.light: colour.dark for colour in _COLOURS}


def role_of_kernel(hook: Any) -> str:
    """Key into `ROLES` for a kernel; kept kernels and those that no hook saw look the same."""
    return hook if hook in ("filtered", "unseen") else "kernel"
