"""A cell with ``live=`` in a real JupyterLab: bars and table grow while it runs; one view stays."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from protonlab.capture import _proton
from protonlab.views.theme import KINDS, TEXT

if TYPE_CHECKING:
    from rig import Lab, Tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not _proton.require().has_phases, reason="Triton before 3.7 has no phases to read"
    ),
]

SET_UP = """\
%load_ext protonlab
import os, time, torch, triton, triton.language as tl
from protonlab import device

@triton.jit
def _p_double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) * 2, at < n)

x = torch.zeros(16, device=device())"""
# It runs until it is told to end, when the test has seen enough.
LIVE = """\
%%proton run1 live=1
while not os.path.exists("enough"):
    _p_double[(1,)](x, 16, BLOCK=16)
    time.sleep(0.02)"""
COUNT = """() => {
    const text = document.querySelector(".jp-CodeCell:nth-of-type(2) .jp-OutputArea")?.innerText;
    return /recording, \\d+ s · \\d+ reading[^]*\\(\\d+ launches/.test(text ?? "") ? text : "";
}"""


# Texts of the bars while the cell runs: title, kernel, value; empty when it does not.
BARS = """() => {
    const area = document.querySelector(".jp-CodeCell:nth-of-type(2) .jp-OutputArea");
    const isLive = /recording, \\d+ s/.test(area?.innerText ?? "");
    const texts = isLive ? [...area.querySelectorAll("svg text")] : [];
    return texts.map((text) => text.textContent.trim()).join("|");
}"""


# Colours of a bar and of the title, in a light and in a dark notebook.
COLOURS = """() => {
    const picture = document.querySelector(".protonlab-picture svg");
    if (!picture) return false;
    const marks = [picture.querySelectorAll("rect")[1], picture.querySelector("text")];
    return ["true", "false"].map((isLight) => {
        const before = document.body.dataset.jpThemeLight;
        document.body.dataset.jpThemeLight = isLight;
        const colours = marks.map((mark) => getComputedStyle(mark).fill);
        document.body.dataset.jpThemeLight = before;
        return colours;
    });
}"""


def rgb(*colours: str) -> list[str]:
    """Colours as a browser writes them."""
    return [f"rgb{tuple(bytes.fromhex(colour[1:]))}" for colour in colours]


def launches(text: str) -> int:
    found = re.search(r"\((\d+) launches", text)
    assert found is not None, text
    return int(found[1])


def test_live_cell(lab: Lab, tab: Tab) -> None:
    lab.write("live.ipynb", [SET_UP, LIVE])
    lab.open(tab, "live.ipynb")
    tab.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    first = tab.page.wait_for_function(COUNT, timeout=120_000).json_value()
    tab.page.wait_for_selector(".protonlab-progress >> text=/run1: recording, \\d+ s/")
    tab.screenshot("live_cell")
    (light, dark) = tab.page.wait_for_function(COLOURS).json_value()
    assert light == rgb(KINDS["kernel"].fill.light, TEXT.light)
    assert dark == rgb(KINDS["kernel"].fill.dark, TEXT.dark)
    title, kernel, value = tab.page.wait_for_function(BARS).json_value().split("|")
    assert title == "run1 · kernels by time · interpreter, CPU"
    assert kernel == "_p_double"
    tab.eventually(tab.page.locator("table.protonlab-table").count, 1)
    grown = f"""before => {{
        const [text, bars] = [({COUNT})(), ({BARS})()];
        return text && text !== before && !bars.endsWith({value!r}) ? [text, bars] : false;
    }}"""
    text, bars = tab.page.wait_for_function(grown, arg=first).json_value()
    assert launches(text) > launches(first)
    assert bars.split("|")[:2] == [title, kernel]
    assert tab.page.locator(".js-plotly-plot").count() == 0  # a picture: nothing to load

    (lab.folder / "enough").touch()
    tab.page.wait_for_function(
        """() => [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")]
            .every((prompt) => /\\[\\d+\\]/.test(prompt.textContent))""",
        timeout=60_000,
    )
    tab.wait_for_figures(2)  # flame graph and bars that can be pointed at take its place
    tab.page.wait_for_selector(".protonlab-progress", state="detached")
    assert tab.page.locator("table.protonlab-table").count() == 1
    shown = tab.page.locator(".jp-CodeCell:nth-of-type(2) .jp-OutputArea").inner_text()
    assert "recording," not in shown
    assert len(re.findall(r"run1: 1 kernel kept", shown)) == 1
    assert re.search(r"Watched live: \d+ readings took", shown)
    assert not tab.errors

    lab.save(tab)
    stored = json.loads((lab.folder / "live.ipynb").read_text())["cells"][1]["outputs"]
    kinds = [output.get("name", list(output.get("data", {}))) for output in stored]
    assert len(stored) == 4, kinds  # summary, flame, bars, table
    assert "recording," not in json.dumps(stored)
