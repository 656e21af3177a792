"""Figures in an exported page: no network, no kernel, plotly.js once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from protonlab.formats import load
from protonlab.views import bars, figure_html, flame, page_script
from protonlab.views.figure import PLOTLY_MIME

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from rig import Tab

pytestmark = pytest.mark.browser

EVIL = (
    "<img src=x onerror='globalThis.pwned = 1'><b>x</b></script><script>globalThis.pwned=1</script>"
)


def write_page(path: Path, *figures: Any) -> str:
    bundles = [figure._repr_mimebundle_() for figure in figures]
    body = "".join(figure_html(each[PLOTLY_MIME], each["text/html"]) for each in bundles)
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{body}{page_script()}</body>', "utf-8"
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
    tab.page.wait_for_timeout(300)
    low, high = tab.page.evaluate(range_of)
    assert high - low == pytest.approx(0.561 * whole[1], rel=0.01)
    tab.page.emulate_media(color_scheme="dark")
    tab.page.wait_for_timeout(300)
    tab.page.evaluate("document.body.style.background = '#111'")
    tab.screenshot("page_dark")
    assert not tab.errors
    assert all(address.startswith(("file:", "blob:", "data:")) for address in tab.requests)


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
