"""Charts of epilogue overlap in pages of several widths: no text is cut, none lies on another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sweeps import synthetic_comparison

from protonlab import EpilogueWidget, recorded
from protonlab.epilogue import EpilogueCase
from protonlab.views import overlap_by_tokens, pairs

if TYPE_CHECKING:
    from rig import Tab

pytestmark = pytest.mark.browser

# Of each figure: texts that leave the page, and pairs of texts that share some of it.
COLLISIONS = """() => [...document.querySelectorAll(".protonlab-figure")].flatMap((host) => {
    const texts = [".gtitle", ".annotation-text", ".xtick text", ".ytick text", ".legendtext",
        ".xtitle", ".ytitle"].flatMap((kind) => [...host.querySelectorAll(kind)]);
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const cut = boxes.filter(([, box]) => box.left < 0 || box.right > innerWidth);
    const on = (one, other) => one.left < other.right - 2 && other.left < one.right - 2
        && one.top < other.bottom - 3 && other.top < one.bottom - 3;
    const pairs = boxes.flatMap(([text, one], at) =>
        boxes.slice(at + 1).filter(([, other]) => on(one, other)).map(([other]) => [text, other]));
    return [...cut.map(([text]) => text), ...pairs];
})"""


def test_texts_of_charts_are_all_there(tab: Tab, tmp_path: Path) -> None:
    sweep = recorded.epilogue_sweep()
    panel = EpilogueWidget(source="replay", sweep=sweep)
    lines = {
        "published, other conditions, flattened": 2650.0,
        "published, other conditions, not flattened": 2800.0,
        "copy, measured": 4250.0,
        "copy, measured on another day": 4260.0,
    }
    few = sweep.comparison(EpilogueCase()).first(2)
    tab.show(
        tmp_path / "page.html",
        panel.figure(),
        pairs(few, lines=lines, title=str(EpilogueCase())),
        pairs(synthetic_comparison(2.0e-4, 2.1e-4)),
        overlap_by_tokens(sweep, k=5760, show="difference"),
        overlap_by_tokens(sweep, k=256),
    )
    tab.page.wait_for_function("document.querySelectorAll('.js-plotly-plot .gtitle').length === 5")
    for width in (1200, 800, 500, 360):
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.wait_for_function("window.innerWidth === " + str(width))
        tab.settle()
        tab.screenshot(f"charts_{width}", tab.page.locator("body"))
        assert (width, tab.page.evaluate(COLLISIONS)) == (width, [])
    panel.close()
