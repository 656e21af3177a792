"""What a difference looks like: its colour, and the words for it in the metric's own sense."""

from __future__ import annotations

import math
from collections.abc import Iterable

from protonlab.model import Metric
from protonlab.model.changes import NO_VALUE
from protonlab.views import theme


def difference_roles(metric: Metric, changes: Iterable[str], ratios: Iterable[float]) -> list[str]:
    """Key into `theme.DIFFERENCES` for each change; red is what costs more, or does less.

    Parameters
    ----------
    metric
        What was compared.
    changes, ratios
        Columns of a comparison.
    """
    roles = []
    for change, ratio in zip(changes, ratios, strict=True):
        if change == NO_VALUE:
            roles.append("unchanged")
            continue
        if math.isnan(ratio) and change == "changed":
            # It was zero before.
            roles.append("faster_most" if metric.is_better_high else "slower_most")
            continue
        cost = (1 / ratio if ratio else math.inf) if metric.is_better_high else ratio
        roles.append(theme.role_of_difference(str(change), cost))
    return roles


def difference_words(metric: Metric) -> dict[str, str]:
    """Words of the legend where they are not slower and faster."""
    if metric.unit == "s":
        return {}
    slower, faster = ("lower", "higher") if metric.is_better_high else ("more", "less")
    return {
        key: role.name.replace("slower", slower).replace("faster", faster)
        for key, role in theme.DIFFERENCES.items()
    }
