"""The toggle in a real Notebook 7: flip it, move the slider, keep results, reload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sweeps import synthetic_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

PANEL = ".protonlab-epilogue[data-live]"
DRAWN = f"{PANEL} .chart[data-drawn='first'] .scatterlayer path"
NOTEBOOK = """\
import protonlab
sweep = protonlab.load("made_up.json.gz")
panel = protonlab.EpilogueWidget(protonlab.EpilogueCase("upstream"), sweep=sweep)
panel"""


def text(page: Page, part: str) -> str:
    return page.locator(f"{PANEL} {part}").inner_text()


def wait_for_change(page: Page, part: str, before: str) -> str:
    page.wait_for_function(
        "([part, before]) => document.querySelector(part).innerText !== before",
        arg=[f"{PANEL} {part}", before],
    )
    return text(page, part)


def test_panel_in_notebook_7_and_its_picture_without_the_kernel(lab: Lab, tab: Tab) -> None:
    synthetic_sweep().save(lab.folder / "made_up.json.gz")
    lab.write("panel.ipynb", [NOTEBOOK, "1"])
    lab.open_in_notebook(tab, "panel.ipynb")
    page = tab.page
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
    page.wait_for_selector(DRAWN, state="attached")
    assert text(page, ".headline") == "Overlap on: 2,662 GB/s (off: 2,728 GB/s)"
    tab.screenshot("epilogue_notebook7")
    page.locator(f"{PANEL} [role=switch]").click()
    assert text(page, ".headline") == "Overlap off: 2,728 GB/s (on: 2,662 GB/s)"
    before = text(page, ".sentence")
    page.locator(f"{PANEL} input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    assert "2.99" not in before
    wait_for_change(page, ".sentence", before)
    assert page.locator(f"{PANEL} .number").inner_text() == "1"
    page.select_option(f"{PANEL} select[data-field=k]", "256")
    page.wait_for_function(
        "part => document.querySelector(part).innerText.includes('2,0')", arg=f"{PANEL} .headline"
    )
    page.get_by_role("button", name="Keep in variables").click()
    page.wait_for_selector(f"{PANEL} .status >> text=Kept in epilogue, epilogue_compiled.")
    page.get_by_role("button", name="Close").click()
    page.wait_for_selector(f"{PANEL} .status >> text=Closed.")
    assert page.locator(f"{PANEL} [role=switch]").is_disabled()
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_timeout(1000)
    lab.stop_kernels(tab)
    # Notebook 7 itself has two errors, about its settings and file browser.
    assert not [error for error in tab.errors if "protonlab" in error or "anywidget" in error]
    page.goto("about:blank")
    page.goto(f"{lab.url}/notebooks/panel.ipynb")
    picture = page.locator(".protonlab-epilogue svg[role=img]")
    picture.wait_for(state="visible")
    assert "upstream's kernel, 128 experts, 4 tokens each" in (picture.text_content() or "")
    assert page.locator(PANEL).count() == 0
