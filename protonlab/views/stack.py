"""Bars parted by scope: which part of each bar lies where."""

from __future__ import annotations

import numpy as np
import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import Metric, Profile
from protonlab.model.sums import Sums
from protonlab.views import theme
from protonlab.views.grouping import groups_of
from protonlab.views.hover import caption, hover_text, share
from protonlab.views.names import escaped, shortened
from protonlab.views.selection import Selection

_LONGEST_NAME = 40
_MOST = len(theme.PARTS) - 1  # the last stands for all others


def groups_and_stack(
    profile: Profile, metric: Metric, by: str | tuple[str, str]
) -> tuple[str, bool]:
    """Read what bars are by: how kernels are grouped, and whether scopes part each bar.

    Raises
    ------
    ProtonLabError
        If it is a pair that does not end in ``"scope"``, bars are scopes already, or
        the metric of parts does not sum.
    """
    if not isinstance(by, tuple | list):
        return by, False  # `groups_of` refuses what is no text
    if len(by) != 2 or by[1] != "scope":
        raise ProtonLabError(
            f"by={by!r}; the only pair is one that parts each bar by scope, such as "
            "by=('kernel', 'scope')"
        )
    groups = by[0]
    if groups == "scope":
        raise ProtonLabError(f"by={by!r}: bars of scopes are not parted by scope; use by='scope'")
    if not metric.additive:
        able = ", ".join(column.stem for column in profile.columns if column.additive)
        raise MetricError(
            f"by={by!r} needs a metric that may be summed over frames, and {metric.name!r} may "
            f"not; use one of: {able or 'none was recorded'}"
        )
    return groups, True


def parts_of(
    profile: Profile, metric: Metric, rows: pd.DataFrame, by: str, selection: Selection
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Part each bar by the scope of its kernels.

    Parameters
    ----------
    profile, metric
        What the bars show.
    rows
        The bars, as in `Ranking`.
    by, selection
        How `groups_of` groups their frames.

    Returns
    -------
    tuple
        Boxes: ``row`` (place of the bar), ``start``, ``width``, ``role``, ``hover``; the greatest
        scope first in each bar. And the words for each role.
    """
    groups = groups_of(profile, by, selection)
    scopes = groups_of(profile, "scope", Selection(profile.kernels))
    shown = groups.isin(rows.index)
    both = pd.MultiIndex.from_arrays([groups[shown], scopes[shown]])
    pairs = both.unique()
    codes = pairs.get_indexer(both)
    numbered = pd.Series(codes, index=groups.index[shown]).reindex(groups.index)
    sums = Sums(profile.frames, profile.columns, profile.devices).by_group(numbered)
    taken = sums.index.to_numpy(dtype=np.int64)
    found = pd.DataFrame(
        {
            "group": pairs.get_level_values(0).take(taken),
            "scope": pairs.get_level_values(1).take(taken),
            "width": metric.values(sums),
        }
    ).dropna(subset=["width"])
    order = found.groupby("scope")["width"].sum().sort_values(ascending=False, kind="stable")
    place = {scope: min(number, _MOST) for number, scope in enumerate(order.index)}
    found["part"] = found["scope"].map(place)
    found = found.groupby(["group", "part"], sort=False)[["width"]].sum().reset_index()
    totals = found.groupby("group")["width"].transform("sum")
    wanted = found["group"].map(rows["value"])  # with repeats the mean of one, not the sum of all
    found["width"] *= (wanted / totals).where(totals != 0, 1.0)
    found["row"] = found["group"].map({group: row for row, group in enumerate(rows.index)})
    found = found.sort_values(["row", "part"], kind="stable").reset_index(drop=True)
    found["start"] = found.groupby("row")["width"].cumsum() - found["width"]
    found["role"] = found["part"].map(list(theme.PARTS).__getitem__)
    words = _words(order)
    found["hover"] = [
        hover_text(
            str(rows["label"].iloc[row]),
            str(rows["label"].iloc[row]),
            f"{words[role]}: <b>{escaped(metric.format(width))}</b>",
            f"{share(width, float(rows['value'].iloc[row]))} of {escaped(caption(metric))}",
        )
        for row, role, width in zip(found["row"], found["role"], found["width"], strict=True)
    ]
    return found, words


def _words(order: pd.Series) -> dict[str, str]:
    names = [escaped(shortened(str(scope), _LONGEST_NAME)) for scope in order.index]
    words = dict(zip(theme.PARTS, names, strict=False))
    if len(names) > _MOST:
        more = len(names) - _MOST
        words[list(theme.PARTS)[_MOST]] = names[_MOST] if more == 1 else f"{more} other scopes"
    return words


def has_negative(values: pd.Series) -> bool:
    """Whether a value is below zero, so that parts could not be laid end to end."""
    return bool((values.to_numpy(dtype=np.float64) < 0).any())
