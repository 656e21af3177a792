"""A flame graph as a plotly figure: boxes, their texts and hover boxes, and the legend."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from protonlab.model.frames import IntArray
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.coloring import coloring
from protonlab.views.figure import ProfileFigure
from protonlab.views.fold import Boxes
from protonlab.views.hover import caption, hover_text, share
from protonlab.views.layout import empty_layout, layout_of, legend_places, title_of, untold
from protonlab.views.names import escaped, fitted, shortened, unmarked
from protonlab.views.refinement import refined
from protonlab.views.search import Found
from protonlab.views.tree import ProfileTree, Tree

_LONGEST_LABEL, _LONGEST_NAME = 200, 400
_STANDS_BACK = 0.3  # opacity of boxes that a search did not find


@dataclass(frozen=True)
class Look:
    """How a tree is drawn.

    Parameters
    ----------
    title
        Result of `title_of`.
    color
        As `flame` takes it.
    root
        As in `FlameOptions`.
    widest_first
        Whether the widest sibling stands on the left.
    limit
        Most boxes.
    found
        What was searched for.
    notes
        Sentences below the boxes, not escaped.
    """

    title: str
    color: str
    root: str
    widest_first: bool
    limit: int
    found: Found | None = None
    notes: tuple[str, ...] = ()


class FlameFigure(ProfileFigure):
    """A flame graph as a plotly figure; a click zooms, and the field above it searches."""

    _source: tuple[Tree, Boxes, Look] | None = None  # a copy of the figure has none

    def without_notes(self, told: Collection[str]) -> Self:
        """Leave out sentences below the boxes, also where a part is zoomed to."""
        if self._source is not None:
            tree, boxes, look = self._source
            self._source = tree, boxes, replace(look, notes=untold(look.notes, told))
        return super().without_notes(told)

    @property
    def knows_more(self) -> bool:
        """Whether frames were folded."""
        return self._source is not None and not bool(self._source[1].own.all())

    def refined(self, focus: Any) -> FlameFigure | None:
        """Give boxes to what is folded in one box.

        Parameters
        ----------
        focus
            Id of the box: the row of its frame in the tree, or ``~row`` for what is folded below.

        Returns
        -------
        FlameFigure or None
            The path to the box and what is in it, each where it was; None when nothing is folded.
        """
        if self._source is None or not isinstance(focus, int):
            return None
        tree, boxes, look = self._source
        part = refined(tree, boxes, focus, limit=look.limit, widest_first=look.widest_first)
        return None if part is None else drawn(*part, look)


def empty(title: list[str], why: str) -> FlameFigure:
    """Figure with a sentence where there is nothing to draw; `title` as `title_of` takes it."""
    return FlameFigure(layout=empty_layout("flame", title_of(*title), why))


def drawn(tree: Tree, boxes: Boxes, look: Look) -> FlameFigure:
    """Draw boxes of a tree."""
    table, names = _table(tree, boxes, look)
    traces = box_traces(table, names)
    for trace in traces:  # plotly checks an array of objects at once, a list item by item
        for texts in ("customdata", "hovertext", "text"):
            trace[texts] = np.array(trace[texts], dtype=object)
    shown = [unmarked(trace["name"]) for trace in traces if trace["showlegend"]]
    legend = legend_places(shown)[1] if needs_legend(table) else 0
    rows = max(int(boxes.depth.max()) + 1, theme.LOWEST)
    below, above = rows - 0.5, -0.5
    layout = layout_of("flame", look.title, rows, legend=legend, notes=look.notes) | {
        "bargap": 0.06,
        "xaxis": {"visible": False, "range": [0, float(boxes.width[0])]},
        "yaxis": {
            "visible": False,
            "range": [below, above] if look.root == "top" else [above, below],
            "fixedrange": True,
        },
    }
    ours = {"what": caption(tree.metric)}
    if look.found is not None:
        ours |= {"search": look.found.pattern, "said": look.found.said(ours["what"])}
    layout["meta"]["protonlab"] |= ours
    figure = FlameFigure(data=traces, layout=layout)
    figure._source = (tree, boxes, look)
    return figure


def _table(tree: Tree, boxes: Boxes, look: Look) -> tuple[pd.DataFrame, dict[str, str]]:
    """Describe each box as `box_traces` needs it; also words of roles for the legend."""
    own = boxes.own
    nodes = boxes.node[own]
    colors = coloring(tree, look.color, nodes)
    labels, names = _labels(tree, nodes)
    total = float(boxes.width[0])
    parts = [share(width, total) for width in boxes.width.tolist()]
    shares = _shares(tree, boxes, parts)
    lines = tree.lines(nodes)
    extras = [
        "" if extra in line else extra
        for extra, line in zip(colors.lines or [""] * len(nodes), lines, strict=True)
    ]
    places = _places(tree, nodes)
    pairs = list(zip(labels, names, strict=True))
    heads = {pair: hover_text(*pair) for pair in set(pairs)}
    hovers = [
        "<br>".join(filter(None, (heads[pair], line, extra, part, place)))
        for pair, line, extra, part, place in zip(
            pairs, lines, extras, shares, places, strict=False
        )
    ]
    title = escaped(caption(tree.metric))
    for count, width, part in zip(
        boxes.folded[~own].tolist(), boxes.width[~own].tolist(), shares[len(nodes) :], strict=True
    ):
        label = f"other ({counted(count, 'frame')})"
        labels.append(label)
        names.append(label)
        value = f"{title}: <b>{escaped(tree.metric.format(width))}</b>"
        hovers.append(hover_text(label, label, value, part))
    table = pd.DataFrame(
        {
            "role": [*colors.roles, *["other"] * int((~own).sum())],
            "label": [shortened(label, _LONGEST_LABEL) for label in labels],
            "aside": parts,
            "name": [
                "" if name == label else shortened(name, _LONGEST_NAME)
                for label, name in zip(labels, names, strict=True)
            ],
            "hover": hovers,
            "id": boxes.ids,
            "start": boxes.start,
            "width": boxes.width,
            "row": boxes.depth,
        }
    )
    if look.found is not None:
        hit = look.found.frames[tree.frame[boxes.node]] & own
        table["opacity"] = np.where(hit, 1.0, _STANDS_BACK)
    return _fitted(table), dict(colors.names)


def _fitted(table: pd.DataFrame) -> pd.DataFrame:
    """Add text and edge of each box for a front end that cannot measure and fit them itself."""
    room = theme.NOMINAL_WIDTH - theme.MARGIN["l"] - theme.MARGIN["r"]
    pixels = table["width"] / table["width"].iloc[0] * room
    texts = [
        escaped(fitted(label, aside, room - theme.TEXT_PADDING))
        for label, aside, room in zip(table["label"], table["aside"], pixels, strict=True)
    ]
    return table.assign(text=texts, edge=(pixels > theme.NARROW).astype(int))


def _labels(tree: Tree, nodes: IntArray) -> tuple[list[str], list[str]]:
    """Label and full name of each node; the root has the profile's name."""
    frames = tree.frames.iloc[tree.frame[nodes]]
    labels, names = frames["label"].astype(str).tolist(), frames["name"].astype(str).tolist()
    if len(nodes) and nodes[0] == 0:
        labels[0] = names[0] = tree.title
    return labels, names


def _shares(tree: Tree, boxes: Boxes, parts: list[str]) -> list[str]:
    """Share of the whole, `parts`, and of the parent, for each box."""
    own = boxes.own
    parents = np.where(own, tree.parent[boxes.node], boxes.node)
    width_of = dict(zip(boxes.node[own].tolist(), boxes.width[own].tolist(), strict=True))
    texts = []
    for parent, width, part in zip(parents.tolist(), boxes.width.tolist(), parts, strict=True):
        text = f"{part} of total"
        if parent > 0:
            text += f", {share(width, width_of[parent])} of parent"
        texts.append(text)
    return texts


def _places(tree: Tree, nodes: IntArray) -> list[str]:
    """Device of each node, and what the filter made of it, where it is one frame."""
    if not isinstance(tree, ProfileTree):
        return [""] * len(nodes)
    frames = tree.frames.iloc[nodes]
    texts = []
    for kind, device, hook in zip(
        frames["device_type"], frames["device_id"], frames["hook"], strict=True
    ):
        about = "" if pd.isna(hook) else f", {theme.HOOK_WORDS[hook]}"
        texts.append("" if pd.isna(kind) else f"{escaped(str(kind))} device {device}{about}")
    return texts
