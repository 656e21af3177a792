"""The bars of a profile, longest first: a row a kernel or group, with what it is worth."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import MetricError
from protonlab.model import Metric, Profile
from protonlab.model.statistics import Interval, interval
from protonlab.model.sums import Sums
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.grouping import WORDS, groups_of
from protonlab.views.hover import caption, hover_text, metric_lines, share
from protonlab.views.names import escaped
from protonlab.views.selection import Selection, select


@dataclass(frozen=True, eq=False)
class Ranking:
    """Bars in their order.

    Parameters
    ----------
    rows
        One row a bar; index: its group, as `groups_of` names it. ``label`` and ``name``, unescaped,
        ``role``, ``value``, ``low`` and ``high`` (interval, NaN where there is none), ``hover``.
    selection
        Which kernels take part.
    notes
        Sentences on what is not shown.
    why_empty
        A sentence where there is no row.
    """

    rows: pd.DataFrame
    selection: Selection
    notes: tuple[str, ...]
    why_empty: str = ""


def ranking(profile: Profile, metric: Metric, by: str, *, everything: bool) -> Ranking:
    """Sum a metric over groups of kernels and sort them.

    With repeats, a metric that sums is the mean of what each repeat took, and each value has the
    interval of `Profile.distribution`.

    Parameters
    ----------
    profile, metric
        What to show of it.
    by, everything
        As `protonlab.bars` takes them.
    """
    if metric.form == "util_bound":
        raise MetricError("'util_bound' is a word, not a number; bars() shows 'util', table() both")
    selection = select(profile, everything=everything)
    groups = None if by == "kernel" else groups_of(profile, by, selection)
    if groups is None:
        sums = profile.kernels.loc[selection.kernels.index]
        names = sums[["label", "name", "hook", "devices"]]
        values = profile.to_dataframe([metric.name], by="kernel")[metric.name].loc[sums.index]
    else:
        sums = _sums(profile, groups)
        names = _group_names(profile, groups, sums.index)
        values = pd.Series(metric.values(sums), index=sums.index)
        names = names[values.notna() | (names["kernels"] > 0)]
    what = by if by in WORDS else "group"
    rows = names.assign(value=values.loc[names.index], low=np.nan, high=np.nan)
    if profile.repeats is not None and len(rows):
        _add_intervals(rows, profile, metric, groups)
    known = rows[rows["value"].notna()].sort_values("value", ascending=False, kind="stable")
    notes = list(selection.notes)
    if not len(known):
        why = f"No {what} recorded {caption(metric)}." if len(rows) else "No kernel was recorded."
        return Ranking(known, selection, tuple(notes), why)
    if len(known) < len(rows):
        notes.append(f"{counted(len(rows) - len(known), what)} without {caption(metric)}.")
    roles = [theme.role_of_kernel(hook) for hook in known["hook"]]
    hover = _hover(profile, metric, known, sums.loc[known.index])
    return Ranking(known.assign(role=roles, hover=hover), selection, tuple(notes))


def _sums(profile: Profile, groups: pd.Series) -> pd.DataFrame:
    return Sums(profile.frames, profile.columns, profile.devices).by_group(groups)


def _group_names(profile: Profile, groups: pd.Series, order: pd.Index) -> pd.DataFrame:
    """Label each group and count its kernels."""
    frames = profile.frames
    kernels = frames["kind"] == "kernel"
    members = frames.loc[kernels, "name"].astype(object).groupby(groups[kernels]).nunique()
    counts = members.reindex(order).fillna(0).astype(int)
    return pd.DataFrame(
        {"label": order, "name": order, "hook": None, "devices": 1, "kernels": counts}, index=order
    )


def _add_intervals(
    rows: pd.DataFrame, profile: Profile, metric: Metric, groups: pd.Series | None
) -> None:
    """Fill in what repeats say; the mean of a repeat takes the place of a sum."""
    if groups is None:
        found = profile.distribution(metric.name).loc[rows.index]
        rows["low"], rows["high"], rows["n"] = found["low"], found["high"], found["n"]
        means = found["estimate"]
    else:
        intervals = _intervals(rows.index, profile, metric, groups)
        for column in ("low", "high", "n"):
            rows[column] = [getattr(each, column) for each in intervals]
        means = pd.Series([each.estimate for each in intervals], index=rows.index)
    if metric.additive:
        rows["value"] = means


def _intervals(
    order: pd.Index, profile: Profile, metric: Metric, groups: pd.Series
) -> list[Interval]:
    assert profile.repeats is not None
    table = np.full((len(order), profile.repeats.number), np.nan)
    for number in range(profile.repeats.number):
        sums = _sums(profile.repeat(number), groups)
        table[:, number] = pd.Series(metric.values(sums), index=sums.index).reindex(order)
    return [interval(values) for values in table]


def _hover(profile: Profile, metric: Metric, rows: pd.DataFrame, sums: pd.DataFrame) -> list[str]:
    numbers = metric_lines(profile, sums)
    has_time = "time_ns" in sums
    whole = float(profile.kernels["time_ns"].sum()) if has_time else np.nan
    times = sums["time_ns"].astype(float).tolist() if has_time else [np.nan] * len(sums)
    texts = []
    for row, lines, time in zip(rows.to_dict("records"), numbers, times, strict=True):
        part = f"{share(time, whole)} of kernel time" if has_time else ""
        where = "" if row["devices"] == 1 else f"on {row['devices']} devices"
        hook = "" if pd.isna(row["hook"]) else theme.HOOK_WORDS[row["hook"]]
        shown = f"{escaped(metric.name)}: <b>{escaped(metric.format(row['value']))}</b>"
        own = "" if metric.form in ("value", "ratio") else shown
        about = counted(row["kernels"], "kernel") if "kernels" in row else ""
        spread = _spread(metric, row)
        texts.append(
            hover_text(row["label"], row["name"], own, spread, lines, part, about, where, hook)
        )
    return texts


def _spread(metric: Metric, row: Mapping[Hashable, Any]) -> str:
    if math.isnan(row["low"]):
        return ""
    low, high = (escaped(metric.format(row[bound])) for bound in ("low", "high"))
    value = escaped(metric.format(row["value"]))
    return (
        f"{escaped(caption(metric))} a repeat: <b>{value}</b>, 95 % interval {low} to {high}, "
        f"n = {row['n']:.0f}"
    )
