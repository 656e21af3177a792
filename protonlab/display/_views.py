"""How profiles, traces and comparisons show themselves: a few lines, then views; or text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from IPython.core.display_functions import display

from protonlab.display._summary import Summary, summary
from protonlab.display._trace_table import trace_table
from protonlab.front_end import front_end
from protonlab.model import Comparison, Profile, Trace, VariantComparison, format_quantity
from protonlab.views import bars, distribution_table, flame, pairs, profile_tree, table, timeline

_MOST_IN_TEXT, _MOST_ON_A_PAGE = 20, 200  # kernels of a trace


def show(
    profile: Profile,
    view: Sequence[str] = ("flame", "bars", "table"),
    metrics: Sequence[str] | None = None,
    *,
    first: Callable[[object], Any] = display,
) -> None:
    """Display a profile as ``%%proton`` does after its cell.

    Parameters
    ----------
    profile
        The profile.
    view
        What to show below the summary, in this order: ``"flame"``, ``"bars"``, ``"table"``. In a
        terminal the table stands for all of them, and ``"flame"`` alone is the tree as text.
    metrics
        Columns of the table; bars show the first of them, and flame the first that may be summed.
        By default those that suit the profile.
    first
        Displays the summary, which may take the place of something else.

    Raises
    ------
    MetricError
        If a metric is unknown in this profile.
    """
    if front_end().draws:
        parts = profile_views(profile, view, metrics)
    else:
        parts = _text_views(profile, view, metrics)
    first(parts[0])
    for part in parts[1:]:
        display(part)  # type: ignore[no-untyped-call]  # IPython 9 has types for a part of it


def profile_views(
    profile: Profile,
    view: Sequence[str] = ("flame", "bars", "table"),
    metrics: Sequence[str] | None = None,
) -> list[Any]:
    """Make what `show` displays: the summary, and views where a kernel was launched."""
    asked = [profile.metric(name) for name in metrics or ()]
    numeric = [metric.name for metric in asked if metric.form != "util_bound"]
    parts: list[Any] = [summary(profile)]
    for name in () if profile.kernels.empty else view:
        if name == "flame":
            summable = [metric.name for metric in asked if metric.additive]
            parts.append(flame(profile, metric=summable[0] if summable else "time"))
        elif name == "bars":
            parts.append(bars(profile, metric=numeric[0] if numeric else "time"))
        else:
            parts.append(table(profile, metrics=metrics))
            if profile.repeats is not None:
                parts.append(distribution_table(profile, numeric[0] if numeric else "time"))
    return parts


def _text_views(profile: Profile, view: Sequence[str], metrics: Sequence[str] | None) -> list[Any]:
    if tuple(view) == ("flame",) and not profile.kernels.empty:
        tree = profile_tree(profile, metrics=metrics)
        return [summary(profile), replace(tree, title="", notes=())]
    parts = profile_views(profile, ("table",) if view else (), metrics)
    # The summary has said whose kernels these are.
    return [parts[0], *(replace(each, title="") for each in parts[1:2]), *parts[2:]]


def show_trace(trace: Trace) -> None:
    """Display a trace: a summary, the timeline, and its kernels, or scopes where it has none."""
    for part in trace_views(trace, draws=front_end().draws):
        display(part)  # type: ignore[no-untyped-call]


def trace_views(trace: Trace, *, draws: bool) -> list[Any]:
    """Make what `show_trace` displays, the timeline only where it can be drawn."""
    name = trace.info.name or "trace"
    gpu = f" · {trace.info.gpu}" if trace.info.gpu else ""
    lines = Summary((f"{name}: {trace.summary}{gpu}", *_idle(trace), *trace.info.notes))
    if trace.kernels.empty and trace.scopes.empty:
        return [lines]
    if not draws:
        return [lines, replace(trace_table(trace, top=_MOST_IN_TEXT), title="")]
    return [lines, timeline(trace), trace_table(trace, top=_MOST_ON_A_PAGE)]


def show_comparison(comparison: Comparison) -> None:
    """Display a comparison: its summary and rule, then flame graph, bars and table."""
    if front_end().draws:
        parts = comparison_views(comparison)
    else:
        parts = [table(comparison), Summary((comparison.rule,))]  # the table says the rest
    for part in parts:
        display(part)  # type: ignore[no-untyped-call]


def show_variants(comparison: VariantComparison) -> None:
    """Display a comparison of variants: what it says of itself, then its pairs."""
    for part in variant_views(comparison, draws=front_end().draws):
        display(part)  # type: ignore[no-untyped-call]


def variant_views(comparison: VariantComparison, *, draws: bool) -> list[Any]:
    """Make what `show_variants` displays, the pairs only where they can be drawn."""
    parts: list[Any] = [InWords(repr(comparison), comparison._repr_html_())]
    if len(comparison) > 1 and draws:
        parts.append(pairs(comparison))
    return parts


def comparison_views(comparison: Comparison) -> list[Any]:
    """Make the summary and the views that `show_comparison` displays."""
    told = (comparison.summary, *comparison.notes, comparison.rule)
    parts: list[Any] = [Summary(told)]
    if not comparison.kernels.empty:
        figures = [flame, bars] if comparison.metric.additive else [bars]
        parts += [view(comparison).without_notes(told) for view in (*figures, table)]
    return parts


def _idle(trace: Trace) -> list[str]:
    gpus = trace.idle[(trace.idle["kind"] == "gpu") & trace.idle["idle"].notna()]
    return [
        f"{name} idle {format_quantity(100 * idle, '%')} between its first and its last launch"
        for name, idle in zip(gpus["name"], gpus["idle"], strict=True)
    ]


@dataclass(frozen=True)
class InWords:
    """What something says of itself, as text and for a page."""

    text: str
    page: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.page
