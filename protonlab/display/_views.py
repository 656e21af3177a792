"""How profiles, traces and comparisons show themselves: a few lines, then views; or text."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.core.display_functions import display

from protonlab.front_end import front_end
from protonlab.model import Comparison, Profile, Trace, VariantComparison, format_quantity
from protonlab.model.statistics import interval
from protonlab.model.units import counted, round_digits
from protonlab.views import bars, distribution_table, flame, pairs, table, timeline

if TYPE_CHECKING:
    import pandas as pd

_STATES = ("kept", "filtered", "unseen")
_MOST_NAMES = 12
_MOST_KERNELS = 20


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
        terminal the table stands for all of them.
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
    if view and not front_end().draws:
        view = ("table",)
    parts = profile_views(profile, view, metrics)
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


def show_trace(trace: Trace) -> None:
    """Display a trace: a summary, the timeline, and its kernels, or scopes where it has none."""
    for part in trace_views(trace, draws=front_end().draws):
        display(part)  # type: ignore[no-untyped-call]


def trace_views(trace: Trace, *, draws: bool) -> list[Any]:
    """Make what `show_trace` displays, the timeline only where it can be drawn."""
    name = trace.info.name or "trace"
    gpu = f" · {trace.info.gpu}" if trace.info.gpu else ""
    lines = Summary((f"{name}: {trace.summary}{gpu}", *_idle(trace), *trace.info.notes))
    rows = trace.scopes if trace.kernels.empty else trace.kernels
    parts: list[Any] = [lines]
    if len(rows) and draws:
        parts.append(timeline(trace))
    if len(rows):
        parts.append(Rows(rows.drop(columns="name").set_index("label")))
    return parts


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
    parts: list[Any] = [Summary((comparison.summary, *comparison.notes, comparison.rule))]
    if not comparison.kernels.empty:
        parts += [flame(comparison)] if comparison.metric.additive else []
        parts += [bars(comparison), table(comparison)]
    return parts


def _idle(trace: Trace) -> list[str]:
    gpus = trace.idle[(trace.idle["kind"] == "gpu") & trace.idle["idle"].notna()]
    return [
        f"{name} idle {format_quantity(100 * idle, '%')} between its first and its last launch"
        for name, idle in zip(gpus["name"], gpus["idle"], strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Rows:
    """The first rows of a table, whole: no column is folded away."""

    table: pd.DataFrame

    def __repr__(self) -> str:
        return str(self.table.head(_MOST_KERNELS).to_string(float_format=_three_digits))

    def _repr_html_(self) -> str:
        return str(self.table.head(_MOST_KERNELS).to_html(float_format=_three_digits, border=0))


def _three_digits(value: float) -> str:
    return f"{round_digits(value):.10g}"


@dataclass(frozen=True)
class InWords:
    """What something says of itself, as text and for a page."""

    text: str
    page: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.page


@dataclass(frozen=True)
class Summary:
    """Sentences that display themselves as text, and as one paragraph each on a page."""

    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return "".join(f"<div>{html.escape(line)}</div>" for line in self.lines)


def summary(profile: Profile) -> Summary:
    """Say in one line what was kept, filtered and unseen; then what a reader should know.

    Examples
    --------
    >>> summary(profile)  # doctest: +SKIP
    run1: 2 kernels kept (12 launches, 81.2 %), 5 kernels unseen (40 launches, 18.8 %) of 1.23 ms
    GPU time · NVIDIA H200
    """
    kernels, info = profile.kernels, profile.info
    name = info.name or "profile"
    if kernels.empty:
        return Summary((f"{name}: no kernel was launched", *info.notes))
    groups = [(state, kernels[kernels["hook"] == state]) for state in _STATES]
    parts = [_group(rows, kernels, state) for state, rows in groups if len(rows)]
    if not parts:  # no hook's record: a file that Proton wrote itself
        launches = counted(int(kernels["count"].sum()), "launch", "launches")
        parts = [f"{counted(len(kernels), 'kernel')} ({launches})"]
    elif groups[0][1].empty:
        parts.insert(0, "no kernel kept")
    on_cpu = bool(profile.devices) and profile.devices[0].device_type == "CPU"
    total = _time(kernels, "" if on_cpu else " GPU time")
    lines = [f"{name}: {', '.join(parts)}{total} · {profile.where}"]
    if groups[0][1].empty and (info.include is not None or info.exclude is not None):
        lines.append(_why_none_kept(profile))
    lines += [*_tuning(profile), *_scope_metrics(profile)]
    if profile.repeats is not None:
        lines.append(_repeats(profile))
    return Summary((*lines, *info.notes))


def _repeats(profile: Profile) -> str:
    """Say how often the code ran, and how long a repeat's kernels took."""
    assert profile.repeats is not None
    found = interval(profile.repeats.times(profile.frames) * 1e-9)
    after = f" after {counted(profile.info.warmup, 'warm-up')}" if profile.info.warmup else ""
    line = f"{counted(found.n, 'repeat')}{after}: {format_quantity(found.estimate, 's')} each"
    if found.n < 2:
        return line
    low, high = format_quantity(found.low, "s"), format_quantity(found.high, "s")
    return f"{line} (mean of n = {found.n}, {100 * found.confidence:g} % interval {low} to {high})"


def _group(rows: pd.DataFrame, kernels: pd.DataFrame, state: str) -> str:
    share = ""
    if "time_ns" in kernels and (whole := float(kernels["time_ns"].sum())):
        share = f", {format_quantity(100 * float(rows['time_ns'].sum()) / whole, '%')}"
    launched = counted(int(rows["count"].sum()), "launch", "launches")
    return f"{counted(len(rows), 'kernel')} {state} ({launched}{share})"


def _tuning(profile: Profile) -> list[str]:
    trials = profile.info.tuning
    if trials is None:
        if profile.frames["hook"].notna().any():
            return []
        return ["This file cannot tell what autotuning launched; if any ran, it is counted as work"]
    tuned = dict.fromkeys(trial.kernel for trial in trials)
    if not tuned:
        return []
    tried = counted(len(trials), "configuration")
    return [
        f"Autotuning tried {tried} of {_listed(tuned)}; the profile's .tuning lists them, and what "
        "they launched is left out"
    ]


def _scope_metrics(profile: Profile) -> list[str]:
    frames = profile.frames
    kernels = frames.loc[frames["kind"] == "kernel", "name"]
    scopes = frames[(frames["kind"] == "scope") & ~frames["name"].isin(kernels)]
    recorded = [
        column.stem
        for column in profile.columns
        if column.stem not in ("count", "time", "cpu_time") and scopes[column.column].notna().any()
    ]
    if not recorded:
        return []
    return [f"Scopes recorded {_listed(recorded)}; Proton adds up the entries of a scope"]


def _time(kernels: pd.DataFrame, which: str) -> str:
    if "time_ns" not in kernels:
        return ""
    return f" of {format_quantity(float(kernels['time_ns'].sum()) * 1e-9, 's')}{which}"


def _why_none_kept(profile: Profile) -> str:
    info = profile.info
    seen = sorted(info.launches)
    if not seen:
        return (
            "The filter had nothing to match: only kernels that Triton launches pass it, and these "
            f"came from elsewhere: {_listed(profile.kernels['label'])}"
        )
    given = [
        f"{option}={value}"
        for option, value in (("include", info.include), ("exclude", info.exclude))
        if value is not None
    ]
    return (
        f"No kernel passed {' '.join(given)}. Patterns are anchored at the start of the compiled "
        f"name (re.match); begin with .* to match anywhere. Names seen: {_listed(seen)}"
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
