"""Finding who is waited for with what a run holds: traces where there are some, else sums."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model.arrivals import judge
from protonlab.model.clock_alignment import align_clocks
from protonlab.model.collectives import collectives_of
from protonlab.model.sentences import first_of
from protonlab.model.straggler_causes import cause
from protonlab.model.straggler_steps import judge_steps
from protonlab.model.straggler_totals import judge_totals, kernel_totals
from protonlab.model.stragglers import Stragglers


def stragglers_of(run: Any, skip: int, ranks: Collection[int]) -> Stragglers:
    """Make the result of `Run.stragglers` for some ranks of a `Run`."""
    if not run.ranks:
        raise ProtonLabError(
            f"run {run.name!r} holds nothing of any rank. {first_of(run.warnings)}".rstrip()
        )
    traces, profiles = (
        {rank: part for rank, part in parts.items() if rank in ranks}
        for parts in (run.traces, run.profiles)
    )
    notes = []
    found = None
    if len(traces) > 1:
        collectives = collectives_of(traces, _steps(run, traces))
        notes = list(collectives.notes)
        if len(collectives):
            found = judge(collectives, align_clocks(traces, collectives), skip)
    if found is None and profiles:
        found = judge_steps(profiles, skip)
    if found is None:
        alone = len(traces) > 1 or not profiles
        totals = kernel_totals(traces if alone else run.tree.source)
        found = judge_totals(totals[totals.index.isin(ranks)])
    found = replace(found, notes=tuple(dict.fromkeys((*notes, *found.notes))))
    seen = tuple(found.table.index)
    if found.ranks and len(seen) > 1:
        parts = traces if found.source == "traces" else profiles or traces
        rank, other = found.ranks[0], _usual(found)
        found = replace(found, notes=(cause(rank, parts[rank], other, parts[other]), *found.notes))
    return found


def _usual(found: Stragglers) -> int:
    """Find the rank in the middle of those that are not waited for."""
    column = "compute_ns" if found.source == "totals" else "late_ns"
    rest = found.table[column].drop(list(found.ranks)).dropna().sort_values()
    return int(rest.index[(len(rest) - 1) // 2]) if len(rest) else found.ranks[0]


def _steps(run: Any, ranks: Collection[int]) -> int | None:
    """How many steps every rank counted, where all counted the same."""
    counts = {run.manifests[rank].steps for rank in ranks if rank in run.manifests}
    return counts.pop() if len(counts) == 1 else None
