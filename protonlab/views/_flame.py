"""The flame graph: the tree as boxes, as wide as what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import Metric, Profile
from protonlab.model.frames import OVERHEAD_KINDS, FloatArray, subtree_sums
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.figure import ProfileFigure
from protonlab.views.fold import Boxes, fold
from protonlab.views.hover import caption, hover_text, metric_lines, own_lines, share
from protonlab.views.layout import empty_layout, layout_of, title_of
from protonlab.views.names import cleaned, escaped, fitted, shortened

_LONGEST_LABEL = 200


class FlameFigure(ProfileFigure):
    """A flame graph as a plotly figure; click zooms, double click goes back."""


def flame(
    profile: Profile, *, metric: str = "time", overhead: bool = False, max_boxes: int = 1500
) -> FlameFigure:
    """Draw a profile's tree: root on top, each box as wide as its inclusive metric.

    Parameters
    ----------
    profile
        The profile.
    metric
        A metric that may be summed, such as ``"time"``, ``"count"`` or ``"bytes"``.
    overhead
        Also draw what profiling itself and autotuning launched.
    max_boxes
        Most boxes to draw, at least 2. The narrowest frames of each parent are folded into one
        box "other (n frames)" that is as wide as they are together.

    Raises
    ------
    MetricError
        If `metric` is unknown or may not be summed.

    Examples
    --------
    >>> protonlab.flame(profile, metric="bytes")  # doctest: +SKIP
    """
    if max_boxes < 2:
        raise ProtonLabError(f"max_boxes={max_boxes}; a flame graph needs at least 2")
    width = _summable(profile, metric)
    values = _values(profile, width, overhead=overhead)
    shown = np.ones(len(values), dtype=bool) if overhead else ~profile.overhead
    title = _title(profile, width, values, overhead=overhead)
    why = _why_empty(profile, width, values[shown])
    if why:
        return FlameFigure(layout=empty_layout("flame", title, why))
    frames = profile.frames
    boxes = fold(
        frames["parent_id"].to_numpy(dtype=np.int64),
        frames["depth"].to_numpy(dtype=np.int64),
        values,
        shown,
        limit=max_boxes,
    )
    table = _describe(profile, width, boxes)
    rows = max(int(boxes.depth.max()) + 1, theme.LOWEST)
    layout = layout_of("flame", title, rows, legend=needs_legend(table)) | {
        "bargap": 0.06,
        "xaxis": {"visible": False, "range": [0, float(boxes.width[0])]},
        "yaxis": {"visible": False, "range": [rows - 0.5, -0.5], "fixedrange": True},
    }
    return FlameFigure(data=box_traces(table), layout=layout)


def _summable(profile: Profile, name: str) -> Metric:
    metric = profile.metric(name)
    if metric.additive:
        return metric
    able = ", ".join(column.stem for column in profile.columns if column.additive)
    raise MetricError(
        f"a flame graph needs a metric that may be summed over frames, and {name!r} may not; "
        f"use one of: {able or 'none was recorded'}. bars() takes any metric."
    )


def _values(profile: Profile, metric: Metric, *, overhead: bool) -> FloatArray:
    """Width of each frame; with overhead it counts towards the frames above it, too."""
    if not overhead:
        return metric.values(profile.inclusive)
    own = metric.values(profile.frames)
    if np.isnan(own).all():
        return own
    frames = profile.frames
    parent, depth = frames["parent_id"].to_numpy(), frames["depth"].to_numpy(dtype=np.int64)
    return subtree_sums(np.nan_to_num(own), parent, depth)


def _title(profile: Profile, metric: Metric, values: FloatArray, *, overhead: bool) -> str:
    total = metric.format(float(values[0])) if len(values) else ""
    what = f"{caption(metric)} {total}".strip()
    extra = "with profiling and tuning" if overhead else ""
    return title_of(profile.info.name, what, extra, profile.where)


def _why_empty(profile: Profile, metric: Metric, values: FloatArray) -> str:
    """Say why there is nothing to draw; empty when there is."""
    if not (profile.frames["kind"] == "kernel").any():
        return "No kernel was recorded."
    if np.isnan(values).all():
        return f"No frame recorded {caption(metric)}."
    if (values < 0).any():
        return f"{caption(metric)} is negative somewhere, and no box can be: see bars()."
    if not values[0] > 0:
        return f"{caption(metric)} is zero everywhere."
    return ""


def _describe(profile: Profile, metric: Metric, boxes: Boxes) -> pd.DataFrame:
    """Describe each box as `box_traces` needs it."""
    frames = profile.frames.iloc[boxes.frame]
    own = boxes.folded == 0
    sums = profile.inclusive.iloc[boxes.frame]
    numbers = metric_lines(profile, sums)
    extras = own_lines(profile, boxes.frame.tolist())
    total = float(boxes.width[0])
    parents = np.where(own, frames["parent_id"], boxes.frame).tolist()
    width_of = dict(zip(boxes.frame[own].tolist(), boxes.width[own].tolist(), strict=True))
    records = []
    for row, (frame, width) in enumerate(
        zip(frames.itertuples(), boxes.width.tolist(), strict=True)
    ):
        part = share(width, total)
        shares = f"{part} of total"
        if parents[row] > 0:
            shares += f", {share(width, width_of[parents[row]])} of parent"
        if own[row]:
            label = _label(profile, frame)
            hover = hover_text(
                label, str(frame.name), numbers[row], extras[row], shares, _device(frame)
            )
            role = _role(str(frame.kind), frame.hook)
        else:
            label = f"other ({counted(int(boxes.folded[row]), 'frame')})"
            value = f"{escaped(caption(metric))}: <b>{escaped(metric.format(width))}</b>"
            hover, role = hover_text(label, label, value, shares), "other"
        records.append((role, shortened(cleaned(label), _LONGEST_LABEL), part, hover))
    table = pd.DataFrame(records, columns=["role", "label", "aside", "hover"])
    return _fitted(table.assign(start=boxes.start, width=boxes.width, row=boxes.depth))


def _fitted(table: pd.DataFrame) -> pd.DataFrame:
    """Add text and edge of each box for a front end that cannot measure and fit them itself."""
    room = theme.NOMINAL_WIDTH - theme.MARGIN["l"] - theme.MARGIN["r"]
    pixels = table["width"] / table["width"].iloc[0] * room
    texts = [
        escaped(fitted(label, aside, room - theme.TEXT_PADDING))
        for label, aside, room in zip(table["label"], table["aside"], pixels, strict=True)
    ]
    return table.assign(text=texts, edge=(pixels > theme.NARROW).astype(int))


def _label(profile: Profile, frame: Any) -> str:
    if frame.kind == "root":
        return profile.info.name or "all"
    return str(frame.label)


def _device(frame: Any) -> str:
    if pd.isna(frame.device_type):
        return ""
    hook = "" if pd.isna(frame.hook) else f", {theme.HOOK_WORDS[frame.hook]}"
    return f"{escaped(str(frame.device_type))} device {frame.device_id}{hook}"


def _role(kind: str, hook: Any) -> str:
    if kind in OVERHEAD_KINDS:
        return "overhead"
    if kind == "python":
        return "python"
    if kind != "kernel":
        return "scope"
    return theme.role_of_kernel(hook)
