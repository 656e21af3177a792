"""How a run shows itself: who is there, who is waited for, then its figures; or text."""

from __future__ import annotations

from typing import Any

from IPython.core.display_functions import display

from protonlab.display._views import InWords, Summary
from protonlab.errors import ProtonLabError
from protonlab.front_end import front_end
from protonlab.model import Run
from protonlab.views import bars, flame, heatmap, table, timeline


def show_run(run: Run) -> None:
    """Display a run: its ranks and notes, who is waited for, then figures, or text."""
    for part in run_views(run, draws=front_end().draws):
        display(part)  # type: ignore[no-untyped-call]


def run_views(run: Run, *, draws: bool) -> list[Any]:
    """Make what `show_run` displays, figures only where they can be drawn."""
    parts: list[Any] = [Summary((f"{run.name}: {run.summary}", *run.notes))]
    if not run.ranks:
        return parts
    if len(run.ranks) > 1:
        found = run.stragglers()
        parts.append(InWords(repr(found), found._repr_html_()))
    if run.profiles and len(run.frames["kind"].unique()) and (run.frames["kind"] == "kernel").any():
        parts += [flame(run), heatmap(run), bars(run)] if draws else []
        parts.append(table(run))
    if run.traces and draws:
        try:
            parts.append(timeline(run))
        except ProtonLabError as error:  # cycles have no common time
            parts.append(Summary((str(error),)))
    return parts
