"""The panel of the toggle beside a kernel that is busy or gone, and the notebook's keys in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sweeps import synthetic_sweep

if TYPE_CHECKING:
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

PANEL = ".protonlab-epilogue[data-live]"
# A cell that runs does not keep every kernel from answering a panel; what answers messages does.
SHOW = """\
import pathlib, time
import protonlab

def keep_busy(*_):
    while not pathlib.Path("go_on").exists():
        time.sleep(0.02)

sweep = protonlab.load("waiting.json.gz")
panel = protonlab.EpilogueWidget(protonlab.EpilogueCase("upstream"), sweep=sweep)
panel.on_msg(keep_busy)
panel"""
RUN = "window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')"
SESSION = "window.jupyterapp.shell.currentWidget.context.sessionContext"
STATE = """(panel) => {
    const host = document.querySelector(panel);
    const controls = [...host.querySelectorAll("button, input, select")];
    return {
        headline: host.querySelector(".headline").textContent,
        sentence: host.querySelector(".sentence").textContent,
        dim: [".headline", ".chart", ".notes"].map((part) =>
            Number(getComputedStyle(host.querySelector(part)).opacity)),
        live: controls.filter((control) => !control.disabled).length,
        go: host.querySelector(".go").textContent,
        number: host.querySelector(".number").textContent,
    };
}"""


def test_panel_beside_a_busy_kernel_and_one_that_is_gone(lab: Lab, tab: Tab) -> None:
    synthetic_sweep().save(lab.folder / "waiting.json.gz")
    lab.write("waiting.ipynb", [SHOW, "1"])
    lab.open(tab, "waiting.ipynb")
    page = tab.page
    page.evaluate(RUN)
    page.wait_for_selector(f"{PANEL} .chart[data-drawn]", state="attached")
    before = page.evaluate(STATE, PANEL)
    assert before["dim"] == [1, 1, 1]

    page.get_by_role("button", name="Keep in variables").click()
    page.wait_for_selector(f"{PANEL} .kept >> text=/Kept in epilogue/")
    slider = page.locator(f"{PANEL} input[type=range]")
    slider.press("ArrowRight")
    page.wait_for_selector(f"{PANEL} .sentence >> text=Waiting for the kernel …")
    waiting = page.evaluate(STATE, PANEL)
    assert (waiting["number"], waiting["dim"]) == ("16", [0.35, 0.35, 0.35])
    page.locator(f"{PANEL} [role=switch]").click()  # the page's own affair
    flipped = page.evaluate(STATE, PANEL)
    assert flipped["headline"].startswith("Overlap off: ")
    assert flipped["sentence"] == "Waiting for the kernel …"
    tab.screenshot("epilogue_waiting")
    (lab.folder / "go_on").touch()
    page.wait_for_selector(f"{PANEL} .sentence >> text=/With overlap off, a call takes/")
    after = page.evaluate(STATE, PANEL)
    assert after["headline"] != flipped["headline"]
    assert (after["number"], after["dim"]) == ("16", [1, 1, 1])

    page.wait_for_function("window.jupyterapp.shell.currentWidget.context.model.dirty")
    slider.press("Control+s")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert "protonlab-epilogue" in (lab.folder / "waiting.ipynb").read_text()
    cells = page.locator(".jp-Cell").count()
    for key in ("x", "b", "d", "d"):  # in command mode these would cut, add and delete a cell
        slider.press(key)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.locator(".jp-Cell").count() == cells

    page.evaluate(f"void {SESSION}.session.kernel.restart()")
    page.wait_for_selector(f"{PANEL} .notice >> text=The kernel is gone. Run the cell again.")
    gone = page.evaluate(STATE, PANEL)
    assert (gone["live"], gone["go"], gone["dim"]) == (0, "Start", [1, 1, 1])
    tab.screenshot("epilogue_gone")
    page.wait_for_function(f"{SESSION}.session.kernel.status === 'idle'")
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    page.evaluate(RUN)
    page.wait_for_selector(f"{PANEL} .chart[data-drawn='first']", state="attached")
    assert page.evaluate(STATE, PANEL)["live"] == before["live"]
    page.evaluate(f"void {SESSION}.shutdown()")
    page.wait_for_selector(f"{PANEL} .notice >> text=The kernel is gone. Run the cell again.")
    assert page.evaluate(STATE, PANEL)["live"] == 0
