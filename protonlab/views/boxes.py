"""Boxes as plotly's horizontal bars: one trace a role, so that the legend explains the colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from protonlab.views import theme


def needs_legend(table: pd.DataFrame) -> bool:
    """Whether boxes differ in more than scopes from kernels."""
    return table["role"][table["role"] != "scope"].nunique() > 1


def box_traces(table: pd.DataFrame, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Make traces of boxes.

    Parameters
    ----------
    table
        One row a box: ``role``, a key of `theme.ROLES`; ``start``, ``width`` and ``row``, its
        place; ``label`` and ``aside``, unescaped, from which the ES module makes the text anew
        when the room changes; ``text`` and ``hover``, escaped; ``edge``, in pixels.
    names
        Role -> escaped words in the legend, where they are not the role's own.
    """
    names = names or {}
    return [
        {
            "type": "bar",
            "orientation": "h",
            "meta": "boxes",
            "name": names.get(role, theme.ROLES[role].name),
            "showlegend": role != "scope",
            "base": rows["start"].tolist(),
            "x": rows["width"].tolist(),
            "y": rows["row"].tolist(),
            "customdata": rows[["label", "aside"]].to_numpy().tolist(),
            "text": rows["text"].tolist(),
            "hovertext": rows["hover"].tolist(),
            "hoverinfo": "text",
            "marker": _marker(theme.ROLES[role], rows["edge"].tolist()),
            "textposition": "inside",
            "insidetextanchor": "start",
            "textangle": 0,
            "constraintext": "none",
            "insidetextfont": {"size": theme.FONT_SIZE, "color": theme.INK.light},
        }
        for role in theme.ROLES
        if len(rows := table[table["role"] == role])
    ]


def _marker(role: theme.Role, edges: list[int]) -> dict[str, Any]:
    marker = {"color": role.fill.light, "line": {"color": theme.EDGE.light, "width": edges}}
    if role.hatch is not None:
        marker["pattern"] = {
            "shape": role.pattern,
            "bgcolor": role.fill.light,
            "fgcolor": role.hatch.light,
            **{"fillmode": "replace", "solidity": 0.3, "size": 8},
        }
    return marker
