"""Pictures of every view in both themes, for people to look at, and that nothing is cut off.

They come from an exported page without a network. Git ignores ``screenshots/``, where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from cells import code
from gallery import VIEWS
from nbformat.v4 import new_notebook, new_output

from protonlab.page import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from rig import Tab

pytestmark = pytest.mark.browser

# Texts that reach out of the figure they belong to.
CUT_OFF = """(figure) => {
    const {left, right} = figure.getBoundingClientRect();
    return [...figure.querySelectorAll("svg.main-svg text")]
        .filter((text) => text.textContent.trim() && text.getClientRects().length)
        .filter((text) => {
            const area = text.getBoundingClientRect();
            return area.left < left - 1 || area.right > right + 1;
        })
        .map((text) => text.textContent);
}"""


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported page of a notebook that shows each view of the gallery in a cell."""
    cells = [
        code(new_output("display_data", view()._repr_mimebundle_())) for view in VIEWS.values()
    ]
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    path.write_text(render(new_notebook(cells=cells)), "utf-8")
    return path


@pytest.fixture(params=["light", "dark"], scope="module")
def gallery(
    browser: Browser, page_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Tab, Literal["light", "dark"]]]:
    """The page in one theme, drawn, offline."""
    import rig

    context = browser.new_context(
        color_scheme=request.param, offline=True, viewport={"width": 1160, "height": 900}
    )
    tab = rig.Tab(context.new_page())
    tab.page.goto(page_path.as_uri())
    tab.page.wait_for_function(
        "document.querySelectorAll('.protonlab-figure .main-svg').length &&"
        "!document.querySelector('.protonlab-figure:not([data-drawn])')"
    )
    tab.settle()
    yield tab, request.param
    context.close()
    assert tab.errors == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in tab.requests)


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str, gallery: tuple[Tab, str]) -> None:
    tab, theme = gallery
    output = tab.page.locator("section").nth(list(VIEWS).index(name)).locator(".output")
    tab.screenshot(f"view_{name}_{theme}", output)
    figure = output.locator(".protonlab-figure")
    if not figure.count():
        assert output.locator("table.protonlab-table tbody tr").count() > 5
        return
    assert marks(output) > 5
    assert figure.evaluate(CUT_OFF) == []


def marks(output: Locator) -> int:
    """How many bars, points and lines are drawn."""
    return output.locator(".bars .point, .scatterlayer .point, .scatterlayer path.js-line").count()
