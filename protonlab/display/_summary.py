"""What a profile says of itself before its views: one line of numbers, then what to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protonlab.model import Profile, format_quantity
from protonlab.model.none_kept import why_none_kept
from protonlab.model.sentences import cleaned, some
from protonlab.model.statistics import interval
from protonlab.model.units import counted
from protonlab.views.names import escaped

if TYPE_CHECKING:
    import pandas as pd

_STATES = ("kept", "filtered", "unseen")
_MOST_NAMES = 12


@dataclass(frozen=True)
class Summary:
    """Sentences that display themselves as text, and as one paragraph each on a page."""

    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(map(cleaned, self.lines))

    def _repr_html_(self) -> str:
        return "".join(f"<div>{escaped(line)}</div>" for line in self.lines)


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
    lines += [*why_none_kept(profile), *_tuning(profile), *_scope_metrics(profile)]
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


def _listed(names: Iterable[str]) -> str:
    return some(list(names), _MOST_NAMES)
