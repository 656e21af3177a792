"""The toggle in a real JupyterLab and a real Notebook 7: flip it, move the slider, stop, reload."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import nbformat
import pytest
from sweeps import synthetic_sweep

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

PANEL = ".protonlab-epilogue[data-live]"
DRAWN = f"{PANEL} .chart[data-drawn='first'] .scatterlayer path"
# Flip the toggle: the headline before, and at once behind it, when no kernel can have answered.
FLIP = """(panel) => {
    const [toggle, headline] = ["[role=switch]", ".headline"]
        .map((part) => document.querySelector(panel).querySelector(part));
    const before = headline.textContent;
    toggle.click();
    return [before, headline.textContent];
}"""
# Contrast of each curve with the page, those of both settings, from the lowest layer to the top.
CURVES = """(panel) => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const page = document.querySelector(".jp-Notebook, .jp-NotebookPanel");
    const behind = numbers(getComputedStyle(page).backgroundColor);
    const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => {
        const part = colour[at] / 255;
        return sum + weight * (part > 0.04045 ? ((part + 0.055) / 1.055) ** 2.4 : part / 12.92);
    }, 0.05);
    return [...document.querySelectorAll(`${panel} .scatterlayer .trace`)].map((trace) => {
        const line = trace.querySelector(".js-line");
        if (!line || !parseFloat(getComputedStyle(line).strokeWidth)) return 0;
        const opacity = Number(getComputedStyle(trace).opacity);
        const stroke = numbers(getComputedStyle(line).stroke);
        const seen = behind.map((part, at) => part + opacity * (stroke[at] - part));
        const [low, high] = [light(seen), light(behind)].sort((one, other) => one - other);
        return high / low;
    });
}"""
# How many pairs title and sentence speak of, in each of some frames.
MOMENTS = """async (panel) => {
    const host = document.querySelector(panel);
    const pairs = (part) => host.querySelector(part).textContent.match(/(\\d+) pairs/)?.[1];
    const seen = [];
    while (new Set(seen.map(String)).size < 5) {
        await new Promise(requestAnimationFrame);
        seen.push([pairs(".gtitle"), pairs(".sentence")]);
    }
    return seen;
}"""
# A replay that does not end by itself before it is stopped.
SLOWLY = "from protonlab.widget import _replay\n_replay._REPLAY_S = 600"
NOTEBOOK = """\
import protonlab
sweep = protonlab.load("made_up.json.gz")
panel = protonlab.EpilogueWidget(protonlab.EpilogueCase("upstream"), sweep=sweep)
panel"""


def text(page: Page, part: str) -> str:
    return page.locator(f"{PANEL} {part}").inner_text()


def wait_for_change(page: Page, part: str, before: str) -> str:
    """Wait for the kernel's answer; a busy one is waited for in so many words."""
    page.wait_for_function(
        """([part, before]) =>
            ![before, "Waiting for the kernel …"].includes(document.querySelector(part).innerText)
        """,
        arg=[f"{PANEL} {part}", before],
    )
    return text(page, part)


def curves_can_be_seen(page: Page) -> None:
    """Also the one that is not in front; no band lies on top of one."""
    *below, behind, front = page.evaluate(CURVES, PANEL)
    assert not any(below)
    assert 3 <= behind < front


