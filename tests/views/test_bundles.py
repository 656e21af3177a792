"""What each front end finds in an output, from a real kernel that takes it for that front end.

JupyterLab, Notebook and nbconvert's pages are tested in a browser. The others cannot run here; what
they can show is known, so their outputs are tested for it.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nh3
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from protonlab.formats.embedded import MEASURED_MIME, PROFILES_MIME
from protonlab.views import figure_of
from protonlab.views.page import PLOTLY_MIME

HERE = Path(__file__).parent
SET_UP = f"""\
import sys, types
sys.path.insert(0, {str(HERE)!r})
from small_profiles import hand, kernel, profile
from test_compared_table import compared
from test_grouped_bars import repeated
import protonlab
"""
TRACE = str(HERE.parent / "profiles" / "trace_3.9.0.chrome_trace")
FIGURES = {
    "flame": "protonlab.flame(hand())",
    "flame of a comparison": "protonlab.flame(compared())",
    "bars": "protonlab.bars(hand(), metric='gbyte/s', lines='peak')",
    "heat map": "protonlab.heatmap(protonlab.Run.from_profiles({0: hand(), 1: hand()}))",
    "stacked bars": "protonlab.bars(hand(), by=('kernel', 'scope'))",
    "bars with whiskers": "protonlab.bars(repeated((100, 120, 140)))",
    "bars of a comparison": "protonlab.bars(compared())",
    "roofline": "protonlab.roofline(hand())",
    "timeline": f"protonlab.timeline(protonlab.load({TRACE!r}))",
    "nothing": "protonlab.bars(profile())",
}
TABLES = {
    "table": "protonlab.table(hand())",
    "table of a comparison": "protonlab.table(compared())",
}
# How a kernel tells front ends apart: by the name of the cell, and by what is loaded.
CELLS = {"jupyterlab": "0d5a7b2e-91c1", "vscode": "vscode-notebook-cell:/a.ipynb#W0", "other": ""}
IN_COLAB = "sys.modules['google.colab'] = types.ModuleType('colab')"


class Kernel:
    """A kernel that runs cells as a front end does."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client

    def shown(self, source: str, front_end: str) -> dict[str, Any]:
        """Mime bundle of the one thing that a cell shows."""
        session = self.client.session
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
        request = session.msg("execute_request", content)
        request["metadata"] = {"cellId": CELLS[front_end]} if CELLS[front_end] else {}
        self.client.shell_channel.send(request)
        found = []
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            assert message["msg_type"] != "error", message["content"]
            if message["msg_type"] in ("display_data", "execute_result"):
                found.append(message["content"]["data"])
            if message["content"].get("execution_state") == "idle":
                break
        return found[0] if found else {}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(HERE))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=180)
        kernel = Kernel(client)
        kernel.shown(SET_UP, "other")
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def texts(svg: str) -> str:
    """All texts of an image, which is well-formed and runs no script."""
    root = ET.fromstring(svg)
    assert not re.search(r"<script|\son\w+=|javascript:|<foreignObject", svg)
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    return " ".join(element.text or "" for element in root.iter())


@pytest.mark.parametrize("source", FIGURES.values(), ids=FIGURES)
def test_vs_code_and_exporters_find_plotly_and_others_a_picture(
    kernel: Kernel, source: str
) -> None:
    for front_end in ("vscode", "other"):
        bundle = kernel.shown(source, front_end)
        figure = bundle[PLOTLY_MIME]
        assert set(figure) == {"data", "layout", "config"}
        assert figure["layout"]["title"]["text"]
        assert texts(bundle["image/svg+xml"])
        assert "<script" not in bundle["text/html"]
        assert bundle["text/plain"].startswith("<")


@pytest.mark.parametrize("source", FIGURES.values(), ids=FIGURES)
def test_jupyterlab_finds_our_module_s_figure_and_a_picture(kernel: Kernel, source: str) -> None:
    bundle = kernel.shown(source, "jupyterlab")
    assert PLOTLY_MIME not in bundle  # JupyterLab would prefer it, without zoom and theme
    figure = figure_of(bundle)
    assert figure is not None
    assert figure["layout"]["meta"]["protonlab"]["dark"]
    assert bundle["text/html"].count("<svg") == 1
    assert bundle["image/svg+xml"] in bundle["text/html"]


@pytest.mark.parametrize("front_end", ["jupyterlab", "vscode", "other"])
@pytest.mark.parametrize("source", FIGURES.values(), ids=FIGURES)
def test_github_and_nbviewer_find_an_image(kernel: Kernel, source: str, front_end: str) -> None:
    bundle = kernel.shown(source, front_end)
    words = texts(bundle["image/svg+xml"])
    title = re.sub("<.*?>", "", figure_of(bundle)["layout"]["title"]["text"])  # type: ignore[index]
    assert title in words


@pytest.mark.parametrize("front_end", ["jupyterlab", "vscode", "other"])
@pytest.mark.parametrize("source", TABLES.values(), ids=TABLES)
def test_a_table_stays_one_where_scripts_are_taken_out(
    kernel: Kernel, source: str, front_end: str
) -> None:
    bundle = kernel.shown(source, front_end)
    assert set(bundle) == {"text/html", "text/plain", PROFILES_MIME, MEASURED_MIME}
    clean = nh3.clean(bundle["text/html"])
    assert "<script" not in clean
    for line in bundle["text/plain"].splitlines()[3:5]:
        for cell in line.split():
            assert f">{cell}<" in clean


def test_colab_finds_plotly(kernel: Kernel) -> None:
    kernel.shown(IN_COLAB, "other")
    try:
        bundle = kernel.shown(FIGURES["bars"], "jupyterlab")
        assert PLOTLY_MIME in bundle
        assert "<script" not in bundle["text/html"]
    finally:
        kernel.shown("del sys.modules['google.colab']", "other")


def test_a_figure_is_plotly_s_so_that_a_person_can_go_on(kernel: Kernel) -> None:
    source = f"{FIGURES['bars']}.update_layout(title_text='mine', width=500)"
    bundle = kernel.shown(source, "vscode")
    assert bundle[PLOTLY_MIME]["layout"]["title"]["text"] == "mine"
    assert "mine" in texts(bundle["image/svg+xml"])


def test_outputs_are_small(kernel: Kernel) -> None:
    for front_end in ("jupyterlab", "vscode"):
        for name, source in (FIGURES | TABLES).items():
            most = 60_000 if name == "timeline" else 30_000  # a recorded trace has more to show
            assert len(json.dumps(kernel.shown(source, front_end))) < most
