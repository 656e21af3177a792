"""Figures in a page that is narrower than they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from protonlab import recorded
from protonlab.model import compare
from protonlab.views import bars

if TYPE_CHECKING:
    from rig import Tab

pytestmark = pytest.mark.browser

# Of each figure: ends of the plot's host and of its legend, left edges of its title and notes.
EDGES = """() => [...document.querySelectorAll(".protonlab-figure")].map((host) => {
    const box = (which) => host.querySelector(which).getBoundingClientRect();
    const [title, notes, hidden] = [box(".gtitle"), box(".annotation-text"),
        host.scrollHeight - host.clientHeight];
    return [box("svg").bottom, box(".legend").bottom, hidden, title.left, notes.left,
        Math.max(title.right, notes.right)];
})"""


def test_legend_and_notes_are_all_on_a_narrow_page(tab: Tab, tmp_path: Path) -> None:
    comparison = compare(recorded.gpt_eager(), recorded.gpt_compiled())
    figure, scrubbed = bars(comparison), bars(comparison)
    scrubbed.layout.title.text += " · which is compared with an older version · on two machines"
    scrubbed.update_yaxes(ticktext=["short"] * 20)  # as a report's scrubbing may leave names
    tab.page.set_viewport_size({"width": 560, "height": 900})
    tab.show(tmp_path / "page.html", figure, scrubbed)
    tab.wait_for_figures(2)
    tab.screenshot("narrow")
    for bottom, legend, hidden, title, notes, right in tab.page.evaluate(EDGES):
        assert legend <= bottom
        assert hidden == 0
        assert abs(title - notes) < 4
        assert right <= 560  # a title too long for the page takes two lines, notes take more
