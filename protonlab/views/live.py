"""The figure in a notebook whose kernel lives: an anywidget around our ES module."""

from __future__ import annotations

import gzip
from typing import Any

import anywidget
import traitlets
from plotly.offline import get_plotlyjs

from protonlab.views.page import module_source


class FigureView(anywidget.AnyWidget):
    """Shows one figure, and hands plotly.js to a page that asks for it.

    plotly.js is 5 MB: it travels once a page, packed, instead of once a figure.
    """

    _esm = module_source()
    figure = traitlets.Unicode().tag(sync=True)  # plotly's JSON
    picture = traitlets.Unicode().tag(sync=True)  # what is seen until plotly.js has arrived

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._answer)

    def _answer(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if message == {"kind": "plotly.js"}:
            packed = gzip.compress(get_plotlyjs().encode("utf-8"), compresslevel=3)
            self.send({"kind": "plotly.js"}, buffers=[packed])
