"""A notebook as one HTML page that needs no network and runs no script but ours.

Outputs come from wherever the notebook came from. Figures are taken as plotly's JSON and drawn by
our own script; every other HTML is reduced to text, links, images and tables.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import nh3
from jinja2 import Environment, PackageLoader
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from protonlab import views

# Shown as pictures; a browser runs no script inside an <img>, so SVG is safe there too.
_PICTURES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif", "image/webp")
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")
_SVG = re.compile(r"<svg\b.*</svg>", re.DOTALL)
_SHARE = re.compile(r"width: [\d.]+%")
_HEADING = re.compile(r"^#\s+(.+?)\s*#*$", re.MULTILINE)

_OUTPUT = Markup('<div class="output">{}</div>')


def render(notebook: NotebookNode, *, title: str | None = None) -> str:
    """Render an executed notebook.

    Parameters
    ----------
    notebook
        The notebook, nbformat 4, outputs included.
    title
        Title of the page; the notebook's first heading when it is not given.

    Returns
    -------
    str
        A complete HTML document. It loads nothing: one copy of plotly.js is part of it when the
        notebook holds a figure.
    """
    cells = [_cell(cell) for cell in notebook.cells if cell.source.strip()]
    outputs = "".join(output for cell in cells for output in cell.outputs)
    environment = Environment(loader=PackageLoader("protonlab", ""), autoescape=True)
    return environment.get_template("page.html.jinja").render(
        title=title or _first_heading(notebook) or "protonlab",
        cells=cells,
        style=Markup(_highlight_css() + _asset("table.css")),
        script=_script(outputs),
        version=version("protonlab"),
    )


@dataclass(frozen=True)
class _Cell:
    """What the page shows of one cell."""

    body: Markup
    is_code: bool
    outputs: tuple[Markup, ...] = ()


def _first_heading(notebook: NotebookNode) -> str | None:
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return next((found[1] for text in prose if (found := _HEADING.search(text))), None)


def _cell(cell: NotebookNode) -> _Cell:
    if cell.cell_type == "code":
        return _Cell(_code(cell.source), is_code=True, outputs=tuple(_outputs(cell)))
    text = cell.source
    for name, bundle in cell.get("attachments", {}).items():
        for kind, content in bundle.items():
            text = text.replace(f"attachment:{name}", f"data:{kind};base64,{content}")
    return _Cell(_prose(text), is_code=False)


def _prose(text: str) -> Markup:
    return _clean(MarkdownIt("commonmark").enable("table").render(text))


def _code(source: str) -> Markup:
    lexer = get_lexer_by_name("ipython3")
    return Markup(highlight(source, lexer, HtmlFormatter()))


def _outputs(cell: NotebookNode) -> Iterator[Markup]:
    streams: list[str] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            streams.append(output.text)
            continue
        if streams:
            yield _text("".join(streams))
            streams = []
        if output.output_type == "error":
            lines = output.traceback or [f"{output.ename}: {output.evalue}"]
            yield _text("\n".join(lines), "output error")
        else:
            yield _display(output.data)
    if streams:
        yield _text("".join(streams))


def _display(data: NotebookNode) -> Markup:
    """Show the richest form that is safe; the text twin is the last."""
    html = data.get("text/html", "")
    if figure := _figure(data):
        drawing = _SVG.search(html)
        still = _picture("image/svg+xml", drawing[0]) if drawing else ""
        return _OUTPUT.format(Markup(views.figure_html(figure, still)))
    for kind in _PICTURES:
        if kind in data:
            return _OUTPUT.format(_picture(kind, data[kind]))
    if (clean := _clean(html)).striptags() or "<img" in clean:
        return _OUTPUT.format(clean)
    if "text/markdown" in data:
        return _OUTPUT.format(_prose(data["text/markdown"]))
    return _text(data.get("text/plain", ""))


def _figure(data: NotebookNode) -> dict[str, Any] | None:
    """Find plotly's JSON; what only looks like a figure is shown as what else it is."""
    try:
        return views.figure_of(data)
    except (TypeError, ValueError):
        return None


def _picture(kind: str, content: str) -> Markup:
    if kind == "image/svg+xml":
        content = base64.b64encode(content.encode()).decode()
    return Markup('<img alt="" src="data:{};base64,{}">').format(kind, content.replace("\n", ""))


def _text(text: str, css: str = "output") -> Markup:
    plain = _OVERWRITTEN.sub("", _TERMINAL_CODES.sub("", text)).rstrip()
    return Markup('<pre class="{}">{}</pre>').format(css, escape(plain)) if plain else Markup("")


def _clean(html: str) -> Markup:
    """Take out scripts, styles, frames, forms, event handlers, and pictures from elsewhere.

    The marks of our own tables stay, and the page's own copy of their script finds them.
    """
    return Markup(
        nh3.clean(
            html,
            attributes=nh3.ALLOWED_ATTRIBUTES | {"i": {"style"}, "*": {"title"}},
            allowed_classes={
                "table": {"protonlab-table"},
                "td": {"share", "words"},
                "th": {"words"},
                "i": {"more", "less"},
                "p": {"protonlab-note"},
            },
            url_schemes={"http", "https", "mailto", "data"},
            attribute_filter=_keep_attribute,
        )
    )


def _keep_attribute(tag: str, attribute: str, value: str) -> str | None:
    """Keep links for a person to click, pictures that are in the page itself, and bars."""
    wanted = {
        "href": not value.startswith("data:"),
        "src": value.startswith("data:image/"),
        "style": _SHARE.fullmatch(value) is not None,
    }
    return value if wanted.get(attribute, True) else None


def _script(outputs: str) -> Markup:
    """Scripts that the outputs need, each once."""
    script = views.page_script() if 'class="protonlab-figure"' in outputs else ""
    if 'class="protonlab-table"' in outputs:
        script += f"<script>{_asset('table.js')}</script>"
    return Markup(script)


def _asset(name: str) -> str:
    return (files(views) / "static" / name).read_text("utf-8")


def _highlight_css() -> str:
    light, dark = (
        HtmlFormatter(style=style).get_style_defs(".highlight")  # type: ignore[no-untyped-call]
        for style in ("default", "github-dark")
    )
    plain = ".highlight, .highlight pre { background: none; }"
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{plain}"