def test_gallery_notebook_in_jupyterlab(lab: Lab, tab: Tab) -> None:
    from rig import PROJECT

    name = "05_epilogue_overlap.ipynb"
    notebook = nbformat.read(PROJECT / "notebooks" / name, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(SLOWLY))
    nbformat.write(notebook, lab.folder / name)
    lab.open(tab, name)
    lab.run_all(tab)
    page = tab.page
    page.evaluate("document.querySelector('.protonlab-epilogue').scrollIntoView()")
    page.wait_for_selector(DRAWN, state="attached")
    assert text(page, ".notes p >> nth=-1").startswith("Numbers: replay of what was recorded on")
    on = text(page, ".headline"), text(page, ".sentence")
    assert on[0].startswith("Overlap on: ")
    tab.screenshot("epilogue_light")
    curves_can_be_seen(page)

    before, at_once = page.evaluate(FLIP, PANEL)
    assert before.startswith("Overlap on: ")
    assert at_once.startswith("Overlap off: ")
    page.wait_for_selector(DRAWN.replace("first", "second"), state="attached")
    off = text(page, ".headline"), text(page, ".sentence")
    assert off[0].startswith("Overlap off: ")
    assert off[1] != on[1]
    page.locator(f"{PANEL} [role=switch]").focus()
    page.keyboard.press("Space")
    assert text(page, ".headline") == on[0]
    assert page.locator(f"{PANEL} [role=switch]").get_attribute("aria-checked") == "true"

    cells = page.locator(".jp-CodeCell").count()
    verdict = text(page, ".notes p >> nth=0")
    assert verdict.startswith("Verdict: ")
    slider = page.locator(f"{PANEL} input[type=range]")
    slider.focus()
    assert slider.get_attribute("aria-valuetext") == "4"
    page.keyboard.press("ArrowRight")
    assert wait_for_change(page, ".sentence", on[1]) != off[1]
    assert text(page, ".notes p >> nth=0") != verdict
    assert slider.get_attribute("aria-valuetext") != "4"
    page.keyboard.press("x")  # in a notebook's command mode this would cut the cell
    assert page.locator(".jp-CodeCell").count() == cells

    moved = text(page, ".sentence")
    slider.press("Home")
    wait_for_change(page, ".sentence", moved)
    assert slider.get_attribute("aria-valuetext") == "1"

    page.locator(f"{PANEL} .go").click()
    page.wait_for_selector(f"{PANEL} .status >> text=/Replaying: pair \\d+ of/")
    assert text(page, ".go") == "Stop"
    assert all(title == said for title, said in page.evaluate(MOMENTS, PANEL))
    page.locator(f"{PANEL} .go").click()
    page.wait_for_selector(f"{PANEL} .status >> text=Stopped.")
    assert text(page, ".go") == "Start"

    tab.set_theme("dark")
    axis = page.locator(f"{PANEL} .chart .xtitle")
    muted = "rgb(163, 171, 181)"  # text of a dark page
    tab.eventually(lambda: axis.evaluate("node => node.style.fill"), muted)
    page.locator(f"{PANEL} summary").click()
    page.wait_for_selector(f"{PANEL} .protonlab-compiled")
    page.locator(f"{PANEL} button >> text=Show both PTX").click()
    both = page.locator(f"{PANEL} .protonlab-ptx")
    assert both.evaluate("box => box.scrollWidth <= box.clientWidth")  # beside each other, in view
    tab.screenshot("epilogue_dark")
    curves_can_be_seen(page)
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    page.set_viewport_size({"width": 500, "height": 1100})
    table = page.locator(f"{PANEL} .wide")
    fits = "box => box.scrollWidth <= box.clientWidth && box.clientWidth < 400"
    tab.eventually(lambda: table.evaluate(fits), True)  # all columns are in view
    tab.screenshot("epilogue_narrow")
    page.set_viewport_size({"width": 1200, "height": 1100})
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    assert len([size for size in tab.received if size > 1_000_000]) == 1  # plotly.js, once
    assert not tab.errors

    lab.save(tab)
    stored = json.loads((lab.folder / name).read_text())
    first = next(cell for cell in stored["cells"] if cell["cell_type"] == "code")
    (kinds,) = (set(output["data"]) for output in first["outputs"] if "data" in output)
    data = {kind for kind in kinds if kind.startswith("application/vnd.protonlab.")}
    assert kinds - data == {"text/html", "text/plain"}  # no widget, which would be gone
    assert len(json.dumps(first)) < 100_000  # it did not grow, and holds no plotly.js
    tab.set_theme("light")


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
    page.wait_for_selector(f"{PANEL} .kept >> text=Kept in epilogue, epilogue_compiled: 24 pairs.")
    page.get_by_role("button", name="Close").click()
    page.wait_for_selector(f"{PANEL} .notice >> text=Closed.")
    assert page.locator(f"{PANEL} [role=switch]").is_disabled()
    lab.save(tab)
    lab.stop_kernels(tab)
    # Notebook 7 itself has two errors, about its settings and file browser.
    assert not [error for error in tab.errors if "protonlab" in error or "anywidget" in error]
    page.goto("about:blank")
    page.goto(f"{lab.url}/notebooks/panel.ipynb")
    picture = page.locator(".protonlab-epilogue svg[role=img]")
    picture.wait_for(state="visible")
    assert "upstream's kernel, 128 experts, 4 tokens each" in (picture.text_content() or "")
    assert page.locator(PANEL).count() == 0
