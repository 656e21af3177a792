"""Boxes as plotly's horizontal bars: one trace a role, so that the legend explains the colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from protonlab.views import theme

_TEXTS = pd.Index(["label", "aside", "name"])  # what the ES module knows of each box
_AMOUNTS = [*theme.SCALE, *theme.DIFFERENCES]


def needs_legend(table: pd.DataFrame) -> bool:
    """Whether boxes differ in more than scopes from kernels, or say by colour how much."""
    roles = table["role"][table["role"] != "scope"]
    return roles.nunique() > 1 or bool(roles.isin(_AMOUNTS).any())


def box_traces(
    table: pd.DataFrame, names: Mapping[str, str] | None = None, thick: float = 0.94
) -> list[dict[str, Any]]:
    """Make traces of boxes.

    Parameters
    ----------
    table
        One row a box: ``role``, a key of `theme.ROLES`; ``start``, ``width`` and ``row``, its
        place; ``label`` and ``aside``, unescaped, from which the ES module makes the text anew
        when the room changes; ``text`` and ``hover``, escaped; ``edge``, in pixels. Where the
        module is to zoom and search also ``name``, the full name where it is not the label, and
        ``id``; ``opacity`` where some boxes stand back.
    names
        Role -> escaped words in the legend, where they are not the role's own.
    thick
        Height of a box in rows. Left to plotly, a trace with boxes in every third row would have
        boxes that are three rows high.
    """
    names = names or {}
    of_role = dict(list(table.groupby("role", sort=False, observed=True)))
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
            "width": thick,
            "customdata": rows[_TEXTS.intersection(rows.columns, sort=False)].to_numpy().tolist(),
            **({"ids": rows["id"].tolist()} if "id" in rows else {}),
            "text": rows["text"].tolist(),
            "hovertext": rows["hover"].tolist(),
            "hoverinfo": "text",
            "marker": _marker(theme.ROLES[role], rows),
            "textposition": "inside",
            "insidetextanchor": "start",
            "textangle": 0,
            "constraintext": "none",
            "insidetextfont": {"size": theme.FONT_SIZE, "color": theme.INK.light},
        }
        for role in theme.ROLES
        if (rows := of_role.get(role)) is not None
    ]


def _marker(role: theme.Role, rows: pd.DataFrame) -> dict[str, Any]:
    edge = {"color": theme.EDGE.light, "width": rows["edge"].tolist()}
    marker: dict[str, Any] = {"color": role.fill.light, "line": edge}
    if "opacity" in rows:
        marker["opacity"] = rows["opacity"].tolist()
    if role.hatch is not None:
        marker["pattern"] = {
            "shape": role.pattern,
            "bgcolor": role.fill.light,
            "fgcolor": role.hatch.light,
            **{"fillmode": "replace", "solidity": 0.3, "size": 8},
        }
    return marker
