"""Figures in an exported page: no network, no kernel, plotly.js once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from small_profiles import chain, hand, kernel, profile

from protonlab.formats import load
from protonlab.model import Run
from protonlab.views import FlameOptions, bars, figure_html, flame, heatmap, page_script
from protonlab.views.figure import PLOTLY_MIME

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page
    from rig import Tab

pytestmark = pytest.mark.browser

EVIL = (
    "<img src=x onerror='globalThis.pwned = 1'><b>x</b></script><script>globalThis.pwned=1</script>"
)


def write_page(path: Path, *figures: Any) -> str:
    bundles = [figure._repr_mimebundle_() for figure in figures]
    body = "".join(figure_html(each[PLOTLY_MIME], each["text/html"]) for each in bundles)
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{body}{page_script(body)}</body>', "utf-8"
    )
    return path.as_uri()


def offline(tab: Tab) -> Tab:
    tab.page.context.set_offline(True)
    tab.page.context.route("http*://**", lambda route: route.abort())
    return tab


def test_figures_of_a_page_work_without_a_network(tab: Tab, tmp_path: Path, project: Path) -> None:
    profile = load(project / "tests/profiles/gpt_train_3.9.0.hatchet")
    url = write_page(tmp_path / "page.html", flame(profile), bars(profile, top=5))
    offline(tab).page.goto(url)
    tab.wait_for_figures(2)
    tab.screenshot("page_light")
    range_of = "document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range"
    whole = tab.page.evaluate(range_of)
    box = tab.page.locator(".js-plotly-plot >> nth=0").get_by_text("backward").bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + 5, box["y"] + 5)
    tab.page.mouse.click(box["x"] + 5, box["y"] + 5)
    low, high = tab.page.evaluate(range_of)
    assert high - low == pytest.approx(0.561 * whole[1], rel=0.01)
    tab.page.emulate_media(color_scheme="dark")
    tab.settle()
    tab.page.evaluate("document.body.style.background = '#111'")
    tab.screenshot("page_dark")
    assert not tab.errors
    assert all(address.startswith(("file:", "blob:", "data:")) for address in tab.requests)


# Labels of the boxes of the first figure that are in view and do not stand back.
BRIGHT = """() => {
    const { view, plot } = document.querySelector(".protonlab-figure").protonlab;
    return plot.data.flatMap((trace, curve) => (view.shown[curve] ?? [])
        .filter((box, at) => [trace.marker.opacity].flat()[at] !== 0.3)
        .map((box) => box.label)).sort();
}"""
RANGE = "document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range"
FIELD, SAID, BACK = ".protonlab-figure input", ".protonlab-figure output", "button >> text=whole"


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """Flame graph and bars of the hand-made tree, and another flame graph below, offline."""
    import rig

    context = browser.new_context(viewport={"width": 1200, "height": 1100}, reduced_motion="reduce")
    tab = rig.Tab(context.new_page())
    path = tmp_path_factory.mktemp("hand") / "page.html"
    offline(tab).page.goto(write_page(path, flame(hand()), bars(hand()), flame(hand())))
    tab.wait_for_figures(3)
    yield tab
    context.close()


@pytest.fixture
def hand_page(opened: Tab) -> Iterator[Tab]:
    """The page, with nothing searched and all in view before and after."""
    opened.settle()
    yield opened
    for field in opened.page.locator(FIELD).all():
        field.fill("")
    assert len(opened.page.evaluate(BRIGHT)) == 7
    assert not opened.errors


def test_search_marks_and_says_what_share_it_is(hand_page: Tab) -> None:
    page = hand_page.page
    assert len(page.evaluate(BRIGHT)) == 7
    page.fill(FIELD, "MATM|forward")  # 600 of 1,000, and 300 more on backward
    assert page.evaluate(BRIGHT) == ["forward", "matmul", "matmul"]
    assert page.locator(SAID).first.text_content() == "matched 90.0 % of time"
    page.fill(FIELD, "hand")
    assert page.locator(SAID).first.text_content() == "matched 0.0 % of time"
    page.fill(FIELD, "mat(")
    assert page.locator(SAID).first.text_content() == "no regular expression"
    page.fill(FIELD, "")
    assert page.locator(SAID).first.text_content() == ""
    assert len(page.evaluate(BRIGHT)) == 7


def test_search_goes_on_while_zoomed_and_the_button_leads_back(hand_page: Tab) -> None:
    page = hand_page.page
    assert page.locator(BACK).first.is_hidden()
    page.fill(FIELD, "matmul")
    click_box(page, "backward")
    assert page.evaluate(RANGE) == [600, 1000]
    assert page.evaluate(BRIGHT) == ["matmul"]
    assert page.locator(SAID).first.text_content() == "matched 75.0 % of time"
    page.locator(BACK).first.click()
    assert page.evaluate(RANGE) == [0, 1000]
    assert page.evaluate(BRIGHT) == ["matmul", "matmul"]
    assert page.locator(BACK).first.is_hidden()


def test_a_quick_click_is_not_lost(hand_page: Tab) -> None:
    page = hand_page.page
    for label, found in (("backward", [600, 1000]), ("hand", [0, 1000])) * 3:
        box = box_of(page, label).bounding_box()
        assert box is not None
        for right in (4, 5):
            page.mouse.move(box["x"] + right, box["y"] + 5)  # plotly puts the second hover off
        page.mouse.down()
        page.wait_for_timeout(60)  # a person's press, in which its time comes
        page.mouse.up()
        assert page.evaluate(RANGE) == found
        hand_page.settle()


def test_a_double_click_goes_back_where_drawing_the_first_took_too_long(hand_page: Tab) -> None:
    page = hand_page.page
    slow = """(config) => {
        document.querySelector(".protonlab-figure").protonlab.own.config = config;
    }"""
    page.evaluate(slow, {"doubleClickDelay": -1})  # for plotly every click stands alone
    click_box(page, "backward")
    assert page.evaluate(RANGE) == [600, 1000]
    click_box(page, "matmul", count=2)
    page.evaluate(slow, {})
    assert page.evaluate(RANGE) == [0, 1000]


def test_quick_clicks_on_two_boxes_are_no_double_click(hand_page: Tab) -> None:
    page = hand_page.page
    patient = """(config) => {
        const { protonlab } = document.querySelector(".protonlab-figure");
        protonlab.own.config = config;
        protonlab.paint();
    }"""
    page.evaluate(patient, {"doubleClickDelay": 60_000})  # for plotly any two clicks are one double
    hand_page.settle()
    for label in ("backward", "matmul"):
        click_box(page, label)
        hand_page.settle()
    shown = page.evaluate(RANGE)
    page.evaluate(patient, {})
    page.locator(BACK).first.click()
    assert shown == [600, 900]


def test_what_python_searched_for_stands_in_the_field(tab: Tab, tmp_path: Path) -> None:
    tree = profile(kernel("big", 100), *(kernel(f"small{i}", 1) for i in range(50)))
    figure = flame(tree, search="small", options=FlameOptions(max_boxes=3))
    offline(tab).page.goto(write_page(tmp_path / "page.html", figure))
    tab.wait_for_figures(1)
    assert tab.page.input_value(FIELD) == "small"
    assert tab.page.locator(SAID).text_content() == "matched 33.3 % of time"  # folded ones, too
    tab.page.fill(FIELD, "big")
    said = "matched 66.7 % of time, not counting what is folded"
    assert tab.page.locator(SAID).text_content() == said


def test_a_click_on_a_bar_marks_the_kernel_in_the_nearest_flame_graph(hand_page: Tab) -> None:
    page = hand_page.page
    bar = page.locator(".protonlab-figure").nth(1).locator(".bars .point path").nth(1)
    click_at(page, bar)
    values = page.locator(FIELD).evaluate_all("fields => fields.map((field) => field.value)")
    assert sorted(values) == ["", "^relu$"]
    assert page.locator(SAID).all_text_contents().count("matched 15.0 % of time") == 1


def test_a_click_waits_for_a_flame_graph_that_comes_later(tab: Tab, tmp_path: Path) -> None:
    run = Run.from_profiles({0: hand(), 1: hand()})
    other = flame(profile(kernel("other", 5)))
    offline(tab).page.goto(write_page(tmp_path / "page.html", heatmap(run), other))
    tab.wait_for_figures(2)
    row = tab.page.locator(".ytick text").all_text_contents().index("relu")
    click_at(tab.page, tab.page.locator(".protonlab-figure >> nth=0 >> .point path").nth(2 * row))
    bundle = flame(hand())._repr_mimebundle_()
    tab.page.evaluate(
        "html => document.body.insertAdjacentHTML('beforeend', html)",
        figure_html(bundle[PLOTLY_MIME]),
    )
    tab.wait_for_figures(3)
    values = "fields => fields.map((field) => field.value)"
    tab.eventually(lambda: tab.page.locator(FIELD).evaluate_all(values), ["", "^relu$"])
    assert not tab.errors


def test_a_page_glides_to_the_flame_graph_unless_motion_is_not_wanted(
    tab: Tab, tmp_path: Path
) -> None:
    tree = profile(*(kernel(f"k{i}", 1) for i in range(60)))  # bars taller than the window
    offline(tab).page.goto(write_page(tmp_path / "page.html", bars(tree, top=60), flame(tree)))
    tab.wait_for_figures(2)
    tab.page.emulate_media(reduced_motion="no-preference")
    moved = """() => {
        scrollTo(0, 0);
        document.querySelector(".protonlab-figure").protonlab.view.mark("k1");
        return scrollY;
    }"""
    assert tab.page.evaluate(moved) == 0
    tab.page.wait_for_function("scrollY > 0")
    tab.page.emulate_media(reduced_motion="reduce")
    assert tab.page.evaluate(moved) > 0


def test_keys_move_up_on_a_flame_and_down_on_an_icicle(tab: Tab, tmp_path: Path) -> None:
    url = write_page(tmp_path / "page.html", flame(hand(), options=FlameOptions(root="bottom")))
    offline(tab).page.goto(url)
    tab.wait_for_figures(1)
    tab.page.locator(".protonlab-figure").focus()
    tab.page.keyboard.press("ArrowUp")
    tab.page.keyboard.press("Enter")
    assert tab.page.evaluate(RANGE) == [0, 600]


def test_what_is_deep_or_wide_is_drawn_all_the_same(tab: Tab, tmp_path: Path) -> None:
    wide = profile(*(kernel(f"k{i}", 1 + i % 7) for i in range(10_000)))
    figures = [flame(chain(499, kernel("deepest", 7))), flame(wide), flame(profile())]
    offline(tab).page.goto(write_page(tmp_path / "page.html", *figures))
    tab.wait_for_figures(2)
    plots = tab.page.locator(".js-plotly-plot")
    assert [plot.locator(".bars .point").count() for plot in plots.all()] == [501, 1500, 0]
    assert plots.nth(2).get_by_text("No kernel was recorded.").is_visible()
    assert not tab.errors


def click_box(page: Page, label: str, *, count: int = 1) -> None:
    click_at(page, box_of(page, label), count=count)


def box_of(page: Page, label: str) -> Locator:
    return page.locator(".js-plotly-plot >> nth=0").get_by_text(label).first


def click_at(page: Page, mark: Locator, *, count: int = 1) -> None:
    """Click where a mark is; plotly's own layer lies over it."""
    box = mark.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.click(box["x"] + 5, box["y"] + 5, click_count=count)


