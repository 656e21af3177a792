"""What a front end gets to see while a cell runs, and what stays, in a real Jupyter kernel."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from protonlab.capture import _proton

SET_UP = """\
%load_ext protonlab
import time, torch, triton, triton.language as tl
from protonlab import device

@triton.jit
def _p_double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) * 2, at < n)

x = torch.zeros(16, device=device())

def work(seconds):
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        _p_double[(1,)](x, 16, BLOCK=16)
        count += 1
        time.sleep(0.02)
    if device() == "cuda":
        torch.cuda.synchronize()
    return count
"""
LIVE = "%%proton run1 live=1\nprint('begins')\nn = work(7)\nprint('ends')"
SHORT = LIVE.replace("work(7)", "work(2)")
JUPYTERLAB, VS_CODE = "0d5a7b2e-91c1", "vscode-notebook-cell:/a.ipynb#W0"
SVG = "{http://www.w3.org/2000/svg}"
HAS_PHASES = _proton.require().has_phases
needs_phases = pytest.mark.skipif(not HAS_PHASES, reason="Triton before 3.7 has no phases")


@dataclass(frozen=True)
class Output:
    """A message of the kernel's, and when it came."""

    at: float
    kind: str
    content: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.content["data"].get("text/plain", ""))


@dataclass(frozen=True)
class Kernel:
    client: BlockingKernelClient

    def run(self, source: str, cell: str = "") -> list[Output]:
        """Run a cell as a front end does that names it `cell`."""
        began = time.monotonic()
        session = self.client.session
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
        request = session.msg("execute_request", content)
        request["metadata"] = {"cellId": cell} if cell else {}
        self.client.shell_channel.send(request)
        outputs = []
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            content = message["content"]
            outputs.append(Output(time.monotonic() - began, message["msg_type"], content))
            if content.get("execution_state") == "idle":
                return outputs


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("kernel")))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        kernel = Kernel(client)
        assert not [output for output in kernel.run(SET_UP) if output.kind == "error"]
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def of(outputs: list[Output], kind: str) -> list[Output]:
    return [output for output in outputs if output.kind == kind]


def bar_of(update: Output) -> tuple[str, str]:
    """Name and value of the first bar of a live view."""
    found = re.search("<svg.*</svg>", update.content["data"]["text/html"], re.DOTALL)
    assert found is not None
    _, label, value, *_ = (each.text or "" for each in ET.fromstring(found[0]).iter(f"{SVG}text"))
    return label, value


def progress(outputs: list[Output]) -> list[str]:
    """Texts of the line of progress."""
    messages = [output.content["data"].get("content", {}) for output in of(outputs, "comm_msg")]
    return [message["text"] for message in messages if message.get("kind") == "progress"]


@needs_phases
@pytest.mark.parametrize("front_end", [JUPYTERLAB, VS_CODE])
def test_live_view_updates_while_the_cell_runs_and_the_summary_takes_its_place(
    kernel: Kernel, front_end: str
) -> None:
    outputs = kernel.run(LIVE, front_end)
    end = next(output.at for output in outputs if "ends" in output.content.get("text", ""))
    (slot,) = {
        output.content["transient"]["display_id"] for output in of(outputs, "update_display_data")
    }
    first = of(outputs, "display_data")[0]
    assert first.content["transient"]["display_id"] == slot
    *updates, last = of(outputs, "update_display_data")
    # A GPU's kernel has to be compiled first.
    updates = [update for update in updates if "no kernel was launched" not in update.text]
    # A reading that began before the end may still be shown behind what the cell printed there.
    assert sum(update.at < end for update in updates) >= 2
    for update in updates:
        assert re.match(r"recording, \d s · \d readings? took \d\.\d\d s \(\d+\.\d %", update.text)
        assert "run1: 1 kernel kept" in update.text
        assert "_p_double" in update.text
        html = update.content["data"]["text/html"]
        assert html.index("<svg") < html.index("<table")
        assert "<script type=" not in html  # a picture, no figure
    bars = [bar_of(update) for update in updates]
    assert all(label == "_p_double" for label, _ in bars)
    assert len({value for _, value in bars}) > 1  # its time grows while the cell runs
    counts = [int(re.search(r"\((\d+) launch", update.text)[1]) for update in updates]  # type: ignore[index]
    assert counts == sorted(counts)
    assert len(set(counts)) > 1
    assert last.at > end
    assert last.text.startswith("run1: 1 kernel kept")
    assert re.search(r"Watched live: \d readings took \d\.\d\d s \(\d\.\d % of", last.text)
    printed = kernel.run("print(int(run1.kernels['count'].sum()) == n)")
    assert of(printed, "stream")[0].content["text"] == "True\n"


