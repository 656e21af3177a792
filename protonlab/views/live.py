"""What a living kernel gives to a page: our ES module, and plotly.js when it is needed."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

import anywidget
from plotly.offline import get_plotlyjs

from protonlab.views.page import module_source


class FigureServer(anywidget.AnyWidget):
    """Brings figures of the page to life; nothing of it is ever displayed.

    A displayed widget would be gone, with an error in its place, once the notebook is opened
    without this kernel. So figures are HTML that holds a picture, and the ES module of this one
    widget draws over the pictures. plotly.js, 5 MB, travels packed and once a page. The module
    also shows the line of progress (`say`).
    """

    _esm = module_source()

    def __init__(self) -> None:
        super().__init__()
        self.on_msg(self._answer)

    def say(self, text: str) -> None:
        """Show one line in a corner of the page, or take it away; it is stored nowhere."""
        self.send({"kind": "progress", "text": text})

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if message == {"kind": "plotly.js"}:
            packed = gzip.compress(get_plotlyjs().encode("utf-8"), compresslevel=3)
            self.send({"kind": "plotly.js"}, buffers=[packed])


@cache
def figure_server() -> FigureServer:
    """Return this kernel's server; a page needs no second one."""
    return FigureServer()
