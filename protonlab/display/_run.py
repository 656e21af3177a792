"""How a run shows itself: who is there, who is waited for, then its figures; or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from IPython.core.display_functions import display

from protonlab.display._summary import Summary
from protonlab.display._views import InWords
from protonlab.errors import ProtonLabError
from protonlab.front_end import front_end
from protonlab.model import Run
from protonlab.model.stragglers import Stragglers
from protonlab.views import bars, flame, heatmap, run_tree, table, timeline
from protonlab.views.rank_words import WAITING, run_notes

_VIEWS = ("flame", "bars", "table")


def show_run(run: Run, view: Sequence[str] = _VIEWS, metrics: Sequence[str] | None = None) -> None:
    """Display a run: its ranks and notes, who is waited for, then figures, or text.

    Parameters
    ----------
    run
        The run.
    view
        Which views of its profiles, in this order: ``"flame"``, ``"bars"`` (with the heat map),
        ``"table"``. In a terminal the table stands for all of them, and ``"flame"`` alone is the
        tree as text. A trace has its timeline.
    metrics
        The first one is that of figures; several are columns of a table of the ranks added up.

    Raises
    ------
    MetricError
        If a metric is unknown in this run.
    """
    draws = front_end().draws
    if view and not draws and tuple(view) != ("flame",):
        view = ("table",)
    for part in run_views(run, view, metrics, draws=draws):
        display(part)  # type: ignore[no-untyped-call]


def run_views(
    run: Run,
    view: Sequence[str] = _VIEWS,
    metrics: Sequence[str] | None = None,
    *,
    draws: bool,
) -> list[Any]:
    """Make what `show_run` displays, figures only where they can be drawn."""
    parts: list[Any] = [Summary((f"{run.name}: {run.summary}", *run.notes))]
    if not run.ranks:
        return parts
    if len(run.ranks) > 1:
        found = run.stragglers()
        if _says_something(found):
            parts.append(InWords(repr(found), found._repr_html_()))
    if run.profiles and (run.frames["kind"] == "kernel").any():
        told = run_notes(run)
        for name in view:
            if draws or name == "table":
                for each in _views_of(run, name, metrics or ()):
                    parts.append(each.without_notes(told))
                    told += [WAITING] if name != "table" else []
            elif tuple(view) == ("flame",):
                tree = run_tree(run, metric=metrics[0] if metrics else "time")
                parts.append(replace(tree, notes=()))
    if run.traces and draws and view:
        try:
            parts.append(timeline(run))
        except ProtonLabError as error:  # cycles have no common time
            parts.append(Summary((str(error),)))
    return parts


def _says_something(found: Stragglers) -> bool:
    """Whether there was anything to wait in: a job of ranks that never meet has no straggler."""
    return "collective_ns" not in found.table or bool(found.table["collective_ns"].any())


def _views_of(run: Run, name: str, metrics: Sequence[str]) -> list[Any]:
    asked = [run.metric(metric) for metric in metrics]
    numeric = [metric.name for metric in asked if metric.form != "util_bound"]
    if name == "flame":
        summable = [metric.name for metric in asked if metric.additive]
        return [flame(run, metric=summable[0] if summable else "time")]
    if name == "bars":
        metric = numeric[0] if numeric else "time"
        return [heatmap(run, metric=metric), bars(run, metric=metric)]
    if len(metrics) > 1:
        return [table(run.merged(), metrics=metrics)]
    return [table(run, metrics=numeric or None)]
