"""What a front end gets to see while a cell runs, and what stays, in a real Jupyter kernel."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
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
import os, time, torch, triton, triton.language as tl
from protonlab import device

@triton.jit
def _p_double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) * 2, at < n)

x = torch.zeros(16, device=device())

def work(seconds=120):  # or until the test has seen enough
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end and not os.path.exists("enough"):
        _p_double[(1,)](x, 16, BLOCK=16)
        count += 1
        time.sleep(0.02)
    if device() == "cuda":
        torch.cuda.synchronize()
    return count
"""
LIVE = "%%proton run1 live=1\nprint('begins')\nn = work()\nprint('ends')"
SHORT = LIVE.replace("work()", "work(2)")
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
    folder: Path

    def run(
        self, source: str, cell: str = "", enough: Callable[[list[Output]], bool] | None = None
    ) -> list[Output]:
        """Run a cell as a front end does that names it `cell`; it works until that is enough."""
        (self.folder / "enough").unlink(missing_ok=True)
        began = time.monotonic()
        session = self.client.session
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
        request = session.msg("execute_request", content)
        request["metadata"] = {"cellId": cell} if cell else {}
        self.client.shell_channel.send(request)
        outputs = []
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            content = message["content"]
            outputs.append(Output(time.monotonic() - began, message["msg_type"], content))
            if enough is not None and enough(outputs):
                (self.folder / "enough").touch()
            if content.get("execution_state") == "idle":
                return outputs


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    manager = KernelManager(kernel_name="python3")
    folder = tmp_path_factory.mktemp("kernel")
    manager.start_kernel(cwd=str(folder))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=180)
        kernel = Kernel(client, folder)
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


def readings(outputs: list[Output]) -> list[Output]:
    """Updates of a live view that show a kernel; a GPU's has to be compiled first."""
    updates = of(outputs, "update_display_data")
    return [each for each in updates if each.text.startswith("recording") and "kept" in each.text]


@needs_phases
@pytest.mark.parametrize("front_end", [JUPYTERLAB, VS_CODE])
def test_live_view_updates_while_the_cell_runs_and_the_summary_takes_its_place(
    kernel: Kernel, front_end: str
) -> None:
    outputs = kernel.run(LIVE, front_end, lambda seen: len(readings(seen)) > 2)
    end = next(output.at for output in outputs if "ends" in output.content.get("text", ""))
    (slot,) = {
        output.content["transient"]["display_id"] for output in of(outputs, "update_display_data")
    }
    first = of(outputs, "display_data")[0]
    assert first.content["transient"]["display_id"] == slot
    *updates, last = of(outputs, "update_display_data")
    updates = [update for update in updates if "no kernel was launched" not in update.text]
    # A reading that began before the end may still be shown behind what the cell printed there.
    assert sum(update.at < end for update in updates) >= 2
    for update in updates:
        assert re.match(
            r"recording, \d+ s · \d+ readings? took \d+\.\d\d s \(\d+\.\d %", update.text
        )
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
    assert re.search(r"Watched live: \d+ readings took \d+\.\d\d s \(\d+\.\d % of", last.text)
    printed = kernel.run("print(int(run1.kernels['count'].sum()) == n)")
    assert of(printed, "stream")[0].content["text"] == "True\n"


@needs_phases
def test_live_view_that_nothing_replaces_is_taken_away(kernel: Kernel) -> None:
    source = LIVE.replace("live=1", "live=1 view=none")
    outputs = kernel.run(source, JUPYTERLAB, lambda seen: bool(readings(seen)))
    assert readings(outputs)
    assert of(outputs, "update_display_data")[-1].content["data"] == {}
    outputs = kernel.run("%%proton live=1\nwork(0.1)\n1 / 0", JUPYTERLAB)
    assert of(outputs, "error")[0].content["ename"] == "ZeroDivisionError"
    assert "1 kernel kept" in of(outputs, "update_display_data")[-1].text


@needs_phases
def test_repeats_are_shown_at_the_end_and_the_summary_says_why(kernel: Kernel) -> None:
    source = "%%proton run1 live=1 repeat=2\nn = work()"
    outputs = kernel.run(source, JUPYTERLAB, lambda seen: len(progress(seen)) > 2)
    (last,) = of(outputs, "update_display_data")
    notes = [line for line in last.text.splitlines() if line.startswith("live=1: ")]
    assert notes == ["live=1: repeats are read at the end; the profile is there after the session"]
    assert re.fullmatch(r"run1: recording, \d+ s", progress(outputs)[2])


def test_line_of_progress_comes_after_a_second_and_goes(kernel: Kernel) -> None:
    source = "%%proton run1\nwork()"
    texts = progress(kernel.run(source, JUPYTERLAB, lambda seen: len(progress(seen)) > 1))
    seconds = [re.fullmatch(r"run1: recording, (\d+) s", text) for text in texts[:2]]
    assert 0 < int(seconds[0][1]) < int(seconds[1][1])
    assert texts[-3:] == ["run1: reading …", "run1: drawing …", ""]


def test_line_of_progress_is_an_output_where_our_module_cannot_run(kernel: Kernel) -> None:
    source = "%%proton run1 view=none\nwork()"
    outputs = kernel.run(source, VS_CODE, lambda seen: bool(of(seen, "update_display_data")))
    assert progress(outputs) == []
    (first,) = of(outputs, "display_data")
    assert re.fullmatch(r"run1: recording, \d+ s", first.text)
    *texts, last = of(outputs, "update_display_data")
    assert re.fullmatch(r"run1: recording, \d+ s", texts[0].text)
    assert last.content["data"] == {}
    shown = {output.content["transient"]["display_id"] for output in (first, *texts, last)}
    assert len(shown) == 1


@pytest.mark.parametrize("front_end", [JUPYTERLAB, ""])
def test_short_cells_and_headless_runs_have_no_line_of_progress(
    kernel: Kernel, front_end: str
) -> None:
    kernel.run("from protonlab import watch\ntick = watch._TICK_S")
    if front_end:  # to that one, a busy machine is no short cell
        kernel.run("watch._TICK_S = 60")
    seconds = 0.2 if front_end else 2.2
    assert progress(kernel.run(f"%%proton run1\nwork({seconds})", front_end)) == []
    kernel.run("watch._TICK_S = tick")


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
