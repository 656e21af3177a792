"""The gallery: each notebook is stored clean, keeps its promise short, and runs."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from gallery_notebooks import GALLERY, PLOTLY, code_cells, outputs_of

import protonlab
from protonlab.formats.embedded import PROFILES_MIME
from protonlab.report import read_notebook

Run = Callable[[Path], Any]


@pytest.fixture(params=GALLERY, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return read_notebook(request.param)


def test_gallery_is_numbered_from_one() -> None:
    numbers = [path.name.partition("_")[0] for path in GALLERY]
    assert all(re.fullmatch(r"0[1-9]", number) for number in numbers)
    assert len({*numbers}) == len(numbers)
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


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_runs_in_under_a_minute(path: Path, executed: Run) -> None:
    ran = executed(path)
    assert ran.problem is None
    assert ran.processor_s < 60  # on a busy machine it waits for a processor, too


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_leaves_nothing_behind(path: Path, executed: Run) -> None:
    executed(path)
    assert sorted(path.parent.iterdir()) == GALLERY


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_its_page_is_small_and_holds_its_profiles(
    path: Path, executed: Run, tmp_path: Path
) -> None:
    ran = executed(path)
    figures = sum(PLOTLY in output.get("data", {}) for output in outputs_of(ran.notebook))
    page = protonlab.export_report(ran.path, tmp_path / "page.html")
    text = page.read_text()
    assert page.stat().st_size <= 7_000_000
    main = text.partition("<main>")[2].partition("</main>")[0]
    assert main.count('<div class="protonlab-figure">') == figures
    assert main.count('<div class="still">') == figures  # on paper
    assert len(re.findall(r"plotly\.js v\d", text)) == min(figures, 1)
    held = protonlab.load(page)
    assert isinstance(held, dict)
    carried = [
        output for output in outputs_of(ran.notebook) if PROFILES_MIME in output.get("data", {})
    ]
    assert bool(held) == bool(carried)
    measured = text.partition('id="measured"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", measured, re.DOTALL)
    assert len(rows) == len(set(rows))
    for name, profile in held.items():  # a run of ranks, and a comparison of two, are one row
        what = html.escape(re.sub(r", rank \d+$|_\d+$", "", name))
        assert any(what in row and profile.where in row for row in rows), name


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_nbconvert_shows_every_output(path: Path, executed: Run) -> None:
    notebook = executed(path).notebook
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    text, _ = exporter.from_notebook_node(notebook)
    shown = re.findall(r'<div class="jp-OutputArea-child.*?>(.*?)</div>\s*</div>', text, re.DOTALL)
    outputs = list(outputs_of(notebook))
    assert len(shown) == len(outputs)
    figures = sum(PLOTLY in output.get("data", {}) for output in outputs)
    assert len(re.findall(r'<svg [^>]*role="img"', text)) >= figures
    for output, area in zip(outputs, shown, strict=True):
        words = re.sub(
            r"<[^>]*>", "", re.sub("<(script|style).*?</\\1>", "", area, flags=re.DOTALL)
        )
        assert words.strip(), output
