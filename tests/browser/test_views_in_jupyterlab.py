"""Flame, bars and table in a real JupyterLab: drawn, clicked, in both themes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

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
    return {
        range: plot._fullLayout.xaxis.range,
        size: [plot._fullLayout.width, plot._fullLayout.height],
        boxes: plot.data.reduce((sum, trace) => sum + trace.x.length, 0),
        texts: [...plot.querySelectorAll(".bars text")].map((text) => text.textContent),
        hover: [...plot.querySelectorAll(".hoverlayer text")].map((text) => text.textContent),
        colors: plot.data.map((trace) => trace.marker.color),
    };
}"""


def state(tab: Tab) -> dict[str, Any]:
    found: dict[str, Any] = tab.page.evaluate(STATE)
    return found


def click(tab: Tab, label: str, *, twice: bool = False) -> None:
    x, y = tab.page.evaluate(BOX, label)
    tab.page.mouse.move(x, y)
    tab.page.wait_for_timeout(100)
    (tab.page.mouse.dblclick if twice else tab.page.mouse.click)(x, y)
    tab.page.wait_for_timeout(400)


@pytest.fixture
def notebook(lab: Lab, tab: Tab, project: Path) -> Tab:
    """A notebook with the three views of a training step on an H200, run and drawn."""
    lab.write(
        "views.ipynb",
        [
            "import protonlab\n"
            f"p = protonlab.load({str(project / 'tests/profiles/gpt_train_3.9.0.hatchet')!r})\n"
            "figure = protonlab.flame(p)\nfigure",
            "protonlab.bars(p, top=8)",
            "protonlab.table(p, top=12)",
        ],
    )
    lab.open(tab, "views.ipynb")
    lab.run_all(tab)
    tab.wait_for_figures(2)
    return tab


def test_views_are_drawn_by_our_module_in_both_themes(notebook: Tab) -> None:
    first = state(notebook)
    assert first["boxes"] == 98
    assert "train_step  100 %" in first["texts"]
    assert len([size for size in notebook.received if size > 1_000_000]) == 1  # plotly.js, once
    notebook.screenshot("views_light")
    notebook.set_theme("dark")
    for _ in range(50):  # a repaint takes its time on a busy machine
        dark = state(notebook)
        if dark["colors"] != first["colors"]:
            break
        notebook.page.wait_for_timeout(200)
    assert set(dark["colors"]).isdisjoint(first["colors"])
    notebook.screenshot("views_dark")
    notebook.set_theme("light")
    assert state(notebook)["colors"] == first["colors"]
    assert not notebook.errors


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
    notebook.page.wait_for_timeout(200)
    assert state(notebook)["hover"][0].startswith("backward")
    notebook.screenshot("flame_hover")
    notebook.page.keyboard.press("Enter")
    notebook.page.wait_for_timeout(300)
    assert state(notebook)["range"] != whole["range"]
    notebook.page.keyboard.press("Escape")
    notebook.page.wait_for_timeout(300)
    assert state(notebook)["range"] == whole["range"]


def test_figure_follows_the_width_of_its_cell(notebook: Tab) -> None:
    wide = state(notebook)["size"][0]
    notebook.page.set_viewport_size({"width": 900, "height": 1100})
    notebook.page.wait_for_timeout(500)
    assert state(notebook)["size"][0] == pytest.approx(wide - 300, abs=20)


def test_shown_again_after_update_layout(notebook: Tab) -> None:
    notebook.page.evaluate(
        """() => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = 1;
            notebook.activeCell.model.sharedModel.setSource(
                "figure.update_layout(title_text='mine')");
        }"""
    )
    notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
    notebook.page.wait_for_selector(".gtitle >> text=mine")
    titles = notebook.page.locator(".js-plotly-plot .gtitle").all_text_contents()
    assert titles == ["time 48.7 ms · CUDA 0 (sm_90, 132 SMs)", "mine"]