def test_a_page_without_scripts_shows_the_picture(
    browser: Browser, tmp_path: Path, project: Path
) -> None:
    profile = load(project / "tests/profiles/gpt_train_3.9.0.hatchet")
    url = write_page(tmp_path / "page.html", flame(profile), bars(profile, top=5))
    context = browser.new_context(java_script_enabled=False, viewport={"width": 950, "height": 700})
    try:
        page = context.new_page()
        page.goto(url)
        assert page.locator("svg text", has_text="backward").is_visible()
        import rig

        rig.Tab(page).screenshot("page_static")
    finally:
        context.close()


def test_names_in_a_page_run_no_script(tab: Tab, tmp_path: Path) -> None:
    tree = load(
        b'[{"frame":{"name":"ROOT","type":"function"},"metrics":{"count":0,"time (ns)":0},'
        b'"children":[{"frame":{"name":' + _quoted(EVIL) + b',"type":"function"},"children":[],'
        b'"metrics":{"count":1,"time (ns)":5,"device_id":"0","device_type":"CUDA"}}]},{}]'
    )
    url = write_page(tmp_path / "page.html", flame(tree), bars(tree))
    offline(tab).page.goto(url)
    tab.wait_for_figures(2)
    tab.page.mouse.move(600, 110)  # on the kernel, the second row
    tab.page.wait_for_selector(".hoverlayer text")
    assert "<img src=x" in tab.page.locator(".hoverlayer text").first.text_content()
    assert tab.page.evaluate("globalThis.pwned") is None
    assert not tab.errors


def _quoted(name: str) -> bytes:
    return b'"' + name.encode() + b'"'
