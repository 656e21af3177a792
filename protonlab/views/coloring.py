"""What a colour says about the boxes of a flame graph: kind, library, difference, or a metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import Metric
from protonlab.model.frames import OVERHEAD_KINDS, FloatArray, IntArray
from protonlab.views import theme
from protonlab.views.compared_tree import ComparedTree
from protonlab.views.differences import difference_roles, difference_words
from protonlab.views.hover import caption
from protonlab.views.libraries import library_of
from protonlab.views.names import escaped
from protonlab.views.ranks_tree import RunTree
from protonlab.views.tree import MeasuredTree, Tree

_BY = ("kind", "library", "difference", "spread")
# Spread over ranks at which each step of the scale begins.
_SPREADS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_NICE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Coloring:
    """What boxes stand for.

    Parameters
    ----------
    roles
        Key into `theme.ROLES`, one a node.
    names
        Role -> words in the legend, escaped, where they are not the role's own.
    lines
        A line for each node's hover box, or none.
    """

    roles: list[str]
    names: Mapping[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def coloring(tree: Tree, color: str, nodes: IntArray) -> Coloring:
    """Colour nodes.

    Parameters
    ----------
    tree
        The tree.
    color
        ``"kind"``, ``"library"``, ``"difference"``, ``"spread"``, or a metric.
    nodes
        Rows of the tree.

    Raises
    ------
    ProtonLabError
        If `color` says nothing about this tree.
    """
    if not isinstance(color, str):
        raise ProtonLabError(f"color={color!r}; use one of {', '.join(_BY)}, or a metric")
    frames = tree.frames.iloc[tree.frame[nodes]]
    if color == "kind":
        return Coloring(_kinds(frames))
    if color == "library":
        return Coloring(_libraries(frames))
    if color == "difference":
        if not isinstance(tree, ComparedTree):
            raise ProtonLabError(
                "color='difference' needs two profiles: flame(protonlab.compare(before, after))"
            )
        roles = difference_roles(tree.metric, frames["change"], frames["ratio"])
        return Coloring(roles, difference_words(tree.metric))
    if color == "spread":
        if not isinstance(tree, RunTree):
            raise ProtonLabError(
                "color='spread' is for a run of several ranks: flame(protonlab.load_run(folder))"
            )
        return _spreads(tree, nodes)
    if isinstance(tree, RunTree):
        raise ProtonLabError(
            f"color={color!r}: a run is coloured by 'spread', 'kind' or 'library'; its ranks added "
            f"up by any metric: flame(run.merged(), color={color!r})"
        )
    if not isinstance(tree, MeasuredTree):
        raise ProtonLabError(
            f"color={color!r}: a comparison is coloured by 'difference', 'kind' or 'library'"
        )
    return _steps(tree, _metric(tree, color), nodes)


def _spreads(tree: RunTree, nodes: IntArray) -> Coloring:
    """Colour by how far the ranks are apart."""
    values = tree.spread["spread"].to_numpy(np.float64)[nodes]
    steps = np.searchsorted(_SPREADS, values, side="right") - 1
    roles = [
        "foreign" if math.isnan(value) else f"step_{step}"
        for value, step in zip(values.tolist(), steps.tolist(), strict=True)
    ]
    ends = [f"{100 * end:.0f}" for end in _SPREADS]
    names = {
        f"step_{number}": f"{low} to {high} %" for number, (low, high) in enumerate(pairwise(ends))
    } | {f"step_{len(ends) - 1}": f"over {ends[-1]} %"}
    first = min((role for role in roles if role in names), default="")
    if first:
        names[first] = f"spread over ranks {names[first]}"
    return Coloring(roles, {**names, "foreign": "on one rank"})


def _kinds(frames: pd.DataFrame) -> list[str]:
    hooks = frames["hook"] if "hook" in frames else [None] * len(frames)
    return [_kind(str(kind), hook) for kind, hook in zip(frames["kind"], hooks, strict=True)]


def _kind(kind: str, hook: Any) -> str:
    if kind in OVERHEAD_KINDS:
        return "overhead"
    if kind == "python":
        return "python"
    return theme.role_of_kernel(hook) if kind == "kernel" else "scope"


def _libraries(frames: pd.DataFrame) -> list[str]:
    hooks = frames["hook"] if "hook" in frames else [None] * len(frames)
    return [
        library_of(str(name), hook) if kind == "kernel" else _kind(str(kind), hook)
        for name, kind, hook in zip(frames["name"], frames["kind"], hooks, strict=True)
    ]


def _metric(tree: MeasuredTree, name: str) -> Metric:
    try:
        metric = tree.profile.metric(name)
    except MetricError as error:
        raise MetricError(f"color={name!r}: use {', '.join(_BY)}, or a metric. {error}") from None
    summed = {column.column for column in tree.profile.columns if column.additive}
    if metric.form in ("util_bound", "share_of_parent") or (
        metric.form == "value" and metric.sources[0] not in summed
    ):
        raise MetricError(
            f"color={name!r} has no number for what is above kernels; use one of "
            f"{', '.join(tree.profile.metrics)}, util"
        )
    return metric


def _steps(tree: MeasuredTree, metric: Metric, nodes: IntArray) -> Coloring:
    """Colour by value, in even steps from zero, or from the lowest where that is negative."""
    values = metric.values(tree.sums(nodes))
    title = escaped(caption(metric))
    known = values[~np.isnan(values)]
    if not len(known):
        return Coloring(["scope"] * len(nodes), {}, [""] * len(nodes))
    low, step = _scale(known)
    count = len(theme.SCALE)
    roles = [
        "foreign" if math.isnan(value) else theme.role_of_step((value - low) / (step * count))
        for value in values.tolist()
    ]
    names = {
        f"step_{number}": _bounds(metric, low + step * number, step) for number in range(count)
    }
    first = min((role for role in roles if role in names), default="")
    if first:
        names[first] = f"{title} {names[first]}"
    lines = [
        "" if math.isnan(value) else f"{title}: <b>{escaped(metric.format(value))}</b>"
        for value in values.tolist()
    ]
    return Coloring(roles, {**names, "foreign": f"without {title}"}, lines)


def _scale(values: FloatArray) -> tuple[float, float]:
    """Where the steps begin, and a round number for one of them."""
    low, high = min(0.0, float(values.min())), float(values.max())
    raw = (high - low) / len(theme.SCALE) or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(nice for nice in _NICE if nice * power >= raw * (1 - 1e-9)) * power
    return math.floor(low / step) * step, step


def _bounds(metric: Metric, low: float, step: float) -> str:
    return f"{escaped(metric.format(low))} to {escaped(metric.format(low + step))}"