def test_reopened_without_its_kernel_a_notebook_shows_pictures(notebook: Tab, lab: Lab) -> None:
    notebook.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    notebook.page.wait_for_timeout(1000)
    lab.open(notebook, "views.ipynb")  # the kernel lives: figures come back
    notebook.wait_for_figures(2)
    lab.stop_kernels(notebook)
    lab.open(notebook, "views.ipynb")
    notebook.page.wait_for_selector(".protonlab-figure svg text >> text=train_step")
    notebook.page.wait_for_timeout(1000)
    assert notebook.page.locator(".js-plotly-plot").count() == 0
    assert notebook.page.locator(".protonlab-figure svg").count() == 2
    notebook.screenshot("views_without_kernel")
    assert not notebook.errors
    lab.run_all(notebook)
    notebook.wait_for_figures(2)


def test_table_sorts_and_searches(notebook: Tab) -> None:
    def column(index: int) -> list[str]:
        cells = f".protonlab-table tbody tr:not([hidden]) td:nth-child({index})"
        return notebook.page.locator(cells).all_inner_texts()

    inside = """() => {
        const right = (name) => document.querySelector(name).getBoundingClientRect().right;
        return right(".protonlab-table") <= right(".jp-OutputArea");
    }"""
    assert notebook.page.evaluate(inside)  # no column is cut off
    counts = [int(text) for text in column(4)]
    notebook.page.click(".protonlab-table th:nth-child(4) button")
    assert [int(text) for text in column(4)] == sorted(counts, reverse=True)
    notebook.page.click(".protonlab-table th:nth-child(4) button")
    assert [int(text) for text in column(4)] == sorted(counts)
    notebook.page.fill(".jp-CodeCell:nth-of-type(3) input[type=search]", "SOFTMAX")
    assert len(column(1)) == 2
    assert all("SoftMax" in text for text in column(1))
    notebook.screenshot("table_searched")


def test_search_field_takes_what_is_typed(notebook: Tab) -> None:
    field = notebook.page.locator(f"{FLAME.split()[0]} .protonlab-figure input")
    field.click()
    notebook.page.keyboard.type("backward")  # in command mode b and a would insert cells
    assert field.input_value() == "backward"
    output = notebook.page.locator(f"{FLAME.split()[0]} .protonlab-figure output")
    assert output.text_content() == "matched 56.1 % of time"
    assert notebook.page.locator(".jp-CodeCell").count() == 3
    notebook.screenshot("flame_searched", FLAME)


def test_zoom_asks_the_kernel_for_what_was_folded(lab: Lab, tab: Tab, project: Path) -> None:
    lab.write(
        "folded.ipynb",
        [
            "import protonlab\n"
            f"p = protonlab.load({str(project / 'tests/profiles/gpt_train_3.9.0.hatchet')!r})\n"
            "protonlab.flame(p, max_boxes=20)",
        ],
    )
    lab.open(tab, "folded.ipynb")
    lab.run_all(tab)
    tab.wait_for_figures(1)
    whole = state(tab)
    assert whole["boxes"] == 20
    click(tab, "other (50")
    tab.page.wait_for_function(
        "document.querySelector('.js-plotly-plot').data.flatMap((t) => t.x).length > 10"
    )
    opened = state(tab)
    assert opened["range"][0] > whole["range"][0]
    assert opened["range"][1] < whole["range"][1]
    labels = "document.querySelector('.js-plotly-plot').data.flatMap((t) => t.customdata)"
    assert "other (50 frames)" not in str(tab.page.evaluate(labels))
    tab.screenshot("flame_refined", FLAME)
    click(tab, "forward")  # a box of the path, which the whole figure knows
    tab.page.wait_for_timeout(600)
    forward = state(tab)
    assert forward["range"][1] - forward["range"][0] == pytest.approx(
        0.254 * whole["range"][1], rel=0.01
    )
    assert not tab.errors
    tab.page.get_by_text("whole").click()
    tab.page.wait_for_timeout(400)
    assert state(tab)["texts"] == whole["texts"]
    assert not tab.errors
