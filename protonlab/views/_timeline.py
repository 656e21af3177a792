"""The timeline: every launch and scope of a trace on one time axis, in lanes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Profile, Run, Trace
from protonlab.model.occupancy import Occupancy, occupancies
from protonlab.model.sentences import cleaned
from protonlab.views import theme
from protonlab.views._timeline_boxes import DETAIL, OVERVIEW, TimelineBoxes, boxes_of
from protonlab.views._timeline_hover import box_table, scope_roles
from protonlab.views._timeline_rows import Rows, place
from protonlab.views._timeline_time import TimeAxis
from protonlab.views._timeline_words import lane_texts, notes_of, title_for
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.figure import ProfileFigure
from protonlab.views.layout import (
    AXIS_ROOM,
    empty_layout,
    fixed_axis,
    layout_of,
    legend_places,
    names_axis,
    title_of,
)
from protonlab.views.names import escaped, shortened
from protonlab.views.selection import check_count
from protonlab.views.sources import keeps_sources

_LONGEST_SCOPE = 30
_MOST_NOTES = 6  # of a run, above what the picture itself needs said
_ZOOM = 3.0  # times that a person zooms in before detail takes the place of the overview
_BUTTONS = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]


@dataclass(frozen=True)
class _Source:
    """What a figure is made of, so that a part of it can be made anew."""

    trace: Trace
    rows: Rows
    axis: TimeAxis
    work: tuple[Occupancy, ...]
    max_boxes: int
    about: tuple[str, ...] = ()

    @property
    def reach(self) -> tuple[float, float]:
        """Begin and end of everything, in the trace's unit; never the same."""
        low, high = int(self.rows.start.min()), int(self.rows.end.max())
        return low, max(high, low + 1)


class TimelineFigure(ProfileFigure):
    """A timeline as a plotly figure: drag zooms, shift and drag pans, double click goes back."""

    _source: _Source | None = None
    _notes: tuple[str, ...] = ()

    def refined(self, focus: Any) -> TimelineFigure | None:
        """Draw a part finely, ``{"range": [low, high]}`` in the axis' unit; the rest coarsely."""
        source = self._source
        ends = focus.get("range") if isinstance(focus, Mapping) else None
        if source is None or not isinstance(ends, (list, tuple)) or len(ends) != 2:
            return None
        if not all(isinstance(end, (int, float)) and math.isfinite(end) for end in ends):
            return None
        low, high = (source.axis.back(float(end)) for end in sorted(ends))
        if not high > low:
            return None
        return _figure(source, (low, high))

    def __repr__(self) -> str:
        return "\n".join((super().__repr__(), *map(cleaned, self._notes)))


@keeps_sources
def timeline(
    trace: Trace | Run,
    *,
    lanes: str | None = None,
    clock_mhz: float | None = None,
    max_lanes: int = 48,
    max_boxes: int = 3000,
) -> TimelineFigure:
    """Draw a trace: CPU threads with nested scopes, then GPU streams, or warps inside a kernel.

    Events narrower than a pixel are drawn as one box, which says how many they are and how busy
    the time under it is. In a living notebook zooming in shows them apart; elsewhere as far as
    `max_boxes` allows.

    Parameters
    ----------
    trace
        The trace, from ``data="trace"`` or a chrome trace; or a run whose ranks left traces,
        which are laid over each other (`Run.merged_trace`). Notes say how well clocks agree.
    lanes
        Regular expression: only lanes whose name holds it (``re.search``), as ``"Stream"``.
    clock_mhz
        SM clock by which cycles of the instrumentation backend become time; by default the axis
        counts cycles.
    max_lanes
        Most lanes to draw; threads give way to streams.
    max_boxes
        Most boxes to draw, at least 100.

    Returns
    -------
    TimelineFigure
        Title and lanes tell the share of time in which GPU and streams were idle, between the
        GPU's first and last launch; `Trace.idle` and `Trace.gaps` hold the numbers.

    Raises
    ------
    ProtonLabError
        If `trace` is a profile, or an argument is not legal.

    Examples
    --------
    >>> protonlab.timeline(protonlab.load("proton.chrome_trace"))  # doctest: +SKIP
    >>> protonlab.timeline(protonlab.load_run("runs/tonight"), lanes="Stream")  # doctest: +SKIP
    """
    about: tuple[str, ...] = ()
    if isinstance(trace, Run):
        trace = trace.merged_trace()
        about = trace.info.notes[:_MOST_NOTES]
    _check(trace, max_lanes, max_boxes)
    rows = place(trace, lanes, max_lanes)
    axis = TimeAxis.of(trace, rows, clock_mhz)
    if not len(rows.event):
        timed = (trace.events["kind"] != "flow").any()
        why = f"No lane's name holds {lanes!r}." if timed else "The trace holds no event."
        return TimelineFigure(layout=empty_layout("timeline", title_of(trace.info.name), why))
    source = _Source(trace, rows, axis, tuple(occupancies(trace)), max_boxes, about)
    return _figure(source, source.reach)


