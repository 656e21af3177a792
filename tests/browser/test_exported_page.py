"""The exported page in a browser that has no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import plotly.graph_objects as go
import pytest
from cells import code, hostile_cells
from nbformat.v4 import new_notebook, new_output

import protonlab
from protonlab import recorded

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from rig import Lab, Tab

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network; its test fails when it complains or asks for anything."""
    import rig

    context = browser.new_context(offline=True)
    tab = rig.Tab(context.new_page())
    yield tab.page
    context.close()
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def export(folder: Path, *cells: Any) -> str:
    """Address of the page of a notebook made of these cells."""
    notebook = folder / "a.ipynb"
    nbformat.write(new_notebook(cells=list(cells)), notebook)
    options = protonlab.ReportOptions(allow_errors=True)
    return protonlab.export_report(notebook, options=options).as_uri()


def shown(value: Any) -> Any:
    """A cell that shows one of our figures or tables."""
    return code(new_output("display_data", value._repr_mimebundle_()))


def test_page_opens_offline_with_its_figures_alive(tmp_path: Path, page: Page) -> None:
    sweep = recorded.moe_sweep()
    figures = [protonlab.flame(sweep), protonlab.bars(sweep), protonlab.table(sweep)]
    page.goto(export(tmp_path, *map(shown, figures)))
    page.wait_for_function("document.querySelectorAll('.protonlab-figure .main-svg').length >= 2")
    first = page.locator(".protonlab-table tbody tr td:first-child").first
    slowest = first.text_content()
    by_time = page.locator(".protonlab-table th button").nth(1)
    by_time.click()
    by_time.click()
    assert first.text_content() != slowest
    color = "getComputedStyle(document.querySelector('.gtitle')).fill"
    light = page.evaluate(color)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => {color} !== light", arg=light)


def test_figures_of_others_are_drawn_too(tmp_path: Path, page: Page) -> None:
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).to_plotly_json()
    output = new_output("display_data", {"application/vnd.plotly.v1+json": figure})
    page.goto(export(tmp_path, code(output)))
    page.wait_for_function("document.querySelector('.protonlab-figure .scatterlayer path')")


def test_no_script_of_a_notebook_runs(tmp_path: Path, page: Page) -> None:
    page.goto(export(tmp_path, *hostile_cells(), shown(protonlab.bars(recorded.moe_sweep()))))
    page.wait_for_function("document.querySelector('.protonlab-figure .main-svg')")
    assert page.evaluate("typeof pwned") == "undefined"


def test_message_of_an_error_is_seen_to_its_end_on_a_narrow_page(
    tmp_path: Path, page: Page
) -> None:
    message = "ValueError: " + "no kernel matched; " * 20 + "/".join(["seen"] * 60)
    page.set_viewport_size({"width": 700, "height": 800})
    error = new_output("error", ename="ValueError", evalue="", traceback=["---", message])
    page.goto(export(tmp_path, code(error)))
    shown = page.locator("pre.error")
    assert shown.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert shown.evaluate("each => each.getClientRects()[0].right <= innerWidth")


def test_notebook_that_jupyterlab_saved_becomes_a_report(
    lab: Lab, tab: Tab, page: Page, tmp_path: Path
) -> None:
    """Without running it again: its outputs were made for a living notebook."""
    source = "import protonlab\nfrom protonlab import recorded\nprotonlab.{}(recorded.moe_sweep())"
    lab.write("shared.ipynb", [source.format(view) for view in ("flame", "table")])
    lab.open(tab, "shared.ipynb")
    lab.run_all(tab)
    lab.save(tab)
    report = protonlab.export_report(lab.folder / "shared.ipynb", tmp_path / "shared.html")
    held = protonlab.load(report)
    assert isinstance(held, dict)
    assert list(held) == ["moe_sweep"]
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelector('.protonlab-figure .main-svg')")
    assert page.locator(".still").count() == 1
    assert page.locator(".protonlab-table th button").count() > 3
