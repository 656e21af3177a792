"""The documentation site, as Sphinx builds it: `make docs`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from pygments.lexer import bygroups, using
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Operator, Text
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

import protonlab
from protonlab.capture import OPTIONS, Option
from protonlab.cli import main

DOCS = Path(__file__).parent
PROJECT = DOCS.parent
project = "protonlab"
author = "the protonlab authors"
version = release = protonlab.__version__
copyright = f"{author}, MIT licence"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# ---- how pages look

html_theme = "furo"
html_title = "protonlab"
html_static_path = ["_static"]
html_css_files = ["protonlab.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "github-dark"
IPythonLexer = find_lexer_class_by_name("ipython3")


class CellLexer(IPythonLexer):
    """IPython's, but below ``%%proton`` stands Python and no unknown text."""

    tokens = {  # noqa: RUF012  (as pygments wants it)
        **IPythonLexer.tokens,
        "root": [
            (r"(?s)(%%proton)([^\n]*\n)(.*)", bygroups(Operator, Text, using(IPythonLexer))),
            *IPythonLexer.tokens["root"],
        ],
    }


# ---- pages that are notebooks

# What cells run in a shell is of this environment, too.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 3
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
# A widget lives in a kernel; a page has its picture, and loads nothing for it.
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
suppress_warnings = ["mystnb.unknown_mime_type"]  # plotly's JSON, which stands beside a picture
if tags.has("without_gallery"):  # noqa: F821  (Sphinx defines it)
    nb_execution_excludepatterns = ["tutorial/*"]  # the tests of the gallery have run it

# ---- the reference, from docstrings

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_rtype = False


def option_table() -> str:
    """Return the options of a recording, a row each."""
    head = "| option | what it does | for example |\n| --- | --- | --- |\n"
    return head + "\n".join(map(option_row, OPTIONS))


def option_row(option: Option) -> str:
    """Return a row of Markdown."""
    words = ", ".join(f"`{choice}`" for choice in option.choices)
    told = f"{option.help} One of {words}." if words else option.help
    return f"| `{option.name}` | {told.replace('|', chr(92) + '|')} | `{option.example}` |"


def command_help(
    command: click.Command, name: str, above: click.Context | None = None
) -> Iterator[str]:
    """Yield what ``--help`` prints, of a command and of those below it."""
    settings = command.context_settings | {"max_content_width": 80}
    with click.Context(command, parent=above, info_name=name, **settings) as context:
        yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
        for word, below in getattr(command, "commands", {}).items():
            yield from command_help(below, word, context)


myst_substitutions = {
    "options": option_table(),
    "commands": "\n".join(command_help(main, "protonlab")),
}

# ---- the gallery lies beside this folder, where the wheel takes it from

for copied in (DOCS / "tutorial").glob("*.ipynb"):
    copied.unlink()
for notebook in (PROJECT / "notebooks").glob("*.ipynb"):
    shutil.copy2(notebook, DOCS / "tutorial")  # with its time, by which Sphinx knows what is new

# ---- the site opens without a network

LOADS = re.compile(
    r'<(?:script|img|iframe|source)[^>]* src="https?:[^"]*"'
    r'|<link[^>]* rel="(?:stylesheet|preload|icon)"[^>]* href="https?:[^"]*"'
)


def hold_offline(app: Sphinx, problem: Exception | None) -> None:
    """Fail when a page would load anything from elsewhere."""
    for page in [] if problem else Path(app.outdir).rglob("*.html"):
        if found := LOADS.search(page.read_text("utf-8")):
            raise SphinxError(f"{page} loads {found[0]}")


def setup(app: Sphinx) -> None:
    """Have Sphinx call what is above."""
    app.add_lexer("ipython3", CellLexer)
    app.connect("build-finished", hold_offline)
