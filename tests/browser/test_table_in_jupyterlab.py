"""The table of kernels in a real JupyterLab: buttons, clipboard, and keys that stay its own."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rig import Lab, Tab

pytestmark = pytest.mark.browser

ROWS = ".protonlab-table tbody tr:not([hidden])"


def test_table_in_jupyterlab(lab: Lab, tab: Tab, project: Path) -> None:
    page = tab.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    path = str(project / "tests/profiles/gpt_train_3.9.0.hatchet")
    lab.write(
        "table.ipynb", [f"import protonlab\nprotonlab.table(protonlab.load({path!r}), top=9)"]
    )
    lab.open(tab, "table.ipynb")
    lab.run_all(tab)

    def column(index: int) -> list[str]:
        return page.locator(f"{ROWS} td:nth-child({index})").all_inner_texts()

    assert page.locator(".jp-OutputArea-output").count() == 1
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
    assert page.locator(".protonlab-tools [role=status]").inner_text() == "2 of 9 kernels"
    assert page.locator(".jp-CodeCell").count() == 1

    tools = page.locator(".protonlab-tools")
    tools.get_by_role("button", name="Copy").click()
    page.wait_for_selector(".protonlab-tools [role=status] >> text=copied")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [row.split("\t")[1] for row in copied[1:]] == column(2)
    with page.expect_download() as started:
        tools.get_by_role("button", name="CSV").click()
    saved = Path(started.value.path()).read_text("utf-8")
    assert [row[1] for row in list(csv.reader(io.StringIO(saved)))[1:]] == column(2)

    tab.screenshot("table_jupyterlab_light")
    tab.set_theme("dark")
    tab.screenshot("table_jupyterlab_dark")
    tab.set_theme("light")
    assert not tab.errors
