"""The notebooks of the gallery, and what they hold, for the tests that read or run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

GALLERY = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PLOTLY = "application/vnd.plotly.v1+json"


def gallery(name: str) -> Path:
    """Find a notebook by its number."""
    return next(path for path in GALLERY if path.name.startswith(name))


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def prose_of(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
