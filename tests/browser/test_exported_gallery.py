"""The pages of the gallery in a browser without a network: every figure answers a click."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from cells import code
from nbformat.v4 import new_notebook, new_output

import protonlab
from protonlab import recorded, views

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from rig import Tab

pytestmark = pytest.mark.browser

GALLERY = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
COUNT_CLICKS = """() => {
    window.clicks = 0;
    const plots = document.querySelectorAll("div.protonlab-figure .js-plotly-plot");
    for (const plot of plots) plot.on("plotly_click", () => (window.clicks += 1));
    return plots.length;
}"""
# Scroll to a figure's largest mark, of a flame graph the largest that is not its root: its middle.
MARK = """(number) => {
    const host = document.querySelectorAll("div.protonlab-figure")[number];
    const isFlame = host.protonlab.own.view === "flame";
    const marks = [...host.querySelectorAll(".barlayer .point path, .scatterlayer .point")]
        .map((mark) => [mark, mark.getBoundingClientRect()])
        .filter(([, box]) => box.width > 2 && box.height > 2)
        .sort(([, a], [, b]) => b.width * b.height - a.width * a.height);
    const narrower = isFlame && marks.find(([, box]) => box.width < marks[0][1].width * 0.98);
    const [mark, box] = narrower || marks[0];
    scrollBy(0, box.y - 400);
    const { x, y, width, height } = mark.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2, zooms: Boolean(narrower) };
}"""


@pytest.fixture
def offline(browser: Browser) -> Iterator[Tab]:
    import rig

    context = browser.new_context(
        offline=True,
        viewport={"width": 1200, "height": 900},
        reduced_motion="reduce",  # a page that glides on moves what is about to be clicked
    )
    yield rig.Tab(context.new_page())
    context.close()


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_figure_answers_a_click(
    path: Path, executed: Callable[[Path], Any], tmp_path: Path, offline: Tab
) -> None:
    page = offline.page
    page.goto(protonlab.export_report(executed(path).path, tmp_path / "page.html").as_uri())
    page.wait_for_function(
        """() => [...document.querySelectorAll("div.protonlab-figure")]
            .every((host) => host.querySelector(".main-svg .point"))"""
    )
    zooms = 0
    offline.settle()
    for number in range(page.evaluate(COUNT_CLICKS)):
        offline.settle()
        mark = page.evaluate(MARK, number)
        page.mouse.move(mark["x"] - 3, mark["y"])
        page.mouse.click(mark["x"], mark["y"])
        page.wait_for_function("count => window.clicks === count", arg=number + 1)
        zooms += mark["zooms"]
    assert page.locator("button:has-text('↑ whole'):visible").count() == zooms
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        offline.settle()
    assert offline.errors == []
    foreign = [url for url in offline.requests if not re.match("(file|data|blob):", url)]
    assert foreign == []


def test_paper_gets_the_pictures_in_light_colours(tmp_path: Path, offline: Tab) -> None:
    sweep = recorded.moe_sweep()
    views_shown = [protonlab.flame(sweep), protonlab.bars(sweep), protonlab.table(sweep)]
    outputs = [new_output("display_data", each._repr_mimebundle_()) for each in views_shown]
    nbformat.write(new_notebook(cells=[code(*outputs)]), tmp_path / "a.ipynb")
    page = offline.page
    page.emulate_media(color_scheme="dark")
    page.goto(protonlab.export_report(tmp_path / "a.ipynb").as_uri())
    page.wait_for_function("document.querySelectorAll('.protonlab-figure .main-svg').length >= 2")
    assert page.locator(".still:visible").count() == 0
    page.emulate_media(color_scheme="dark", media="print")
    assert page.locator(".still img:visible").count() == 2
    assert page.locator(".protonlab-figure:visible").count() == 0
    assert page.locator(".protonlab-tools:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.wait_for_function(
        "[...document.images].every((image) => image.naturalWidth > 500 && image.complete)"
    )


def test_nbconvert_shows_figures_of_headless_and_of_living_runs(
    tmp_path: Path, offline: Tab
) -> None:
    exporter = pytest.importorskip("nbconvert").HTMLExporter()
    figure = protonlab.flame(recorded.moe_sweep())
    picture = views.picture_of(figure)
    html = views.figure_html(json.loads(figure.to_json()), picture)
    live = {"text/html": html, "text/plain": "x"}
    outputs = [
        new_output("display_data", figure._repr_mimebundle_()),
        new_output("display_data", live),
    ]
    text, _ = exporter.from_notebook_node(new_notebook(cells=[code(*outputs)]))
    (tmp_path / "a.html").write_text(text)
    offline.page.goto((tmp_path / "a.html").as_uri())
    drawn = offline.page.locator(".jp-OutputArea-output svg[role=img]")
    assert drawn.count() == 2
    for number in range(2):
        box = drawn.nth(number).bounding_box()
        assert box is not None
        assert box["width"] > 500
