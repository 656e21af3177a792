"""A flame graph in Jupyter Notebook 7, and the stored notebook as nbconvert's HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

if TYPE_CHECKING:
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

CELLS = [
    "import protonlab\nfrom protonlab import recorded\nsweep = recorded.moe_sweep()\n"
    "protonlab.flame(sweep)",
    "protonlab.bars(sweep)",
]


def test_drawn_zoomed_searched_and_stored(lab: Lab, tab: Tab, tmp_path: Path) -> None:
    lab.write("seven.ipynb", CELLS)
    lab.open_in_notebook(tab, "seven.ipynb")
    lab.run_all(tab)
    tab.wait_for_figures(2)
    assert len([size for size in tab.received if size > 1_000_000]) == 1  # plotly.js, once
    tab.page.fill(".protonlab-figure input", "expert=64")
    assert tab.page.locator(".protonlab-figure output").text_content() == "matched 48.9 % of time"
    box = tab.page.locator(".js-plotly-plot >> nth=0").get_by_text("per_expert=64").bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + 5, box["y"] + 5)
    tab.page.mouse.click(box["x"] + 5, box["y"] + 5)
    tab.page.locator("button >> text=whole").wait_for(state="visible")
    tab.screenshot("notebook7")

    lab.save(tab)
    stored = lab.folder / "seven.ipynb"
    assert stored.stat().st_size < 100_000  # no plotly.js
    assert len(json.loads(stored.read_text())["cells"][0]["outputs"]) == 1
    see_as_html(nbformat.read(stored, as_version=4), tab, tmp_path)


def test_headless_run_as_html(tab: Tab, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, kernel_name="python3").execute()
    see_as_html(notebook, tab, tmp_path)


def see_as_html(notebook: nbformat.NotebookNode, tab: Tab, folder: Path) -> None:
    """nbconvert's page shows the pictures, also without a network."""
    page, _ = HTMLExporter().from_notebook_node(notebook)
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    tab.page.context.set_offline(True)
    tab.page.context.route("http*://**", lambda route: route.abort())
    tab.page.goto(path.as_uri())
    pictures = tab.page.locator(".jp-OutputArea svg[role=img]")
    assert pictures.count() == 2
    assert pictures.first.locator("text", has_text="per_expert=64").is_visible()
    tab.screenshot("nbconvert")
