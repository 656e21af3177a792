"""What all figures share: a plotly figure that shows itself well wherever it is shown."""

from __future__ import annotations

import sys
from typing import Any

import plotly.graph_objects as go

from protonlab.views.names import unmarked
from protonlab.views.svg import picture

PLOTLY_MIME = "application/vnd.plotly.v1+json"
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


class ProfileFigure(go.Figure):  # type: ignore[misc]
    """A ``plotly.graph_objects.Figure`` that brings a picture for each place it may be shown.

    A notebook with a living kernel draws it with protonlab's own ES module. Stored notebooks hold
    plotly's JSON, which VS Code, Colab and exporters draw, an SVG without script for the rest, and
    one line of text.
    """

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, validate: bool = True, **kwargs: Any
    ) -> dict[str, Any]:
        """Every form of the figure that a front end may choose from."""
        figure = self.to_plotly_json()
        static = picture(figure)
        bundle = {
            PLOTLY_MIME: figure | {"config": {"displaylogo": False}},
            "text/html": static,
            "text/plain": repr(self),
        }
        if _front_end_listens():
            bundle |= self._view(static)
        return bundle

    def _ipython_display_(self) -> None:
        """Leave the display to `_repr_mimebundle_`; plotly's own would pick a renderer."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title = unmarked(self.layout.title.text or "")
        boxes = sum(len(trace.x) for trace in self.data if trace.meta == "boxes")
        return f"<{type(self).__name__}: {title}, {boxes} boxes>"

    def _view(self, static: str) -> dict[str, Any]:
        """Bundle of the widget; one widget a figure, so shown again it also updates what it was."""
        # anywidget is slow to import, and only a living notebook needs it.
        from protonlab.views.live import FigureView

        view = self.__dict__.get("_live")
        if view is None:
            view = self.__dict__["_live"] = FigureView()
        view.set_trait("picture", static)
        view.set_trait("figure", self.to_json())
        return {WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": view.model_id}}


def _front_end_listens() -> bool:
    """Whether a person's front end sent the running cell, and not a headless run.

    JupyterLab, Notebook and VS Code say which cell they execute. nbclient does not; it would store
    the widget's state beside the figure, and nbconvert would prefer a widget that it cannot draw.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    return "cellId" in kernel.get_parent("shell").get("metadata", {})
