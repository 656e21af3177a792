"""The page: contents, cells, what its profiles were measured with, and what it needs to draw."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files

import pygments
from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from protonlab import views
from protonlab.model.evidence import Evidence
from protonlab.page._outputs import outputs_of
from protonlab.page._prose import Contents
from protonlab.views.assets import asset

_OVER_PYTHON = ("%%proton", "%%px", "%%time", "%%capture", "%%prun")  # magics of Python's cells


@dataclass(frozen=True)
class Page:
    """What a page says besides its notebook.

    Parameters
    ----------
    title
        The notebook's first heading when it is empty.
    name
        Stands in where there is no heading either.
    show_code
        Whether cells show what was typed.
    evidence
        How what its figures show was measured.
    notes
        Sentences on what the page leaves out.
    data
        HTML of the embedded profiles; empty for none.
    is_stripped
        Whether profiles were left out that the notebook shows.
    """

    title: str = ""
    name: str = "protonlab"
    show_code: bool = True
    evidence: Sequence[Evidence] = ()
    notes: Sequence[str] = ()
    data: str = ""
    is_stripped: bool = False


def render(notebook: NotebookNode, page: Page | None = None) -> str:
    """Render an executed notebook.

    Parameters
    ----------
    notebook
        The notebook, nbformat 4, outputs included.
    page
        What the page says besides.

    Returns
    -------
    str
        A complete HTML document. It loads nothing: one copy of plotly.js is part of it when the
        notebook holds a figure.
    """
    page = page or Page()
    contents = Contents()
    cells = [_cell(cell, contents, page) for cell in notebook.cells]
    outputs = "".join(output for cell in cells for output in cell.outputs)
    environment = Environment(loader=PackageLoader("protonlab", "page"), autoescape=True)
    return environment.get_template("page.html.jinja").render(
        page=page,
        title=page.title or contents.title or page.name,
        contents=contents.listed,
        cells=[cell for cell in cells if cell.body or cell.outputs],
        style=Markup(_own("page.css") + _highlight_css() + asset("table.css")),
        script=_script(outputs),
        data=Markup(page.data),
        version=version("protonlab"),
    )


@dataclass(frozen=True)
class _Cell:
    """What the page shows of one cell."""

    body: Markup
    is_code: bool
    outputs: tuple[Markup, ...] = ()


def _cell(cell: NotebookNode, contents: Contents, page: Page) -> _Cell:
    if cell.cell_type == "code":
        body = _code(cell.source) if page.show_code and cell.source.strip() else Markup("")
        return _Cell(body, is_code=True, outputs=tuple(filter(None, outputs_of(cell))))
    if cell.cell_type == "markdown":
        return _Cell(contents.prose(cell), is_code=False)
    return _Cell(Markup("<pre>{}</pre>").format(cell.source), is_code=False)


def _code(source: str) -> Markup:
    """Colour a cell; to pygments the body of a cell magic would be plain text."""
    head, newline, body = source.partition("\n")
    parts = [head, body] if newline and head.startswith(_OVER_PYTHON) else [source]
    lexer = get_lexer_by_name("ipython3")
    tokens = itertools.chain.from_iterable(lexer.get_tokens(part) for part in parts)
    return Markup(pygments.format(tokens, HtmlFormatter()))


def _script(outputs: str) -> Markup:
    """Scripts that the outputs need, each once."""
    script = views.page_script(outputs) if '<div class="protonlab-figure">' in outputs else ""
    if 'class="protonlab-table"' in outputs:
        script += f"<script>{asset('table.js')}</script>"
    return Markup(script)


def _own(name: str) -> str:
    return (files("protonlab.page") / name).read_text("utf-8")


def _highlight_css() -> str:
    light, dark = (
        HtmlFormatter(style=style).get_style_defs(".highlight")  # type: ignore[no-untyped-call]
        for style in ("default", "github-dark")
    )
    plain = ".highlight, .highlight pre { background: none; }"
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{plain}"
