"""A timeline in an exported page and in JupyterLab: zoomed, moved, finer, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cells import code
from nbformat.v4 import new_notebook, new_output

from protonlab import recorded
from protonlab.display import trace_views
from protonlab.formats import load
from protonlab.model import Profile, Trace
from protonlab.page import render
from protonlab.views import roofline, timeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

STATE = """() => {
    const plot = document.querySelector(".js-plotly-plot");
    const shown = plot.data.filter((trace) => trace.visible !== false && trace.type === "bar");
    return {
        range: plot._fullLayout.xaxis.range,
        boxes: shown.reduce((sum, trace) => sum + trace.x.filter((x) => x !== null).length, 0),
        labels: shown.flatMap((trace) => trace.customdata.map((names) => names[0])),
        texts: [...plot.querySelectorAll(".bars text")].map((text) => text.textContent),
        hover: [...plot.querySelectorAll(".hoverlayer text")].map((text) => text.textContent),
        legend: [...plot.querySelectorAll(".legendtext")].map((text) => text.textContent),
    };
}"""
# The promise of the newest drawing.
DRAWN = "document.querySelector('.protonlab-figure').protonlab.drawn"
# Where a time stands on the screen, in the middle of a row of boxes.
PLACE = """([time, row]) => {
    const plot = document.querySelector(".js-plotly-plot");
    const { xaxis, yaxis } = plot._fullLayout;
    const area = plot.querySelector(".nsewdrag").getBoundingClientRect();
    return [area.left + xaxis.d2p(time), area.top + yaxis.d2p(row)];
}"""


def state(tab: Tab) -> dict[str, Any]:
    found: dict[str, Any] = tab.page.evaluate(STATE)
    return found


def drag(tab: Tab, start: float, end: float, *, key: str = "") -> None:
    """Drag from one time to another in the second row, as a person does."""
    tab.page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    low, high = (tab.page.evaluate(PLACE, [time, 1]) for time in (start, end))
    tab.page.evaluate(f"() => {{ window.before = {DRAWN}; }}")
    if key:
        tab.page.keyboard.down(key)
    tab.page.mouse.move(*low)
    tab.page.mouse.down()
    tab.page.mouse.move((low[0] + high[0]) / 2, low[1], steps=4)
    tab.page.mouse.move(high[0], low[1], steps=4)
    tab.page.mouse.up()
    if key:
        tab.page.keyboard.up(key)
    rest(tab)


def rest(tab: Tab) -> None:
    """Wait until what has moved since `window.before` is drawn as finely as may be."""
    tab.page.wait_for_function(f"{DRAWN} !== window.before")
    tab.settle()


def double_click(tab: Tab, x: float, y: float) -> list[float]:
    """Double-click and return the range; a busy page may take two slow clicks for two clicks."""
    tab.page.mouse.dblclick(x, y)
    found: list[float] = state(tab)["range"]
    return found


@pytest.fixture(scope="module")
def opened(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, project: Path
) -> Iterator[Tab]:
    """A page with the timeline of three steps of a GPT on an H200, and no network."""
    import rig

    context = browser.new_context(viewport={"width": 1200, "height": 1100})
    tab = rig.Tab(context.new_page())
    trace = load(project / "tests/profiles/gpt_trace_3.9.0.chrome_trace.gz")
    assert isinstance(trace, Trace)
    tab.show(tmp_path_factory.mktemp("timeline") / "page.html", timeline(trace))
    tab.wait_for_figures(1)
    yield tab
    context.close()


@pytest.fixture
def page(opened: Tab) -> Iterator[Tab]:
    """The page, with the whole trace in view before and after."""
    whole = state(opened)
    yield opened
    opened.page.emulate_media(color_scheme="light")
    opened.page.evaluate("document.querySelector('.js-plotly-plot').parentElement.focus()")
    opened.page.keyboard.press("Escape")
    opened.settle()
    assert state(opened)["range"] == whole["range"]
    assert not opened.errors


def test_page_shows_the_overview_then_each_launch(page: Tab) -> None:
    whole = state(page)
    assert {"step  43.1 ms", "step  7.86 ms"} <= set(whole["texts"])
    assert any(label.endswith(" events") for label in whole["labels"])
    assert whole["legend"][0] == "kernel"
    page.screenshot("timeline_light")
    drag(page, 43.5, 46)
    near = state(page)
    assert near["range"] == pytest.approx([43.5, 46], abs=0.1)
    assert near["boxes"] == 618  # all that there is: 600 launches and 18 scopes
    assert not any(label.endswith(" events") for label in near["labels"])
    assert any(text.startswith("layer_0") for text in near["texts"])
    assert near["legend"] == whole["legend"]
    page.screenshot("timeline_zoomed_light")
    page.page.emulate_media(color_scheme="dark")
    page.settle()
    assert state(page)["range"] == near["range"]  # another theme is no reason to zoom out
    page.screenshot("timeline_zoomed_dark")
    x, y = page.page.evaluate(PLACE, [44.5, 1])
    page.eventually(lambda: double_click(page, x, y), whole["range"])
    page.settle()
    assert state(page)["boxes"] == whole["boxes"]
    page.screenshot("timeline_dark")
    assert not page.errors
    assert all(address.startswith(("file:", "blob:", "data:")) for address in page.requests)


def test_page_pans_with_shift_and_stays_within_the_trace(page: Tab) -> None:
    end = state(page)["range"][1]
    drag(page, 43.5, 46)
    low, high = state(page)["range"]
    drag(page, 45, 44.5, key="Shift")
    moved = state(page)["range"]
    assert moved == pytest.approx([low + 0.5, high + 0.5], abs=0.1)
    for _ in range(30):
        page.page.keyboard.press("ArrowRight")
    page.eventually(lambda: state(page)["range"][1], pytest.approx(end))


def test_keyboard_moves_and_returns(page: Tab) -> None:
    whole = state(page)["range"]
    page.page.evaluate("document.querySelector('.js-plotly-plot').parentElement.focus()")
    for key in ("ArrowUp", "ArrowUp", "ArrowRight"):
        page.page.evaluate(f"() => {{ window.before = {DRAWN}; }}")
        page.page.keyboard.press(key)
        rest(page)
    low, high = state(page)["range"]
    assert high - low == pytest.approx((whole[1] - whole[0]) / 4, rel=0.01)
    middle = sum(whole) / 2 + (high - low) / 4
    assert (low + high) / 2 == pytest.approx(middle, rel=0.01)
    page.page.keyboard.press("Escape")
    assert state(page)["range"] == whole


def test_hover_says_what_a_box_is(page: Tab) -> None:
    x, y = page.page.evaluate(PLACE, [20, 0])
    page.page.mouse.move(x, y)
    page.page.wait_for_selector(".hoverlayer text >> text=/^step/")
    hover = "".join(state(page)["hover"])
    assert hover.startswith("step43.1 ms, from 0 s on")
    assert "CPU Thread 0" in hover


def test_living_kernel_gives_what_no_page_can_hold(lab: Lab, tab: Tab) -> None:
    """20,000 launches; the page alone draws 3,000 boxes, the kernel each launch of a part."""
    events = """[{"ph": "X", "cat": "kernel", "name": f"k{n}", "pid": 0, "tid": 7, "ts": n * 10.0,
                  "dur": 5.0} for n in range(20_000)]"""
    lab.write(
        "timeline.ipynb",
        [
            "import json, protonlab\n"
            f"data = json.dumps({{'traceEvents': {events}}}).encode()\n"
            "protonlab.timeline(protonlab.load(data))",
        ],
    )
    lab.open(tab, "timeline.ipynb")
    lab.run_all(tab)
    tab.wait_for_figures(1)
    whole = state(tab)
    assert whole["boxes"] < 3000
    assert not any(label.startswith("k") for label in whole["labels"])
    for low, high, kernel in ((100.0, 110.0, "k10499"), (103.0, 103.05, "k10304")):  # ms
        tab.page.evaluate(
            """(range) => {
                const host = document.querySelector(".protonlab-figure").protonlab;
                return host.Plotly.relayout(host.plot, { "xaxis.range": range });
            }""",
            [low, high],
        )
        tab.page.wait_for_function(f"kernel => ({STATE})().labels.includes(kernel)", arg=kernel)
    tab.settle()
    near = state(tab)
    assert near["range"] == [103.0, 103.05]
    assert {f"k{number}" for number in range(10_300, 10_305)} <= set(near["labels"])
    assert any(text.startswith("k103") for text in near["texts"])
    tab.screenshot("timeline_refined", ".js-plotly-plot")
    tab.set_theme("dark")
    assert state(tab)["range"] == [103.0, 103.05]
    tab.screenshot("timeline_refined_dark", ".js-plotly-plot")
    tab.set_theme("light")  # JupyterLab remembers
    x, y = tab.page.evaluate(PLACE, [103.02, 0])
    tab.eventually(lambda: double_click(tab, x, y), whole["range"])
    assert not tab.errors


def test_sentences_in_place_of_pictures(tab: Tab, tmp_path: Path) -> None:
    trace, profile = load(b'{"traceEvents": []}'), load(b'[{"frame":{"name":"ROOT"},"metrics":{},'
                                                        b'"children":[]}]')  # fmt: skip
    assert isinstance(trace, Trace)
    assert isinstance(profile, Profile)
    tab.show(tmp_path / "page.html", timeline(trace), roofline(profile))
    tab.page.wait_for_selector(".annotation-text >> text=The trace holds no event.")
    tab.page.wait_for_selector(".annotation-text >> text=No kernel was recorded.")
    assert tab.page.locator(".js-plotly-plot").count() == 2
    assert not tab.errors


def test_high_timeline_is_as_high_as_it_is(tab: Tab, tmp_path: Path, project: Path) -> None:
    """With its axis: a part of it that scrolls by itself hides lanes without a sign."""
    trace = load(project / "tests/profiles/instrumentation_3.9.0.chrome_trace.gz")
    assert isinstance(trace, Trace)
    figure = timeline(trace, max_lanes=100)
    assert figure.layout.height > 1200
    tab.show(tmp_path / "page.html", figure)
    tab.wait_for_figures(1)
    host = tab.page.locator(".protonlab-figure")
    assert host.evaluate("each => each.clientHeight") >= figure.layout.height
    assert host.evaluate("each => getComputedStyle(each).overflowY") == "visible"


def test_kernels_of_a_trace_keep_their_numbers_in_sight_on_a_narrow_page(
    tab: Tab, tmp_path: Path
) -> None:
    found = trace_views(recorded.gpt_trace(), draws=True)[-1]
    cells = [code(new_output("display_data", found._repr_mimebundle_()))]
    (tmp_path / "page.html").write_text(render(new_notebook(cells=cells)), "utf-8")
    tab.page.set_viewport_size({"width": 400, "height": 900})
    tab.page.goto((tmp_path / "page.html").as_uri())
    heads = tab.page.locator(".protonlab-table th")
    assert heads.nth(0).bounding_box()["x"] > 0
    assert heads.nth(1).inner_text() == "time (µs)"
    place = heads.nth(1).bounding_box()
    assert place["x"] + place["width"] < 400
