"""What all figures share: a plotly figure that shows itself well wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Self

import plotly.graph_objects as go

from protonlab.front_end import TERMINAL, front_end
from protonlab.views.image import image_of, write
from protonlab.views.layout import leave_out
from protonlab.views.names import unmarked
from protonlab.views.page import PLOTLY_MIME, figure_html
from protonlab.views.sources import Sources
from protonlab.views.svg import drawing, in_html

SVG_MIME = "image/svg+xml"
_IN_A_TERMINAL = (
    "\nA terminal shows no figures: .show() opens a browser, .write_html('figure.html') and "
    ".write_image('figure.svg') keep it."
)


class ProfileFigure(go.Figure):  # type: ignore[misc]
    """A ``plotly.graph_objects.Figure`` that brings a form for each place where it may be shown.

    JupyterLab and Notebook with a living kernel: HTML with a picture and plotly's JSON, which
    protonlab's ES module draws. Opened without the kernel the picture stays. Elsewhere: plotly's
    JSON for VS Code, Colab and exporters, and the picture, SVG without script, for the rest: within
    HTML, and as an image for GitHub, which lets no SVG through within HTML. The profiles behind it
    travel along, for a report.
    """

    _sources = Sources()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, validate: bool = True, **kwargs: Any
    ) -> dict[str, Any]:
        """Every form of the figure that the front end at hand may choose from."""
        figure = json.loads(self.to_json(validate=validate))
        image = drawing(figure)
        static = in_html(image)
        here = front_end()
        text = f"{self!r}{_IN_A_TERMINAL if here is TERMINAL else ''}"
        others = {SVG_MIME: image, "text/plain": text, **self._sources.bundle()}
        if not here.is_live:
            figure["config"] = {"displaylogo": False}
            return {PLOTLY_MIME: figure, "text/html": static, **others}
        # anywidget is slow to import, and only a living notebook needs it.
        from protonlab.views.live import figure_server

        server = figure_server()
        if server.comm is None:  # closed by ipywidgets' close_all()
            server.open()
        if self.knows_more:
            server.remember(self, figure)
        # JupyterLab would prefer plotly's JSON to HTML and draw it without zoom and theme.
        return {"text/html": figure_html(figure, static), **others}

    def made_of(self, sources: Sources) -> Self:
        """Keep what the figure was made of."""
        self._sources = sources
        return self

    def without_notes(self, told: Collection[str]) -> Self:
        """Leave out sentences below the boxes that stand elsewhere on the page."""
        leave_out(self.layout, told)
        return self

    def __reduce__(self) -> Any:
        return (*super().__reduce__(), {"_sources": self._sources})

    @property
    def knows_more(self) -> bool:
        """Whether there is more than it shows, so that a living kernel keeps it at hand."""
        return type(self).refined is not ProfileFigure.refined

    def refined(self, focus: Any) -> ProfileFigure | None:
        """Return a figure with more of a part, for a page that zooms to it.

        Parameters
        ----------
        focus
            What the ES module says of the part: the frame of a flame graph's box, or the range
            of the horizontal axis, ``{"range": [low, high]}``.

        Returns
        -------
        ProfileFigure or None
            None when the figure shows all there is, as this class does.
        """
        return None

    def to_image(self, format: str | None = None, **options: Any) -> bytes:
        """Return the figure as an image: SVG without a browser, others through Kaleido.

        Parameters
        ----------
        format
            ``"svg"``, ``"png"``, ``"pdf"``, ``"jpg"`` or ``"webp"``; by default ``"png"``, as in
            plotly.
        options
            Plotly's ``width``, ``height``, ``scale``.
        """
        return image_of(self, format or "png", **options)

    def write_image(self, file: Any, format: str | None = None, **options: Any) -> None:
        """Write the figure into an image file.

        Parameters
        ----------
        file
            Path, or something with ``write``. ``.svg`` is drawn by protonlab and needs nothing;
            ``.png``, ``.pdf``, ``.jpg`` and ``.webp`` need Kaleido and a browser.
        format
            Instead of the path's suffix.
        options
            Plotly's ``width``, ``height``, ``scale``.

        Raises
        ------
        ProtonLabError
            If the image cannot be made or written; the message says what is missing.

        Examples
        --------
        >>> protonlab.flame(profile).write_image("flame.svg")  # doctest: +SKIP
        """
        write(self, file, format, **options)

    def _ipython_display_(self) -> None:
        """Leave the display to `_repr_mimebundle_`; plotly's own would pick a renderer."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title = unmarked(self.layout.title.text or "")
        boxes = sum(len(trace.x) for trace in self.data if trace.meta == "boxes")
        return f"<{type(self).__name__}: {title}, {boxes} boxes>"
