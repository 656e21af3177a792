"""Kernels, or groups of them, as horizontal bars."""

from __future__ import annotations

import math

import numpy as np

from protonlab.errors import ProtonLabError
from protonlab.model import Comparison, Metric, Profile, Run
from protonlab.model.units import counted
from protonlab.views.bar_layout import (
    THICK,
    BarsFigure,
    bar_boxes,
    bar_layout,
    outer_ends,
    value_trace,
    whisker_traces,
)
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.compared_bars import compared_bars
from protonlab.views.hover import caption
from protonlab.views.layout import empty_layout, title_of
from protonlab.views.names import (
    shortened,
)
from protonlab.views.rank_bars import rank_bars
from protonlab.views.ranking import Ranking, ranking
from protonlab.views.reference_lines import Lines, ReferenceLine, reference_lines
from protonlab.views.selection import check_count, more_than, no_kernels_of
from protonlab.views.sources import keeps_sources
from protonlab.views.stack import groups_and_stack, has_negative, parts_of


@keeps_sources
def bars(
    profile: Profile | Comparison | Run,
    *,
    metric: str | None = None,
    by: str | tuple[str, str] | None = None,
    lines: Lines | None = None,
    top: int = 20,
    everything: bool = False,
) -> BarsFigure:
    """Draw the kernels, or groups of kernels, with the highest values of a metric.

    Each bar is a sum over the tree, a rate the ratio of two sums. Where the code was repeated, a
    metric that sums is shown a repeat, and whiskers show the 95 % interval over the repeats.

    Parameters
    ----------
    profile
        The profile. Of a comparison, each kernel has a bar before and one after, greatest
        difference first, coloured by what changed: red costs more, blue less.
    metric
        Any metric of the grammar: ``"time"`` (as by default), ``"gbyte/s"``, ``"avg_time/us"``,
        ``"n_tokens/s"``. A comparison has its own; ``"difference"`` draws after less before.
    by
        ``"kernel"``, as by default; ``"scope"``, the innermost around each kernel; ``"device"``; or
        a regular expression, searched in each kernel's label, then in its full name: its first
        group in parentheses names the bar, without one the whole match does, and kernels without a
        match are ``"other"``. A pair such as ``("kernel", "scope")`` stacks: each bar is parted by
        the scope; the metric must be one that sums. Of a run ``"rank"``, as by default, where
        computing and collectives are apart, or ``"kernel"``: the median of the ranks, with whiskers
        from the lowest to the highest.
    lines
        Reference lines: label -> value in the metric's unit, such as
        ``{"copy, measured": 4210}`` for ``"gbyte/s"``; ``"peak"`` for the data sheet's peak of the
        metric on the profile's devices; what `measure_roofs` measured; or a list of these.
    top
        Most bars to draw.
    everything
        Also kernels outside of the filter that the profile was recorded with. Without them a line
        says how many there are.

    Returns
    -------
    BarsFigure
        A plotly figure.

    Raises
    ------
    MetricError
        If `metric` is unknown here, or does not sum where it must.
    ProtonLabError
        If another argument is not legal.

    Examples
    --------
    >>> protonlab.bars(profile, metric="gbyte/s", lines="peak")  # doctest: +SKIP
    >>> protonlab.bars(profile, by=("(gemm|norm|attention)", "scope"))  # doctest: +SKIP
    >>> protonlab.bars(protonlab.compare(run1, run2))  # doctest: +SKIP
    >>> protonlab.bars(protonlab.load_run("runs/tonight"))  # doctest: +SKIP
    """
    check_count("top", top)
    if isinstance(profile, Run):
        if lines is not None or everything:
            raise ProtonLabError(
                "lines and everything are for a profile; of a run's ranks added up: "
                "bars(run.merged(), lines='peak')"
            )
        return rank_bars(profile, metric, "rank" if by is None else str(by), top)
    by = "kernel" if by is None else by
    if isinstance(profile, Comparison):
        if by != "kernel" or lines is not None or everything:
            raise ProtonLabError(
                "by, lines and everything are for a profile; bars of a comparison are all its "
                "kernels"
            )
        return compared_bars(profile, metric, top)
    if not isinstance(profile, Profile):
        raise no_kernels_of("bars", profile)
    wanted = profile.metric("time" if metric is None else metric)
    groups, stacked = groups_and_stack(profile, wanted, by)
    drawn_lines, line_notes = reference_lines(profile, wanted, lines)
    found = ranking(profile, wanted, groups, everything=everything)
    title = _title(profile, wanted, groups)
    if stacked and not found.why_empty and has_negative(found.rows["value"]):
        why = f"{caption(wanted)} is negative somewhere, and no part of a stack can be."
        return BarsFigure(layout=empty_layout("bars", title, why))
    if found.why_empty:
        return BarsFigure(layout=empty_layout("bars", title, found.why_empty))
    notes = [*found.notes, *line_notes]
    if profile.repeats is not None:
        notes.append(_of_repeats(profile, wanted))
    notes += more_than(top, len(found.rows), "kernel" if groups == "kernel" else "bar")
    return _figure(profile, wanted, found, groups, top, drawn_lines, title, notes, stacked=stacked)


def _title(profile: Profile, metric: Metric, by: str) -> str:
    things = {"kernel": "kernels", "scope": "scopes", "device": "devices"}.get(by, f"kernels {by}")
    each = " a repeat" if profile.repeats is not None and metric.additive else ""
    what = f"{shortened(things, 40)} by {caption(metric)}{each}"
    return title_of(profile.info.name, what, profile.where)


def _of_repeats(profile: Profile, metric: Metric) -> str:
    assert profile.repeats is not None
    number = counted(profile.repeats.number, "repeat")
    what = "Mean" if metric.additive else "Ratio of sums"
    return f"{what} of {number}; whiskers: 95 % interval (Student's t)."


def _figure(
    profile: Profile,
    metric: Metric,
    found: Ranking,
    by: str,
    top: int,
    lines: list[ReferenceLine],
    title: str,
    notes: list[str],
    *,
    stacked: bool,
) -> BarsFigure:
    rows = found.rows.head(top)
    labels = [str(label) for label in rows["label"]]
    texts = [
        _value_text(metric, *numbers)
        for numbers in zip(rows["value"], rows["low"], rows["high"], strict=True)
    ]
    bar = bar_boxes(labels, texts, rows["hover"].tolist())
    names: dict[str, str] = {}
    if stacked:
        parts, names = parts_of(profile, metric, rows, by, found.selection)
        bar = parts.join(bar[["label", "aside", "text"]], on="row").assign(edge=1)
    else:
        bar = bar.assign(role=rows["role"].tolist(), width=rows["value"].tolist())
    traces = box_traces(bar, names, THICK)
    explained = traces if stacked or needs_legend(bar) else []
    values = rows[["value", "low", "high"]].to_numpy(dtype=np.float64)
    layout = bar_layout(title, labels, values, texts, metric, explained, notes, lines=lines)
    traces += [*whisker_traces(values), value_trace(outer_ends(values), texts, lines)]
    return BarsFigure(data=traces, layout=layout)


def _value_text(metric: Metric, value: float, low: float, high: float) -> str:
    """Value with its unit; with an interval also half its width in percent."""
    text = metric.format(value)
    if math.isnan(low) or not value > 0:
        return text
    half = 50 * (high - low) / value
    return f"{text} ± {half:.1f} %" if half < 99.95 else f"{text} ± {half:.0f} %"
