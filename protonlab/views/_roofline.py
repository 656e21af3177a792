"""The roofline: kernels by their flops for each byte and each second, under what the GPU can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.model.roofs import Roofs, cached_roofs
from protonlab.model.sentences import cleaned, some
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views._roofline_axes import log_axis, reach_of, roof_labels, roof_lines
from protonlab.views._roofline_labels import label_places
from protonlab.views._roofline_points import Points, points_of, roofs_of
from protonlab.views.figure import ProfileFigure
from protonlab.views.hover import hover_text, metric_lines, share
from protonlab.views.layout import AXIS_ROOM, empty_layout, layout_of, title_of
from protonlab.views.names import escaped, shortened, told_apart
from protonlab.views.selection import check_count, more_than, select
from protonlab.views.sources import keeps_sources

_ROWS = 18  # the figure is so many rows of a flame graph high
_LONGEST_LABEL, _LONGEST_NOTE = 100, 64
_MOST_WORDS, _MOST_NAMES = 6, 5
_TICK_ROOM, _TITLE_ROOM = 74, 16
_NEITHER = "No kernel recorded both flops and bytes; its launch metadata can return them."
_OF_NO_WIDTH = "Kernels recorded flops without a width; flops8, flops16 or flops32 picks the roof."
_NONE = "No kernel was recorded."
_LARGEST, _SMALLEST = 34.0, 7.0  # diameters in pixels


class RooflineFigure(ProfileFigure):
    """A roofline as a plotly figure; a click on a kernel leads to its frame in a flame graph."""

    _kernels: pd.DataFrame | None = None

    @property
    def kernels(self) -> pd.DataFrame:
        """One row a kernel, most time first.

        Columns: ``label``, ``time_ns``, ``flop/byte``, ``flop/s``, ``byte/s``, ``width`` (bits of
        its operands), ``bound`` (``memory``, ``compute``, ``impossible``, ``unknown``), ``of_roof``
        (share of the roof that bounds it, 0 to 1) and ``words``.
        """
        return pd.DataFrame() if self._kernels is None else self._kernels

    def __repr__(self) -> str:
        head = super().__repr__().removesuffix(", 0 boxes>")
        if self.kernels.empty:
            return f"{head}>"
        lines = [cleaned(f"{row.label}: {row.words}") for row in self.kernels.itertuples()]
        return "\n".join([f"{head}, {counted(len(lines), 'kernel')}>", *lines])


@keeps_sources
def roofline(
    profile: Profile, *, roofs: Roofs | None = None, top: int = 40, everything: bool = False
) -> RooflineFigure:
    """Draw kernels under the roofs of their GPU, which tell what bounds them.

    The width of a kernel's operands, ``flops8``, ``flops16`` or ``flops32``, picks its roof. A
    kernel above what was measured on the very GPU is flagged: nothing runs faster than possible,
    so what its launch metadata says of bytes or flops is wrong.

    Parameters
    ----------
    profile
        A profile whose kernels recorded flops and bytes.
    roofs
        From `measure_roofs`. By default those that were measured on the profile's GPU by this user
        on this machine, else the data sheet's, which no kernel reaches.
    top
        Most kernels to draw, by time.
    everything
        Also kernels outside of the filter that the profile was recorded with.

    Raises
    ------
    ProtonLabError
        If `profile` is a trace, or `top` or `roofs` is not legal.

    Examples
    --------
    >>> protonlab.roofline(profile, roofs=protonlab.measure_roofs())  # doctest: +SKIP
    """
    _check(profile, roofs, top)
    used = next((reading.uuid for reading in profile.info.clocks), "")
    chosen, notes = roofs_of(profile, roofs, cached_roofs(used))
    selection = select(profile, everything=everything)
    points = points_of(selection.kernels, chosen)
    source = chosen.source if chosen.roofs else "no roof known"
    title = title_of(profile.info.name, f"roofline, {source}", profile.where)
    if points.table.empty:
        recorded = bool(len(selection.kernels))
        why = (_OF_NO_WIDTH if points.of_no_width else _NEITHER) if recorded else _NONE
        return RooflineFigure(layout=empty_layout("roofline", title, why))
    drawn = replace(points, table=points.table.head(top))
    notes = [*_notes(drawn, len(points.table)), *notes, *selection.notes]
    return _figure(profile, selection.kernels, drawn, chosen, title, notes)


def _check(profile: object, roofs: object, top: int) -> None:
    if not isinstance(profile, Profile):
        raise ProtonLabError(
            f"roofline() draws a Profile, not a {type(profile).__name__}; timeline() draws a trace"
        )
    if roofs is not None and not isinstance(roofs, Roofs):
        raise ProtonLabError(
            f"roofs={roofs!r}; give what measure_roofs() or Roofs.load() returns, or leave it out"
        )
    check_count("top", top)


def _notes(points: Points, number: int) -> list[str]:
    """Sentences under the figure: the kernels with most time in words, and what is not drawn."""
    most = points.table.head(_MOST_WORDS)
    names = told_apart([str(label) for label in most["label"]], _LONGEST_NOTE)
    notes = [f"{name}: {words}." for name, words in zip(names, most["words"], strict=True)]
    if len(points.table) > len(most):
        notes.append(f"And {len(points.table) - len(most)} more: roofline(…).kernels has all.")
    wrong = points.table["bound"] == "impossible"
    if wrong.any():
        notes.append(f"{counted(int(wrong.sum()), 'kernel')} above the roof, which cannot be.")
    notes += more_than(len(points.table), number)
    for names_of, lack in (
        (points.of_no_width, "whose flops have no width (flops8, flops16 and flops32 do)"),
        (points.without, "without flops or bytes"),
    ):
        if names_of:
            shown = some([shortened(name, 24) for name in names_of], _MOST_NAMES)
            notes.append(f"{counted(len(names_of), 'kernel')} {lack}: {shown}.")
    return notes


def _figure(
    profile: Profile,
    kernels: pd.DataFrame,
    points: Points,
    roofs: Roofs,
    title: str,
    notes: list[str],
) -> RooflineFigure:
    table = points.table
    products = [roof for width in points.widths if (roof := roofs.matmul(width)) is not None]
    x_reach, y_reach = reach_of(table, roofs.bandwidth, products)
    lines = list(roof_lines(roofs, products, x_reach))
    layout = layout_of(
        "roofline",
        title,
        _ROWS,
        legend=1,
        notes=notes,
        ticks=_TICK_ROOM,
        above=_TITLE_ROOM,
        under=AXIS_ROOM,
    )
    beside = list(roof_labels(roofs, products, x_reach))
    layout["annotations"] += beside
    layout |= {
        "xaxis": log_axis("intensity (FLOP/byte)", x_reach),
        "yaxis": log_axis("rate (FLOP/s)", y_reach),
    }
    figure = RooflineFigure(
        data=[*lines, *_markers(profile, kernels, table, lines, beside, (x_reach, y_reach))],
        layout=layout,
    )
    figure._kernels = table.reset_index(drop=True)
    return figure


def _markers(
    profile: Profile,
    kernels: pd.DataFrame,
    table: pd.DataFrame,
    lines: Sequence[dict[str, Any]],
    beside: Sequence[dict[str, Any]],
    reach: tuple[tuple[float, float], tuple[float, float]],
) -> Iterator[dict[str, Any]]:
    """Traces of points, one for each kind of bound; the area of a point is its time."""
    whole = float(profile.kernels["time_ns"].sum())
    rows = kernels.loc[table.index]
    numbers = metric_lines(profile, rows)
    part = np.sqrt(table["time_ns"] / table["time_ns"].max())
    size = (_SMALLEST + (_LARGEST - _SMALLEST) * part).tolist()
    labels = [shortened(str(label), _LONGEST_LABEL) for label in table["label"]]
    xs, ys = table["flop/byte"].tolist(), table["flop/s"].tolist()
    ends = [(line["x"], line["y"]) for line in lines]
    places = label_places(labels, xs, ys, size, ends, beside, *reach)
    hovers = [
        hover_text(
            str(label), str(name), escaped(words), lines,
            f"{share(time, whole)} of kernel time",
        )
        for label, name, words, lines, time in zip(
            table["label"], rows["name"], table["words"], numbers, table["time_ns"], strict=True
        )
    ]  # fmt: skip
    for bound, role in theme.BOUNDS.items():
        chosen = np.flatnonzero((table["bound"] == bound).to_numpy()).tolist()
        if not chosen:
            continue
        yield {
            "type": "scatter",
            "mode": "markers+text",
            "meta": "points",
            "name": role.name,
            "showlegend": True,
            "x": [xs[at] for at in chosen],
            "y": [ys[at] for at in chosen],
            "customdata": [[str(table["label"].iloc[at]), str(table["bound"].iloc[at])]
                           for at in chosen],
            "hovertext": [hovers[at] for at in chosen],
            "hoverinfo": "text",
            "text": [escaped(places[at][0]) for at in chosen],
            "textposition": [places[at][1] for at in chosen],
            "textfont": {"size": theme.FONT_SIZE, "color": theme.TEXT.light},
            "cliponaxis": False,
            "marker": {
                "color": role.fill.light,
                "size": [size[at] for at in chosen],
                "opacity": 1,
                "line": {"color": theme.OUTLINE.light, "width": 1},
            },
        }  # fmt: skip
