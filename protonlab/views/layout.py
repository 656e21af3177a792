"""Layout that all figures share: title, margins, legend below, and a sentence when empty."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from protonlab.views import theme
from protonlab.views.names import escaped, shortened, text_width, unmarked

View = Literal["flame", "bars", "timeline", "roofline", "pairs", "sweep", "heatmap"]
_NOTE_WIDTH = 660  # pixels, which a notebook beside a file browser has room for
AXIS_ROOM, _TICK_ROOM = 44, 64  # pixels: below and beside a plot, for ticks and title
STANDOFF = 6  # pixels between a name and its row
_FOOTNOTE = "notes"  # plotly's name of the annotation that holds them
_SURE = 0.9  # of an estimated width: what is shifted by it stays on the page
_SWATCH, _GAP = 18, 20  # pixels of a legend: before a text, and behind it


def title_of(name: str, *parts: str) -> str:
    """Title of a figure: the profile's name in bold, then what is shown; escapes its arguments."""
    head = [f"<b>{escaped(shortened(name, 60))}</b>"] if name else []
    return " · ".join([*head, *(escaped(part) for part in parts if part)])


def layout_of(
    view: View,
    title: str,
    rows: int,
    *,
    legend: int = 0,
    notes: Sequence[str] = (),
    names: Sequence[str] = (),
    ticks: int = 0,
    above: int = 0,
    under: int = 0,
) -> dict[str, Any]:
    """Layout of a figure; its axes are the view's.

    Parameters
    ----------
    view
        Name of the view, for the ES module.
    title
        Result of `title_of`.
    rows
        Rows of boxes; the figure is as high as they need.
    legend
        Rows that the explanation of the colours takes: 0 when they need none, True for one.
    notes
        Sentences under the boxes, not escaped; each begins a line, at the left of the page.
    names
        Escaped names at the left of the boxes, for which plotly makes room (`names_axis`).
    ticks
        Pixels at the left for an axis of numbers.
    above
        Pixels between the title and the boxes.
    under
        Pixels that an axis takes between the boxes and the sentences.
    """
    lines = [line for note in notes for line in _wrapped(note)]
    below = theme.LEGEND_HEIGHT * legend
    if lines:
        below += theme.NOTE_HEIGHT * len(lines) + _GAP // 2
    left, top = theme.MARGIN["l"], theme.MARGIN["t"]
    margin = {
        **theme.MARGIN,
        "l": ticks or left,
        "t": top + above,
        "b": theme.MARGIN["b"] + below + under,
    }
    beside = _SURE * max(map(text_width, map(unmarked, names)), default=0.0)
    beside += margin["l"] - left
    height = rows * theme.ROW_HEIGHT + margin["t"] + margin["b"]
    legend_place = {"y": 0, "yanchor": "bottom"}
    if legend > 1:  # a wide page needs fewer rows than these; what is left over goes to the bottom
        legend_place = {
            "y": (theme.LEGEND_HEIGHT * legend + theme.MARGIN["b"]) / height,
            "yanchor": "top",
        }
    return {
        "template": "none",
        "meta": {"protonlab": {"view": view, "dark": theme.DARK_TWINS}},
        "height": height,
        "margin": margin,
        "barmode": "overlay",
        "font": {"family": theme.FONT, "size": theme.FONT_SIZE, "color": theme.TEXT.light},
        "title": {
            "text": title,
            "font": {"size": theme.TITLE_SIZE, "color": theme.TEXT.light},
            **{"x": 0, "xanchor": "left", "xref": "container"},
            **{"y": 1, "yanchor": "top", "yref": "container"},
            "pad": {"t": 14, "l": left},
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": theme.MUTED.light,
            "activecolor": theme.TEXT.light,
        },
        "hovermode": "closest",
        "hoverlabel": {
            "align": "left",
            "bgcolor": theme.HOVER.light,
            "bordercolor": theme.GRID.light,
            "font": {"family": theme.FONT, "size": theme.FONT_SIZE, "color": theme.TEXT.light},
        },
        "showlegend": bool(legend),
        "legend": {
            "orientation": "h",
            **{"x": 0, "xanchor": "left", "xref": "container"},
            **{**legend_place, "yref": "container"},
            "itemclick": False,
            "itemdoubleclick": False,
            "font": {"size": theme.FONT_SIZE, "color": theme.MUTED.light},
        },
        "annotations": [_footnote(lines, beside, under)] if lines else [],
    }


