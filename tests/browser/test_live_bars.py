"""Bars of a cell with ``live=`` in a real JupyterLab: they grow while the cell runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_live_cell import LIVE, SET_UP

from protonlab.capture import _proton

if TYPE_CHECKING:
    from rig import Lab, Tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not _proton.require().has_phases, reason="Triton before 3.7 has no phases to read"
    ),
]

# Texts of the bars while the cell runs: title, kernel, value; empty when it does not.
BARS = """() => {
    const area = document.querySelector(".jp-CodeCell:nth-of-type(2) .jp-OutputArea");
    const isLive = /recording, \\d+ s/.test(area?.innerText ?? "");
    const texts = isLive ? [...area.querySelectorAll("svg text")] : [];
    return texts.map((text) => text.textContent.trim()).join("|");
}"""


def test_bars_grow_while_the_cell_runs(lab: Lab, tab: Tab) -> None:
    lab.write("live_bars.ipynb", [SET_UP, LIVE])
    lab.open(tab, "live_bars.ipynb")
    tab.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    first = tab.page.wait_for_function(BARS, timeout=60_000).json_value()
    title, kernel, value = first.split("|")
    assert title == "run1 · kernels by time · interpreter, CPU"
    assert kernel == "_p_double"
    later = tab.page.wait_for_function(
        f"before => {{ const now = ({BARS})(); return now && now !== before ? now : ''; }}",
        arg=first,
    ).json_value()
    assert later.split("|")[:2] == [title, kernel]
    assert later.split("|")[2] != value
    assert tab.page.locator(".js-plotly-plot").count() == 0  # a picture: nothing to load
    tab.screenshot("live_bars")
    tab.page.wait_for_function(
        """() => [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")]
            .every((prompt) => /\\[\\d+\\]/.test(prompt.textContent))""",
        timeout=60_000,
    )
    tab.wait_for_figures(2)  # flame graph and bars that can be pointed at take its place
    assert not tab.errors
