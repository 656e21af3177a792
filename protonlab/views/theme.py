"""How figures look: fonts, sizes, and palettes that read in a light and a dark notebook.

Each colour has a dark twin; figures are built in light colours and the ES module swaps them where
they are drawn. Fills of one palette differ for each common colour blindness. Text on a fill, its
hatching included, and text on the page keep a contrast of 4.5 or more (WCAG AA) in both themes;
lines and points without text keep 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
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
NOTE_HEIGHT = 17  # a line below the picture
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
# Without text on them: reference lines and roofs, whiskers, and the outline of points, whose fills
# alone would be pale on the page.
REFERENCE = Colour("#b3402e", "#f08a78")
WHISKER = Colour("#3d454d", "#cfd5db")
OUTLINE = Colour("#5a636d", "#a4acb6")


@dataclass(frozen=True)
class Role:
    """What a box stands for: its words in the legend, its fill, and the hatching on it.

    Parameters
    ----------
    name
        In the legend; a view may say more (`box_traces`).
    fill
        Colour of the box.
    pattern
        Plotly's name of a hatching, or empty.
    hatch
        Colour of the hatching; text on it can be read, too.
    """

    name: str
    fill: Colour
    pattern: str = ""
    hatch: Colour | None = None


KINDS = {
    "scope": Role("scope", Colour("#dce1e8", "#39424d")),
    "python": Role("Python line", Colour("#e9e4d8", "#47433a")),
    "kernel": Role("kernel", Colour("#8db8e2", "#24609c")),
    "filtered": Role("kernel, filtered out", Colour("#f0b09a", "#7d3324")),
    "unseen": Role("kernel not launched by Triton", Colour("#e6d88f", "#77691c")),
    "overhead": Role("profiling and tuning", Colour("#cfc0e0", "#5d4a75")),
    "other": Role(
        "folded together", Colour("#c3c9cf", "#565e67"), "/", Colour("#a4adb6", "#67717b")
    ),
}

LIBRARIES = {
    "triton": Role("Triton", KINDS["kernel"].fill),
    "cublas": Role("cuBLAS", Colour("#d0e59a", "#41480a")),
    "cudnn": Role("cuDNN", Colour("#ef9150", "#5f3325")),
    "aten": Role("ATen", Colour("#f7de58", "#7d6d0c")),
    "nccl": Role("NCCL", Colour("#3fae7c", "#177a50")),
    "user": Role("user", Colour("#eca2b4", "#70215a")),
    "foreign": Role("other library", Colour("#dbe3ea", "#636669")),
}

# The bar of a comparison that others are measured by.
BEFORE = {"before": Role("before", Colour("#d3d9e0", "#434c56"))}

# Of a comparison, by after to before (`role_of_difference`). Red costs more, blue less.
DIFFERENCES = {
    "slower_most": Role("slower, over 1.5 ×", Colour("#ef7f6d", "#a8322a")),
    "slower_more": Role("slower, 1.1 to 1.5 ×", Colour("#f7ab99", "#7d3229")),
    "slower": Role("slower, up to 1.1 ×", Colour("#fcd7cc", "#54302b")),
    "unchanged": Role("unchanged", Colour("#f0eee9", "#33373d")),
    "cannot tell": Role(
        "cannot tell", Colour("#f0eee9", "#33373d"), "/", Colour("#d3cfc4", "#4d545d")
    ),
    "faster": Role("faster, up to 1.1 ×", Colour("#d3e4f6", "#2b425c")),
    "faster_more": Role("faster, 1.1 to 1.5 ×", Colour("#a3c8ee", "#265588")),
    "faster_most": Role("faster, over 1.5 ×", Colour("#6fa8dc", "#2767ac")),
    "removed": Role("gone", Colour("#b3b9c0", "#5d646c")),
    "added": Role("new", Colour("#f9c4b8", "#6b322b"), "/", Colour("#ea8f7e", "#8f3c33")),
}
_SLIGHT, _STRONG = 1.1, 1.5

# Values of a metric from low to high; the view names the bounds of each step.
SCALE = {
    f"step_{number}": Role(f"step {number}", fill)
    for number, fill in enumerate(
        (
            Colour("#f6f3cf", "#2b2d4a"),
            Colour("#d9e6ae", "#2f3d66"),
            Colour("#aed7a5", "#2a5078"),
            Colour("#84c3ac", "#22647d"),
            Colour("#66adb8", "#237273"),
            Colour("#5a96bd", "#367a58"),
        )
    )
}

# Parts of a stack, most first; the view names them.
PARTS = {f"part_{number}": role for number, role in enumerate(LIBRARIES.values())}

# What a timeline adds: what is no launch, and boxes that stand for many events.
TIMELINE = {
    "copy": Role("memory copy", Colour("#9fd8cb", "#1f5f55")),
    "event": Role("other event", Colour("#e9e4d8", "#47433a")),
    "many_low": Role("many, busy under 1/3", Colour("#e1ebf6", "#1c2732")),
    "many_half": Role("many, busy 1/3 to 2/3", Colour("#bcd3ec", "#22405e")),
    "many_high": Role("many, busy over 2/3", Colour("#6698cc", "#2f70ae")),
}

# Kernels under a roofline, by what bounds them.
BOUNDS = {
    "memory": Role("memory-bound", KINDS["kernel"].fill),
    "compute": Role("compute-bound", LIBRARIES["cudnn"].fill),
    "impossible": Role("above the roof: impossible", DIFFERENCES["slower_most"].fill),
    "unknown": Role("no roof known", KINDS["other"].fill),
}

# Two series of points: a line for each, and the band round it.
FIRST, SECOND = Colour("#1f6fb2", "#63b0f5"), Colour("#b4530f", "#f2a15c")
FIRST_BAND, SECOND_BAND = Colour("#d5e5f4", "#1a3147"), Colour("#f7e0cd", "#43290f")

# Every key that a box may have.
ROLES = KINDS | LIBRARIES | BEFORE | DIFFERENCES | SCALE | PARTS | TIMELINE

# What a launch hook's record means for a kernel.
HOOK_WORDS = {
    "kept": "launched by Triton",
    "filtered": "filtered out",
    "unseen": "not launched by Triton",
}

_COLOURS = (
    *(TEXT, MUTED, GRID, EDGE, HOVER, INK, REFERENCE, WHISKER, OUTLINE),
    *(FIRST, SECOND, FIRST_BAND, SECOND_BAND),
    *(role.fill for role in (ROLES | BOUNDS).values()),
    *(role.hatch for role in ROLES.values() if role.hatch is not None),
)
# Light -> dark, as the ES module needs it.
DARK_TWINS = {colour.light: colour.dark for colour in _COLOURS}


def role_of_kernel(hook: Any) -> str:
    """Key into `KINDS` for a kernel; kept kernels and those that no hook saw look the same."""
    return hook if hook in ("filtered", "unseen") else "kernel"


def role_of_difference(change: str, ratio: float) -> str:
    """Key into `DIFFERENCES`.

    Parameters
    ----------
    change
        ``"added"``, ``"removed"``, ``"changed"``, ``"unchanged"`` or ``"cannot tell"``, as a
        comparison says it.
    ratio
        After by before; of no account unless it changed.

    Examples
    --------
    >>> role_of_difference("changed", 1.2)
    'slower_more'
    """
    if change != "changed":
        return change
    factor, which = (ratio, "slower") if ratio > 1 else (1 / ratio if ratio > 0 else inf, "faster")
    if factor > _STRONG:
        return f"{which}_most"
    return f"{which}_more" if factor > _SLIGHT else which


def role_of_step(part: float) -> str:
    """Key into `SCALE` for a value that lies `part` of the way from the lowest to the highest."""
    return f"step_{min(len(SCALE) - 1, int(part * len(SCALE)))}"
