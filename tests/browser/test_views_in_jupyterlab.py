"""Flame, bars and table in a real JupyterLab: drawn, clicked, searched, copied, in both themes.

All tests share one notebook with one kernel; each leaves it as it was, and the last one closes it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

FLAME = ".jp-CodeCell:nth-of-type(1) .js-plotly-plot"
# The real positions of boxes, so that a test clicks where a person would.
BOX = """(label) => {
    const plot = document.querySelector(".js-plotly-plot");
    const paths = [...plot.querySelectorAll(".bars .point")];
    const found = paths.find((path) => path.textContent.startsWith(label));
    const area = found.querySelector("path").getBoundingClientRect();
    return [area.left + area.width / 2, area.top + area.height / 2];
}"""
STATE = """() => {
    const plot = document.querySelector(".js-plotly-plot");
    return plot?._fullLayout && {
        range: plot._fullLayout.xaxis.range,
        size: [plot._fullLayout.width, plot._fullLayout.height],
        boxes: plot.data.reduce((sum, trace) => sum + trace.x.length, 0),
        texts: [...plot.querySelectorAll(".bars text")].map((text) => text.textContent),
        hover: [...plot.querySelectorAll(".hoverlayer text")].map((text) => text.textContent),
        colors: plot.data.map((trace) => trace.marker.color),
    };
}"""


def state(tab: Tab) -> dict[str, Any]:
    found: dict[str, Any] = tab.page.wait_for_function(STATE).json_value()
    return found


def click(tab: Tab, label: str, *, twice: bool = False) -> None:
    x, y = tab.page.evaluate(BOX, label)
    tab.page.mouse.move(x, y)
    (tab.page.mouse.dblclick if twice else tab.page.mouse.click)(x, y)
    tab.settle()


@pytest.fixture(scope="module")
def opened(lab: Lab, browser: Browser, project: Path) -> Iterator[Tab]:
    """A notebook with the three views of a training step on an H200, run and drawn."""
    import rig

    context = browser.new_context(
        viewport={"width": 1200, "height": 1100},
        permissions=["clipboard-read", "clipboard-write"],
        reduced_motion="reduce",
    )
    tab = rig.Tab(context.new_page())
    path = str(project / "tests/profiles/gpt_train_3.9.0.hatchet")
    lab.write(
        "views.ipynb",
        [
            f"import protonlab\np = protonlab.load({path!r})\nfigure = protonlab.flame(p)\nfigure",
            "protonlab.bars(p, top=8)",
            "protonlab.table(p, top=12)",
        ],
    )
    lab.open(tab, "views.ipynb")
    lab.run_all(tab)
    tab.wait_for_figures(2)
    yield tab
    context.close()


@pytest.fixture
def notebook(opened: Tab) -> Iterator[Tab]:
    """The notebook that all tests share: it may not complain, and shows in the end what it did."""
    opened.settle()
    whole = state(opened)
    yield opened
    opened.eventually(lambda: state(opened)["texts"], whole["texts"])
    assert opened.errors == []


def run_cell(tab: Tab, index: int, source: str) -> None:
    """Give a cell another source and run it, in the kernel that knows the profile."""
    tab.page.evaluate(
        """([index, source]) => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = index;
            notebook.activeCell.model.sharedModel.setSource(source);
            return window.jupyterapp.commands.execute("notebook:run-cell");
        }""",
        [index, source],
    )


def test_views_are_drawn_by_our_module_in_both_themes(notebook: Tab) -> None:
    first = state(notebook)
    assert first["boxes"] == 98
    assert "train_step  100 %" in first["texts"]
    assert len([size for size in notebook.received if size > 1_000_000]) == 1  # plotly.js, once
    notebook.screenshot("views_light")
    notebook.set_theme("dark")
    repainted = "colors => String((%s)().colors) %s String(colors)"
    notebook.page.wait_for_function(repainted % (STATE, "!=="), arg=first["colors"])
    assert set(state(notebook)["colors"]).isdisjoint(first["colors"])
    notebook.screenshot("views_dark")
    notebook.set_theme("light")
    notebook.page.wait_for_function(repainted % (STATE, "==="), arg=first["colors"])


def test_click_zooms_and_double_click_goes_back(notebook: Tab) -> None:
    whole = state(notebook)
    click(notebook, "backward")
    zoomed = state(notebook)
    assert zoomed["range"][1] - zoomed["range"][0] == pytest.approx(
        0.561 * whole["range"][1], rel=0.01
    )
    assert zoomed["boxes"] < whole["boxes"]
    assert {"train_step  100 %", "backward  56.1 %"} <= set(zoomed["texts"])
    assert "forward  25.4 %" not in zoomed["texts"]
    # Boxes have more room, so more of them have a text now.
    assert len(zoomed["texts"]) > len(whole["texts"])
    notebook.screenshot("flame_zoomed", FLAME)
    click(notebook, "backward", twice=True)
    assert state(notebook)["range"] == whole["range"]
    assert state(notebook)["texts"] == whole["texts"]


def test_click_on_an_ancestor_goes_up(notebook: Tab) -> None:
    whole = state(notebook)
    click(notebook, "optimizer")
    assert state(notebook)["range"] != whole["range"]
    click(notebook, "all")
    assert state(notebook)["range"] == whole["range"]
    assert not notebook.errors


def test_keyboard_points_zooms_and_returns(notebook: Tab) -> None:
    whole = state(notebook)
    notebook.page.evaluate("document.querySelector('.js-plotly-plot').parentElement.focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        notebook.page.keyboard.press(key)
    notebook.page.wait_for_selector(".hoverlayer text >> text=/^backward/")
    notebook.screenshot("flame_hover")
    notebook.page.keyboard.press("Enter")
    assert state(notebook)["range"] != whole["range"]
    notebook.page.keyboard.press("Escape")
    assert state(notebook)["range"] == whole["range"]


def test_figure_follows_the_width_of_its_cell(notebook: Tab) -> None:
    wide = state(notebook)["size"][0]
    notebook.page.set_viewport_size({"width": 900, "height": 1100})
    notebook.eventually(lambda: state(notebook)["size"][0], pytest.approx(wide - 300, abs=20))
    notebook.page.set_viewport_size({"width": 1200, "height": 1100})
    notebook.eventually(lambda: state(notebook)["size"][0], wide)


def test_search_field_takes_what_is_typed(notebook: Tab) -> None:
    field = notebook.page.locator(f"{FLAME.split()[0]} .protonlab-figure input")
    field.click()
    notebook.page.keyboard.type("backward")  # in command mode b and a would insert cells
    assert field.input_value() == "backward"
    output = notebook.page.locator(f"{FLAME.split()[0]} .protonlab-figure output")
    assert output.text_content() == "matched 56.1 % of time"
    assert notebook.page.locator(".jp-CodeCell").count() == 3
    notebook.screenshot("flame_searched", FLAME)
    field.fill("")


def test_table_sorts_searches_copies_and_saves(notebook: Tab) -> None:
    page = notebook.page

    def column(index: int) -> list[str]:
        rows = ".protonlab-table tbody tr:not([hidden])"
        return page.locator(f"{rows} td:nth-child({index})").all_inner_texts()

    inside = """() => {
        const right = (name) => document.querySelector(name).getBoundingClientRect().right;
        return right(".protonlab-table") <= right(".jp-OutputArea");
    }"""
    assert page.evaluate(inside)  # no column is cut off
    assert page.locator(".jp-CodeCell:nth-of-type(3) .jp-OutputArea-output").count() == 1
    times = [float(text) for text in column(2)]
    assert times == sorted(times, reverse=True)
    head = page.locator(".protonlab-table th:nth-child(2)")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # on the button; in JupyterLab it would edit the cell
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in column(2)] == times[::-1]

    page.get_by_role("searchbox", name="Search kernels").click()
    page.keyboard.type("softmaxdd")  # "dd" deletes a cell in JupyterLab
    assert column(1) == []
    for _ in range(2):
        page.keyboard.press("Backspace")
    assert len(column(1)) == 2
    assert all("SoftMax" in text for text in column(1))
    assert page.locator(".protonlab-tools [role=status]").inner_text() == "2 of 12 kernels"
    assert page.locator(".jp-CodeCell").count() == 3

    tools = page.locator(".protonlab-tools")
    tools.get_by_role("button", name="Copy").click()
    page.wait_for_selector(".protonlab-tools [role=status] >> text=copied")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [row.split("\t")[1] for row in copied[1:]] == column(2)
    with page.expect_download() as started:
        tools.get_by_role("button", name="CSV").click()
    saved = Path(started.value.path()).read_text("utf-8")
    assert [row[1] for row in list(csv.reader(io.StringIO(saved)))[1:]] == column(2)
    notebook.screenshot("table_searched")


def test_shown_again_after_update_layout(notebook: Tab) -> None:
    run_cell(notebook, 1, "figure.update_layout(title_text='mine')")
    notebook.page.wait_for_selector(".gtitle >> text=mine")
    titles = notebook.page.locator(".js-plotly-plot .gtitle").all_text_contents()
    assert titles == ["time 48.7 ms · CUDA 0 (sm_90, 132 SMs)", "mine"]


def test_reopened_without_its_kernel_a_notebook_shows_pictures(notebook: Tab, lab: Lab) -> None:
    lab.save(notebook)
    lab.open(notebook, "views.ipynb")  # the kernel lives: figures come back
    notebook.wait_for_figures(2)
    lab.stop_kernels(notebook)
    lab.open(notebook, "views.ipynb")
    notebook.page.wait_for_selector(".protonlab-figure svg text >> text=train_step")
    pictures = notebook.page.locator(".protonlab-figure svg")
    notebook.eventually(pictures.count, 2)
    assert notebook.page.locator(".js-plotly-plot").count() == 0
    notebook.screenshot("views_without_kernel")
    assert not notebook.errors
    lab.run_all(notebook)
    notebook.wait_for_figures(2)


def test_zoom_asks_the_kernel_for_what_was_folded(opened: Tab) -> None:
    run_cell(opened, 0, "protonlab.flame(p, options=protonlab.FlameOptions(max_boxes=20))")
    opened.page.wait_for_function(f"({STATE})()?.boxes === 20")
    opened.settle()
    whole = state(opened)
    click(opened, "other (50")
    opened.page.wait_for_function(
        """() => !document.querySelector(".js-plotly-plot").data
            .flatMap((trace) => trace.customdata).flat().includes("other (50 frames)")"""
    )
    refined = state(opened)
    assert refined["range"][0] > whole["range"][0]
    assert refined["range"][1] < whole["range"][1]
    opened.screenshot("flame_refined", FLAME)
    click(opened, "forward")  # a box of the path, which the whole figure knows
    forward = state(opened)
    assert forward["range"][1] - forward["range"][0] == pytest.approx(
        0.254 * whole["range"][1], rel=0.01
    )
    assert not opened.errors
    opened.page.get_by_text("whole").first.click()
    opened.eventually(lambda: state(opened)["texts"], whole["texts"])
    assert not opened.errors
