"""The gallery: each notebook is stored clean, keeps its promise short, and runs."""

from __future__ import annotations

import functools
import re
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from protonlab.report import read_notebook, run_notebook

GALLERY = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture(params=GALLERY, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return read_notebook(request.param)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_gallery_is_numbered_from_one() -> None:
    assert [path.name[:2] for path in GALLERY] == [f"{n:02}" for n in range(1, len(GALLERY) + 1)]
    assert GALLERY[0].name == "01_first_profile.ipynb"


def test_stored_without_outputs(notebook: Any) -> None:
    for cell in code_cells(notebook):
        assert cell.outputs == []
        assert cell.execution_count is None


def test_stored_as_nbformat_writes_it() -> None:
    for path in GALLERY:
        assert path.read_text() == nbformat.writes(read_notebook(path)) + "\n"


def test_opens_with_one_sentence_of_promise(notebook: Any) -> None:
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    heading, promise = first.source.split("\n\n")
    assert re.fullmatch(r"# .+", heading)
    assert re.fullmatch(r"[^.!?]+\.", promise)


def test_has_at_most_ten_code_cells(notebook: Any) -> None:
    assert len(code_cells(notebook)) <= 10


def test_code_is_explained(notebook: Any) -> None:
    assert sum(cell.cell_type == "markdown" for cell in notebook.cells) >= 3


@functools.cache
def executed(path: Path) -> tuple[Any, str | None, float]:
    """The notebook after a run, what went wrong, and the seconds it took."""
    notebook = read_notebook(path)
    start = time.monotonic()
    problem = run_notebook(notebook, folder=path.parent)
    return notebook, problem, time.monotonic() - start


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_runs_in_under_a_minute(path: Path) -> None:
    _, problem, seconds = executed(path)
    assert problem is None
    assert seconds < 60


def test_first_profile_shows_what_it_promises() -> None:
    notebook, _, _ = executed(GALLERY[0])
    magic = next(cell for cell in notebook.cells if cell.source.startswith("%%proton run1"))
    kinds = ["figure" if PLOTLY in o.data else "other" for o in magic.outputs if "data" in o]
    assert kinds.count("figure") == 2  # flame and bars
    shown = "\n".join(
        output.data["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
        if "data" in output
    )
    for wanted in ("_matmul [M=", "time/us", "gbyte/s", "tflop16/s", "n_tokens/s", "NVIDIA H200"):
        assert wanted in shown
    # The prose labels the recorded data with everything that its numbers depend on.
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)


def test_launch_hook_shows_why_excluding_saves_a_graph() -> None:
    notebook, _, _ = executed(GALLERY[1])
    (magic,) = [cell for cell in notebook.cells if cell.source.startswith("%%proton graphed")]
    texts = [
        output.get("text") or output.data["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
    ]
    assert magic.outputs[0].text == "attention_metadata was called 0 times\n"
    assert any("1 kernel filtered (10 launches" in text for text in texts)
    assert "{'add_kernel': (2, 1), 'attention_kernel': (2, 1)}" in texts
    assert any("FlameFigure: graph_exclude · time 1.29 ms · NVIDIA H200" in text for text in texts)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)
