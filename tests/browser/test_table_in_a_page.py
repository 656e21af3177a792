"""The table in a page without a network: sorted, searched, copied, saved, by keyboard."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from cells import code
from nbformat.v4 import new_notebook, new_output

import protonlab
from protonlab.formats import load
from protonlab.model import Profile

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ROWS = ".protonlab-table tbody tr:not([hidden])"


@pytest.fixture(scope="module")
def profile(project: Path) -> Profile:
    return load(project / "tests/profiles/gpt_train_3.9.0.hatchet")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> str:
    """Where the exported page of a table lies."""
    bundle = protonlab.table(profile, top=12)._repr_mimebundle_()
    notebook = tmp_path_factory.mktemp("table") / "a.ipynb"
    cells = [code(new_output("display_data", bundle))]
    nbformat.write(new_notebook(cells=cells), notebook)
    return protonlab.export_report(notebook).as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page, opened without a network; it may not complain."""
    import rig

    context = browser.new_context(
        offline=True,
        permissions=["clipboard-read", "clipboard-write"],
        viewport={"width": 1000, "height": 700},
    )
    tab = rig.Tab(context.new_page())
    tab.page.goto(address)
    yield tab.page
    context.close()
    assert tab.errors == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def column(page: Page, index: int) -> list[str]:
    return page.locator(f"{ROWS} td:nth-child({index})").all_inner_texts()


def sort_by(page: Page, index: int) -> str | None:
    head = page.locator(f".protonlab-table th:nth-child({index})")
    head.get_by_role("button").click()
    return head.get_attribute("aria-sort")


def test_headers_sort_by_value_and_say_so(page: Page, profile: Profile) -> None:
    assert page.locator(".protonlab-table th[aria-sort]").count() == 0
    counts = [str(count) for count in sorted(profile.kernels["count"].head(12), reverse=True)]
    assert sort_by(page, 4) == "descending"
    assert column(page, 4) == counts
    assert sort_by(page, 4) == "ascending"
    assert column(page, 4) == counts[::-1]
    assert sort_by(page, 1) == "ascending"
    assert column(page, 1) == page.evaluate(
        "names => names.toSorted((a, b) => a.localeCompare(b))", column(page, 1)
    )
    assert page.locator(".protonlab-table th[aria-sort]").count() == 1


def test_both_themes_can_be_read(page: Page) -> None:
    import rig

    def colors() -> list[str]:
        found: list[str] = page.locator(".protonlab-table td").first.evaluate(
            "(cell) => [getComputedStyle(cell).color, getComputedStyle(document.body)"
            ".backgroundColor]"
        )
        return found

    light = colors()
    rig.Tab(page).screenshot("table_light")
    page.emulate_media(color_scheme="dark")
    dark = colors()
    rig.Tab(page).screenshot("table_dark")
    assert set(light).isdisjoint(dark)


def test_missing_values_stay_at_the_end(tmp_path: Path, page: Page, project: Path) -> None:
    some = load(project / "tests/profiles/cell_3.9.0.hatchet")
    bundle = protonlab.table(some, metrics=["time/us", "gbyte/s"])._repr_mimebundle_()
    notebook = tmp_path / "b.ipynb"
    nbformat.write(new_notebook(cells=[code(new_output("display_data", bundle))]), notebook)
    page.goto(protonlab.export_report(notebook).as_uri())
    assert sorted(column(page, 3))[-1] == "–"
    for order in ("descending", "ascending"):
        assert sort_by(page, 3) == order
        *known, missing = column(page, 3)
        assert missing == "–"
        assert known == sorted(known, key=float, reverse=order == "descending")


def test_search_hides_what_does_not_match_and_counts(page: Page) -> None:
    page.get_by_role("searchbox", name="Search kernels").fill("SOFTMAX")
    assert len(column(page, 1)) == 2
    assert all("SoftMax" in name for name in column(page, 1))
    assert page.get_by_role("status").inner_text() == "2 of 12 kernels"
    page.get_by_role("searchbox").fill("<none>")
    assert column(page, 1) == []
    page.get_by_role("searchbox").fill("")
    assert len(column(page, 1)) == 12
    assert page.get_by_role("status").inner_text() == ""


def test_csv_holds_the_rows_that_are_shown_with_full_names(page: Page, profile: Profile) -> None:
    page.get_by_role("searchbox").fill("softmax")
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV").click()
    assert started.value.suggested_filename.endswith(".csv")
    text = Path(started.value.path()).read_text("utf-8")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == page.locator(".protonlab-table th").all_inner_texts()
    names = profile.kernels["name"].head(12)
    wanted = [str(name) for name in names if "softmax" in str(name).lower()]
    assert [row[0][:300] for row in rows] == [name[:300] for name in wanted if len(name) < 400]
    assert [row[1] for row in rows] == column(page, 2)
    assert "–" not in text


def test_copy_puts_the_rows_on_the_clipboard(page: Page) -> None:
    sort_by(page, 4)
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector("[role=status] >> text=copied")
    head, *rows = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert head.split("\t") == page.locator(".protonlab-table th").all_inner_texts()
    assert [row.split("\t")[3] for row in rows] == column(page, 4)


def test_everything_works_from_the_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("softmax")
    assert len(column(page, 1)) == 2
    reached = []
    for _ in range(5):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent"))
    assert reached[:2] == ["Copy", "CSV"]
    assert reached[2:] == page.locator(".protonlab-table th").all_inner_texts()[:3]
    before = column(page, 1)
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.parentElement.ariaSort") == "ascending"
    assert column(page, 1) == before[::-1]
