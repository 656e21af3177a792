"""Reading a notebook, and what it says about itself."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from protonlab.errors import ProtonLabError
from protonlab.model.sentences import some

_MOST_NAMES = 8
_WANTED = "Give an .ipynb that Jupyter saved; protonlab view opens profiles, with --flame as a page"


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook of any nbformat version as version 4."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ProtonLabError(f"there is no notebook {path}; {_beside(path)}") from error
    except OSError as error:
        raise ProtonLabError(f"cannot read the notebook {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProtonLabError(f"{path} is no notebook: it is not text. {_WANTED}") from error
    try:
        value = json.loads(text)
        if not isinstance(value, dict) or not {"cells", "worksheets"} & value.keys():
            raise ProtonLabError(f"{path} is no notebook: it is JSON without cells. {_WANTED}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of identifiers, which nbformat mends by itself
            node: NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
            nbformat.validate(node)
    except RecursionError as error:
        raise ProtonLabError(f"{path} is no notebook: it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ProtonLabError(
            f"{path} is no notebook: it is not JSON ({error}). {_WANTED}"
        ) from error
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise ProtonLabError(
            f"{path} is not a notebook that Jupyter would open: {str(error).splitlines()[0]}. "
            f"{_WANTED}"
        ) from error
    return node


def _beside(path: Path) -> str:
    """Name the notebooks that lie where a missing one was looked for."""
    if not path.parent.is_dir():
        return f"nor a folder {path.parent}"
    names = sorted(each.name for each in path.parent.glob("*.ipynb"))
    return f"in that folder lie {some(names, _MOST_NAMES)}" if names else "in that folder lies none"


def check_language(notebook: NotebookNode, path: Path) -> None:
    """Refuse to run a notebook of another language; one that names none is taken for Python."""
    spec, info = (notebook.metadata.get(key) or {} for key in ("kernelspec", "language_info"))
    language = str(spec.get("language") or info.get("name") or "python")
    if language.lower() not in ("python", "ipython"):
        raise ProtonLabError(
            f"{path} is a notebook for {language}, and protonlab runs Python; run it in Jupyter, "
            "save it, and export it without execute"
        )


def unexecuted(notebook: NotebookNode) -> str | None:
    """Say that a notebook has nothing to show: it was not run, or its outputs were cleared."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    if not code or any(cell.outputs or cell.execution_count is not None for cell in code):
        return None
    return "The notebook holds no output, so neither does the page; --execute runs it first"


def notebook_of(views: Iterable[Any], title: str) -> NotebookNode:
    """Make a notebook of views, figures and tables, under one heading and without code."""
    outputs = []
    for view in views:
        if hasattr(view, "_repr_mimebundle_"):
            bundle = view._repr_mimebundle_()
        else:
            bundle = {"text/html": view._repr_html_(), "text/plain": repr(view)}
        outputs.append(new_output("display_data", bundle))  # type: ignore[no-untyped-call]
    heading = re.sub(r"([^\w\s])", r"\\\1", title)  # a file's name is no markdown
    cells = [
        new_markdown_cell(f"# {heading}"),  # type: ignore[no-untyped-call]
        new_code_cell(outputs=outputs),  # type: ignore[no-untyped-call]
    ]
    notebook: NotebookNode = new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    return notebook