def _check(trace: object, max_lanes: int, max_boxes: int) -> None:
    if isinstance(trace, Profile):
        raise ProtonLabError(
            "timeline() draws a Trace, and this is a Profile: its sums have no time axis. See "
            "flame(profile), or record with data='trace'"
        )
    if not isinstance(trace, Trace):
        raise ProtonLabError(f"timeline() draws a Trace, not {type(trace).__name__}; see load()")
    check_count("max_lanes", max_lanes)
    check_count("max_boxes", max_boxes, 100)


def _figure(source: _Source, part: tuple[float, float]) -> TimelineFigure:
    """Draw everything, fine from the part's begin to its end, which is what is seen at first."""
    trace, rows, axis = source.trace, source.rows, source.axis
    span, is_whole = part[1] - part[0], part == source.reach
    beside = 0.0 if is_whole else span  # so that a person can pan a little
    around = (part[0] - beside, part[1] + beside)
    pixels = OVERVIEW if is_whole else 3 * OVERVIEW
    limit = source.max_boxes // 2 if is_whole else source.max_boxes  # detail takes the rest
    boxes = boxes_of(rows, *around, limit, pixels=pixels)
    table = box_table(trace, rows, boxes, axis, span)
    names = {
        role: escaped(shortened(label, _LONGEST_SCOPE))
        for label, role in scope_roles(trace).items()
    }
    traces = box_traces(table, names)
    detail = _detail(source, boxes) if is_whole else None
    if detail is not None:
        finer = box_traces(box_table(trace, rows, detail, axis, span / _ZOOM), names)
        traces += [
            each | {"meta": "detail", "visible": False, "showlegend": False} for each in finer
        ]
    seen = None if is_whole else part
    notes = [*source.about, *notes_of(trace, rows, boxes, axis, source.work, seen)]
    layout = _layout(source, part, table, names, notes)
    if detail is not None:
        layout["meta"]["protonlab"]["detail"] = span / _ZOOM / axis.step
    figure = TimelineFigure(data=traces, layout=layout)
    figure._source, figure._notes = source, tuple(notes)
    return figure


def _detail(source: _Source, overview: TimelineBoxes) -> TimelineBoxes | None:
    """Boxes for a page whose kernel is gone, as many as may be; None when that gives nothing."""
    if (overview.count == 1).all():
        return None
    boxes = boxes_of(source.rows, *source.reach, source.max_boxes, pixels=DETAIL)
    return boxes if len(boxes) > 1.2 * len(overview) else None


def _layout(
    source: _Source,
    part: tuple[float, float],
    table: pd.DataFrame,
    names: Mapping[str, str],
    notes: list[str],
) -> dict[str, Any]:
    rows, axis = source.rows, source.axis
    used = [role for role in theme.ROLES if role != "scope" and (table["role"] == role).any()]
    words = [names.get(role, theme.ROLES[role].name) for role in used]
    legend = 1 + max((row for _, row in legend_places(words)[0]), default=0)
    high = max(rows.first[-1], theme.LOWEST)
    lanes = lane_texts(source.trace, rows, source.work)
    layout = layout_of(
        "timeline",
        title_for(source.trace, axis, source.reach, source.work),
        high,
        legend=legend if needs_legend(table) else 0,
        notes=notes,
        names=lanes,
        under=AXIS_ROOM,
    )
    layout["meta"]["protonlab"]["config"] = {"modeBarButtons": [_BUTTONS]}
    middles = [(begin + end - 1) / 2 for begin, end in pairwise(rows.first)]
    return layout | {
        "bargap": 0.1,
        "dragmode": "zoom",
        "xaxis": _time_axis(source, part),
        "yaxis": names_axis(lanes, high, middles),
        "shapes": [
            {
                "type": "line",
                **{"xref": "paper", "x0": 0, "x1": 1, "y0": begin - 0.5, "y1": begin - 0.5},
                "line": {"color": theme.GRID.light, "width": 1},
                "layer": "below",
            }
            for begin in rows.first[1:-1]
        ],
    }


def _time_axis(source: _Source, part: tuple[float, float]) -> dict[str, Any]:
    axis = source.axis
    low, high = (float(axis.of_values(end)) for end in source.reach)
    margin = (high - low) * 0.01
    seen = [float(axis.of_values(end)) for end in part]
    if part == source.reach:
        seen = [low - margin, high + margin]
    return fixed_axis(axis.title, seen) | {
        "fixedrange": False,
        "ticks": "",
        **{"minallowed": low - margin, "maxallowed": high + margin},
    }
