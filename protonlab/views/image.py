"""A figure as an image: SVG drawn by us, other formats by Kaleido where it finds a browser."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io

from protonlab.errors import MissingDependencyError, ProtonLabError
from protonlab.views import theme
from protonlab.views.svg import drawing

BY_KALEIDO = ("png", "pdf", "jpg", "jpeg", "webp")
_FORMATS = ("svg", *BY_KALEIDO)


def image_of(figure: go.Figure, format: str, **options: Any) -> bytes:
    """Draw a figure.

    Parameters
    ----------
    figure
        The figure.
    format
        ``"svg"``, ``"png"``, ``"pdf"``, ``"jpg"`` or ``"webp"``.
    options
        Plotly's ``width``, ``height``, ``scale``; an SVG takes none of them.

    Raises
    ------
    ProtonLabError
        If the format is not known, or Kaleido could not draw it.
    MissingDependencyError
        If the format needs Kaleido and there is none.
    """
    if format not in _FORMATS:
        raise ProtonLabError(f"format={format!r}; use one of: {', '.join(_FORMATS)}")
    if format == "svg":
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise ProtonLabError(
                f"{', '.join(given)}: an SVG of protonlab's is {theme.NOMINAL_WIDTH} pixels wide "
                "and scales without loss; leave it out"
            )
        return drawing(json.loads(figure.to_json())).encode()
    if importlib.util.find_spec("kaleido") is None:
        raise MissingDependencyError(
            f"a {format} needs Kaleido, which is not installed: pip install kaleido. An SVG needs "
            "nothing: write_image('figure.svg')"
        )
    copied = go.Figure(figure)
    copied.update_layout(paper_bgcolor=theme.PAGE[0])  # dark text needs a light ground
    size = {"width": theme.NOMINAL_WIDTH, "height": copied.layout.height, "scale": 2}
    try:
        return bytes(plotly.io.to_image(copied, format=format, **(size | options)))
    except Exception as error:  # Kaleido's own are many, and some are plain RuntimeErrors
        first = str(error).strip().splitlines()
        raise ProtonLabError(
            f"Kaleido could not draw a {format}: {first[0] if first else type(error).__name__}. It "
            "needs Chrome or Chromium: install one, or run plotly_get_chrome, or set BROWSER_PATH. "
            "An SVG needs neither: write_image('figure.svg')"
        ) from error


def write(figure: go.Figure, file: Any, format: str | None, **options: Any) -> None:
    """Draw a figure into a file, whose name tells the format unless it is given."""
    is_path = not hasattr(file, "write")
    suffix = Path(file).suffix.removeprefix(".").lower() if is_path else ""
    if not (format or suffix):
        raise ProtonLabError(f"{file!r} names no format; end it in .svg or .png, or give format=")
    data = image_of(figure, format or suffix, **options)
    if not is_path:
        file.write(data)
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise ProtonLabError(f"cannot write the image {file}: {error.strerror}") from error