def legend_places(names: Sequence[str]) -> tuple[list[tuple[float, int]], int]:
    """Place legend entries in rows as wide as a static picture.

    Parameters
    ----------
    names
        Texts without tags.

    Returns
    -------
    tuple
        Left edge in pixels and row of each entry, and the number of rows.
    """
    places: list[tuple[float, int]] = []
    x, row = float(theme.MARGIN["l"]), 0
    for name in names:
        width = _SWATCH + text_width(name)
        if places and x + width > theme.NOMINAL_WIDTH:
            x, row = float(theme.MARGIN["l"]), row + 1
        places.append((x, row))
        x += width + _GAP
    return places, row + 1


def empty_layout(view: View, title: str, why: str) -> dict[str, Any]:
    """Layout with one sentence, not escaped, where the picture would be empty."""
    sentence = {
        "text": escaped(why),
        **{"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False},
        "font": {"size": theme.TITLE_SIZE, "color": theme.MUTED.light},
    }
    hidden = {"visible": False, "fixedrange": True}
    return layout_of(view, title, theme.LOWEST) | {
        "annotations": [sentence],
        "xaxis": hidden,
        "yaxis": hidden,
    }


def _wrapped(note: str) -> Iterator[str]:
    line = ""
    for word in note.split():
        longer = f"{line} {word}".lstrip()
        if line and text_width(longer) > _NOTE_WIDTH:
            yield line
            longer = word
        line = longer
    yield line


def _footnote(notes: Sequence[str], beside: float, under: int) -> dict[str, Any]:
    return {
        "name": _FOOTNOTE,
        "text": "<br>".join(map(escaped, notes)),
        **{"x": 0, "xanchor": "left", "xref": "paper"},
        **{"y": 0, "yanchor": "top", "yref": "paper"},
        **{"xshift": -beside, "yshift": -under if under else -_GAP // 4},
        "showarrow": False,
        "align": "left",
        "font": {"size": theme.FONT_SIZE, "color": theme.MUTED.light},
    }


def untold(notes: Sequence[str], told: Collection[str]) -> tuple[str, ...]:
    """Take the sentences that were not told; a full stop makes no difference."""
    known = {sentence.rstrip(".") for sentence in told}
    return tuple(note for note in notes if note.rstrip(".") not in known)


def leave_out(layout: Any, told: Collection[str]) -> None:
    """Take sentences out of the layout of a figure, which becomes less high.

    Parameters
    ----------
    layout
        Plotly's, as `layout_of` made it.
    told
        Sentences, not escaped.
    """
    footnotes = [note for note in layout.annotations if note.name == _FOOTNOTE]
    if not footnotes:
        return
    lines = footnotes[0].text.split("<br>")
    kept = list(lines)
    for sentence in [each.rstrip(".") + stop for each in told for stop in ("", ".")]:
        block = [escaped(line) for line in _wrapped(sentence)]
        for at in range(len(kept) - len(block) + 1):
            if kept[at : at + len(block)] == block:
                del kept[at : at + len(block)]
                break
    less = theme.NOTE_HEIGHT * (len(lines) - len(kept)) + (0 if kept else _GAP // 2)
    if kept:
        footnotes[0].text = "<br>".join(kept)
    else:
        layout.annotations = [note for note in layout.annotations if note.name != _FOOTNOTE]
    if layout.legend.yanchor == "top":
        layout.legend.y *= layout.height / (layout.height - less)
    layout.height -= less
    layout.margin.b -= less


def names_axis(
    names: Sequence[str], rows: float, places: Sequence[float] | None = None
) -> dict[str, Any]:
    """Give an axis of names from top to bottom.

    Parameters
    ----------
    names
        Escaped.
    rows
        Rows of the whole axis.
    places
        Row of each name; by default the rows from 0.
    """
    return {
        "range": [rows - 0.5, -0.5],
        "tickvals": list(range(len(names)) if places is None else places),
        "ticktext": list(names),
        "ticks": "",
        "ticklabelstandoff": STANDOFF,
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def chart_layout(view: View, title: str, rows: int, notes: Sequence[str]) -> dict[str, Any]:
    """Layout of lines over two axes of numbers, with a row for labels above and a legend."""
    layout = layout_of(
        view, title, rows, legend=1, notes=notes, ticks=_TICK_ROOM, above=12, under=AXIS_ROOM
    )
    layout["margin"]["r"] *= 2
    return layout


def fixed_axis(title: str, reach: Sequence[float]) -> dict[str, Any]:
    """Give an axis of numbers that keeps its range: title, ticks and grid in the theme's look."""
    return {
        "range": list(reach),
        "title": {
            "text": title,
            "font": {"size": theme.FONT_SIZE, "color": theme.MUTED.light},
            "standoff": 6,
        },
        "tickfont": {"size": theme.FONT_SIZE, "color": theme.TEXT.light},
        "showgrid": True,
        "gridcolor": theme.GRID.light,
        "zeroline": False,
        "fixedrange": True,
    }