@needs_phases
def test_live_view_that_nothing_replaces_is_taken_away(kernel: Kernel) -> None:
    outputs = kernel.run(SHORT.replace("live=1", "live=1 view=none"), JUPYTERLAB)
    assert of(outputs, "update_display_data")[-1].content["data"] == {}
    outputs = kernel.run("%%proton live=1\nwork(0.1)\n1 / 0", JUPYTERLAB)
    assert of(outputs, "error")[0].content["ename"] == "ZeroDivisionError"
    assert "1 kernel kept" in of(outputs, "update_display_data")[-1].text


@needs_phases
def test_repeats_are_shown_at_the_end_and_the_summary_says_why(kernel: Kernel) -> None:
    outputs = kernel.run("%%proton run1 live=1 repeat=2\nn = work(2)", JUPYTERLAB)
    (last,) = of(outputs, "update_display_data")
    notes = [line for line in last.text.splitlines() if line.startswith("live=1: ")]
    assert notes == ["live=1: repeats are read at the end; the profile is there after the session"]
    assert progress(outputs)[2] == "run1: recording, 3 s"


def test_line_of_progress_comes_after_a_second_and_goes(kernel: Kernel) -> None:
    texts = progress(kernel.run("%%proton run1\nwork(2.5)", JUPYTERLAB))
    assert texts[:2] == ["run1: recording, 1 s", "run1: recording, 2 s"]
    assert texts[-3:] == ["run1: reading …", "run1: drawing …", ""]


def test_line_of_progress_is_an_output_where_our_module_cannot_run(kernel: Kernel) -> None:
    outputs = kernel.run("%%proton run1 view=none\nwork(2.5)", VS_CODE)
    assert progress(outputs) == []
    (first,) = of(outputs, "display_data")
    assert first.text == "run1: recording, 1 s"
    *texts, last = of(outputs, "update_display_data")
    assert texts[0].text == "run1: recording, 2 s"
    assert last.content["data"] == {}
    shown = {output.content["transient"]["display_id"] for output in (first, *texts, last)}
    assert len(shown) == 1


@pytest.mark.parametrize("front_end", [JUPYTERLAB, ""])
def test_short_cells_and_headless_runs_have_no_line_of_progress(
    kernel: Kernel, front_end: str
) -> None:
    seconds = 0.2 if front_end else 2.2
    assert progress(kernel.run(f"%%proton run1\nwork({seconds})", front_end)) == []


def test_headless_run_stores_only_the_final_view(tmp_path: Path) -> None:
    sources = [SET_UP, SHORT]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = notebook.cells[1].outputs
    shown = [output for output in outputs if output.output_type != "stream"]
    assert "".join(output.get("text", "") for output in outputs) == "begins\nends\n"
    plain = [output.data["text/plain"] for output in shown]
    assert plain[0].startswith("run1: 1 kernel kept")
    assert "live" not in plain[0]
    assert len(plain) == 4
    assert "recording" not in str(outputs)
    assert "widgets" not in notebook.metadata


@pytest.mark.skipif(HAS_PHASES, reason="this Triton has phases")
def test_before_phases_the_final_view_says_why_there_was_no_other(kernel: Kernel) -> None:
    outputs = kernel.run(SHORT, JUPYTERLAB)
    assert of(outputs, "update_display_data") == []
    (note,) = [
        line
        for output in of(outputs, "display_data")
        for line in output.text.splitlines()
        if line.startswith("live=1: ")
    ]
    assert "needs Triton 3.7 or later, and this is 3.6" in note
    assert "the profile is there after the session" in note
