"""What a living kernel gives to a page: our ES module, plotly.js, and more of a figure."""

from __future__ import annotations

import gzip
import json
import uuid
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol
from weakref import WeakValueDictionary

import anywidget
from plotly.offline import get_plotlyjs

from protonlab.views.page import kernel_source

_REMEMBERED = 8  # figures; a notebook keeps none that a cell only displayed


class Refinable(Protocol):
    """A figure that knows more than it shows."""

    @property
    def knows_more(self) -> bool:
        """Whether there is more than it shows."""

    def refined(self, focus: Any) -> Refinable | None:
        """Return a figure with more of a part, or None when there is nothing more."""

    def to_json(self) -> str:
        """Write plotly's JSON."""


class FigureServer(anywidget.AnyWidget):
    """Brings figures of the page to life; nothing of it is ever displayed.

    A displayed widget would be gone, with an error in its place, once the notebook is opened
    without this kernel. So figures are HTML that holds a picture, and the ES module of this one
    widget draws over the pictures. plotly.js, 5 MB, travels packed and once a page. The module
    also asks for more of a figure where a person zooms in, and shows the line of progress (`say`).
    """

    _esm = kernel_source()

    def __init__(self) -> None:
        super().__init__()
        self._figures: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._recent: deque[Refinable] = deque(maxlen=_REMEMBERED)
        self.on_msg(self._answer)

    def say(self, text: str) -> None:
        """Show one line in a corner of the page, or take it away; it is stored nowhere."""
        self.send({"kind": "progress", "text": text})

    def remember(self, figure: Refinable, shown: dict[str, Any]) -> None:
        """Let a page ask for more of a figure: gives it an id in its plotly JSON, `shown`."""
        ours = shown["layout"].get("meta", {}).get("protonlab")
        if ours is None:  # a person took it away
            return
        ours["id"] = uuid.uuid4().hex
        self._figures[ours["id"]] = figure
        self._recent.append(figure)

    def refine(self, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return plotly's JSON of what a page asks for; None when there is nothing more."""
        figure = self._figures.get(asked["id"])
        refined = figure.refined(asked["focus"]) if figure is not None else None
        if figure is None or refined is None:
            return None
        shown: dict[str, Any] = json.loads(refined.to_json())
        if refined.knows_more:
            self.remember(refined, shown)
        self._recent.append(figure)  # a page may ask the same figure for one part after the other
        return shown

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if message["kind"] == "plotly.js":
            send_plotly(self)
        elif message["kind"] == "refine":
            answer = {"id": message["id"], "focus": message["focus"]}
            self.send({"kind": "refined", **answer, "figure": self.refine(message)})


def send_plotly(widget: anywidget.AnyWidget) -> None:
    """Answer the request for plotly.js of a widget's ES module."""
    packed = gzip.compress(get_plotlyjs().encode("utf-8"), compresslevel=3)
    widget.send({"kind": "plotly.js"}, buffers=[packed])


@cache
def figure_server() -> FigureServer:
    """Return this kernel's server; a page needs no second one."""
    return FigureServer()
