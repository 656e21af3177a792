"""A roofline in an exported page: its points are clicked and say what they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from protonlab.formats import load
from protonlab.model import Profile
from protonlab.views import flame, roofline

if TYPE_CHECKING:
    from rig import Tab

pytestmark = pytest.mark.browser


def test_click_on_a_kernel_of_a_roofline_marks_it_in_the_flame_graph(
    tab: Tab, tmp_path: Path, project: Path
) -> None:
    profile = load(project / "tests/profiles/tree_scopes_3.9.0.hatchet")
    assert isinstance(profile, Profile)
    tab.show(tmp_path / "page.html", flame(profile), roofline(profile))
    tab.page.wait_for_selector(".scatterlayer .point")
    tab.settle()
    box = tab.page.locator(".scatterlayer .point").first.bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    tab.page.mouse.click(box["x"] + 4, box["y"] + box["height"] / 2)
    tab.page.wait_for_selector("output >> text=matched")
    tab.screenshot("roofline_click")
    assert not tab.errors


def test_roofline_in_a_page(tab: Tab, tmp_path: Path, project: Path) -> None:
    profile = load(project / "protonlab/recorded/moe_sweep_3.9.0.hatchet")
    assert isinstance(profile, Profile)
    tab.show(tmp_path / "page.html", roofline(profile))
    tab.page.wait_for_selector(".scatterlayer .point")
    tab.settle()
    plot = ".js-plotly-plot"
    assert tab.page.locator(f"{plot} .scatterlayer .point").count() == 8
    labels = tab.page.locator(f"{plot} .annotation-text").all_text_contents()
    assert "bf16 988 TFLOP/s (data sheet)" in labels
    tab.screenshot("roofline_light", plot)
    box = tab.page.locator(f"{plot} .scatterlayer .point").first.bounding_box()
    assert box is not None
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.page.wait_for_selector(f"{plot} .hoverlayer text")
    hover = "".join(tab.page.locator(f"{plot} .hoverlayer text").all_text_contents())
    # One of two that lie over each other.
    assert re.search(r"memory-bound: 4[45]\.\d % of 4\.81 TB/s memory", hover)
    tab.page.emulate_media(color_scheme="dark")
    tab.page.mouse.move(5, 5)
    tab.settle()
    tab.screenshot("roofline_dark", plot)
    assert not tab.errors
