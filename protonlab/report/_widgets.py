"""Static twins of figure widgets: plotly's JSON out of the widget state that a notebook stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode, from_dict

from protonlab.page import PLOTLY_MIME

_VIEW = "application/vnd.jupyter.widget-view+json"
_STATE = "application/vnd.jupyter.widget-state+json"
# numpy's names -> plotly.js's; it knows no others.
_DTYPES = {
    **{"int8": "i1", "int16": "i2", "int32": "i4", "uint8": "u1", "uint16": "u2", "uint32": "u4"},
    **{"float32": "f4", "float64": "f8"},
}


def with_figures(notebook: NotebookNode) -> NotebookNode:
    """Give outputs of plotly's `FigureWidget` the figure that the widget last showed.

    Outputs that bring a form of their own, and widgets of others, stay as they are: a page has no
    kernel behind it, so their text twin is shown.
    """
    widgets = notebook.metadata.get("widgets", {})
    models = widgets.get(_STATE, {}).get("state", {}) if isinstance(widgets, Mapping) else {}
    if not isinstance(models, Mapping) or not models:
        return notebook
    result: NotebookNode = from_dict(notebook)  # type: ignore[no-untyped-call]  # a copy
    for cell in result.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if _VIEW in data and PLOTLY_MIME not in data and "text/html" not in data:
                figure = _figure(models.get(data[_VIEW].get("model_id")))
                if figure is not None:
                    data[PLOTLY_MIME] = from_dict(figure)  # type: ignore[no-untyped-call]
    return result


def _figure(model: Any) -> dict[str, Any] | None:
    """Read the state of one widget; None when it is no figure, or damaged."""
    try:
        state = model["state"]
        figure = {"data": state["_widget_data"], "layout": state["_widget_layout"]}
        for buffer in model.get("buffers") or []:
            (top, *path, _) = buffer["path"]
            if top in ("_widget_data", "_widget_layout"):
                _fill(figure["data" if top == "_widget_data" else "layout"], path, buffer["data"])
    except (KeyError, TypeError, IndexError, ValueError):
        return None
    return figure if isinstance(figure["data"], list) else None


def _fill(value: Any, path: list[Any], data: str) -> None:
    """Put an array, which is stored apart, to where it belongs, as plotly.js reads it."""
    for key in path[:-1]:
        value = value[key]
    array = value[path[-1]]
    shape = {"shape": ", ".join(map(str, array["shape"]))} if len(array["shape"]) > 1 else {}
    value[path[-1]] = {"dtype": _DTYPES[array["dtype"]], "bdata": data, **shape}
