"""Parameters of a notebook, by papermill's convention: a cell tagged ``parameters`` has defaults.

The values go into a cell tagged ``injected-parameters`` behind it. papermill itself would bring an
HTTP client, retries and cloud storage for this one cell, and passes over misspelt names.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from protonlab.errors import ProtonLabError

_DEFAULTS, _INJECTED = "parameters", "injected-parameters"


def read_assignments(assignments: tuple[str, ...]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` as a shell's user types it.

    A value is a Python literal (``3``, ``1e-3``, ``[1, 2]``, ``None``), ``true`` or ``false``, or
    else text as it is.

    Raises
    ------
    ProtonLabError
        If one is no assignment.

    Examples
    --------
    >>> read_assignments(("tokens=64", "name=run1"))
    {'tokens': 64, 'name': 'run1'}
    """
    result: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ProtonLabError(
                f"-p {assignment}: a parameter is NAME=VALUE, for example -p tokens=64"
            )
        result[name.strip()] = _value(value)
    return result


def inject(notebook: NotebookNode, parameters: Mapping[str, Any]) -> str | None:
    """Put parameters into a notebook, in place.

    Returns
    -------
    str or None
        What a reader should know: that no cell is tagged, so that they stand at the top.

    Raises
    ------
    ProtonLabError
        If a name is none of Python's or not among the notebook's, or a value cannot be written.
    """
    if not parameters:
        return None
    lines = [f"{_name(name)} = {_literal(name, value)}" for name, value in parameters.items()]
    tagged = _tagged(notebook, _DEFAULTS)
    if tagged is not None:
        _check_names(parameters, notebook.cells[tagged].source)
    cell = new_code_cell("# Parameters\n" + "\n".join(lines))  # type: ignore[no-untyped-call]
    cell.metadata["tags"] = [_INJECTED]
    older = _tagged(notebook, _INJECTED)
    if older is not None:
        notebook.cells[older] = cell
    else:
        notebook.cells.insert(0 if tagged is None else tagged + 1, cell)
    if tagged is None and older is None:
        return (
            "No cell is tagged 'parameters', so the parameters stand above the first cell; tag the "
            "cell with their defaults to put them behind it"
        )
    return None


def _tagged(notebook: NotebookNode, tag: str) -> int | None:
    return next(
        (
            index
            for index, cell in enumerate(notebook.cells)
            if cell.cell_type == "code" and tag in cell.metadata.get("tags", [])
        ),
        None,
    )


def _check_names(parameters: Mapping[str, Any], defaults: str) -> None:
    try:
        plain = TransformerManager().transform_cell(defaults)  # type: ignore[no-untyped-call]
        tree = ast.parse(plain)
    except SyntaxError:
        return  # the run will say so
    known = sorted(
        {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    )
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise ProtonLabError(
            f"the notebook has no parameter {', '.join(unknown)}; its cell tagged 'parameters' "
            f"assigns {', '.join(known) or 'nothing'}"
        )


def _name(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ProtonLabError(
            f"{name!r} is not the name of a variable; a parameter is NAME=VALUE, for example "
            "tokens=64"
        )
    return name


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _literal(name: str, value: Any) -> str:
    """Write a value as Python; what does not read back equal is refused."""
    text = repr(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float({text!r})"
    try:
        if ast.literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError):
        pass
    raise ProtonLabError(
        f"parameter {name} is a {type(value).__name__}; give numbers, text, True, False, None, or "
        "lists, tuples and dicts of them"
    )
