"""``%%proton`` in a real Jupyter kernel, where IPython runs inside of an event loop."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SET_UP = """\
%load_ext protonlab
import asyncio, threading, time
import torch, triton, triton.language as tl
from protonlab import device

@triton.jit
def _p_double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) * 2, at < n)

x = torch.ones(16, device=device())

def double():
    _p_double[(1,)](x, 16, BLOCK=16)
    return 7
"""

LEFT_OPEN = """\
from triton.profiler.hooks.hook import HookManager
print(HookManager.active_hooks, any(HookManager.session_hooks.values()))
"""


@dataclass
class Ran:
    """What the front end got to see of one cell."""

    reply: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message["content"] for message in self.outputs if message["msg_type"] == kind]

    @property
    def text(self) -> str:
        return "".join(content["text"] for content in self.of("stream"))

    @property
    def shown(self) -> list[str]:
        """Views that were displayed, in their order."""
        return [view_of(content["data"]) for content in self.of("display_data")]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def view_of(data: dict[str, Any]) -> str:
    if "application/vnd.plotly.v1+json" in data or "figure" in data["text/plain"].lower():
        return "figure"
    if "kernel kept" in data["text/plain"] or "no kernel" in data["text/plain"]:
        return "summary"
    return "table" if "<table" in data["text/html"] else data["text/plain"]


@dataclass(frozen=True)
class Kernel:
    """A running kernel and its client."""

    manager: KernelManager
    client: BlockingKernelClient

    def run(self, source: str, *, interrupt_at: str = "") -> Ran:
        """Run a cell; interrupt it when it has printed a text."""
        ran = Ran()

        def listen(message: dict[str, Any]) -> None:
            ran.outputs.append(message)
            if interrupt_at and interrupt_at in message["content"].get("text", ""):
                time.sleep(0.2)  # until the cell has reached the line behind its print
                self.manager.interrupt_kernel()

        reply = self.client.execute_interactive(
            source, timeout=120, allow_stdin=False, output_hook=listen
        )
        ran.reply = reply["content"]
        return ran

    def value(self, expression: str) -> str:
        ran = self.run(f"print({expression})")
        assert ran.reply["status"] == "ok"
        return ran.text.rstrip("\n")


@pytest.fixture(scope="module")
def running_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=180)
        kernel = Kernel(manager, client)
        ran = kernel.run(SET_UP)
        assert ran.reply["status"] == "ok", ran.reply
        yield kernel
        assert list(folder.iterdir()) == []
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(running_kernel: Kernel) -> Iterator[Kernel]:
    yield running_kernel
    assert running_kernel.run(LEFT_OPEN).text == "[] False\n"
    running_kernel.run("run1 = _proton = None")


def test_cell_shows_its_value_then_summary_and_views(kernel: Kernel) -> None:
    ran = kernel.run("%%proton run1\ndouble()")
    assert [content["data"]["text/plain"] for content in ran.of("execute_result")] == ["7"]
    assert ran.shown == ["summary", "figure", "figure", "table"]
    kinds = [message["msg_type"] for message in ran.outputs if message["msg_type"] != "status"]
    assert kinds.index("execute_result") < kinds.index("display_data")
    assert kernel.value("run1 is _proton, run1.info.launches") == "True {'_p_double': (1, 1)}"


def test_pandas_knows_that_it_is_in_a_notebook(kernel: Kernel) -> None:
    kernel.run("%%proton run1 view=none\ndouble();")  # brings pandas
    assert kernel.value("__import__('pandas').options.display.max_columns") == "20"


def test_summary_on_the_page(kernel: Kernel) -> None:
    data = kernel.run("%%proton a view=table\ndouble();").of("display_data")[0]["data"]
    assert data["text/plain"].startswith("a: 1 kernel kept (1 launch, 100 %) of ")
    assert data["text/html"] == f"<div>{data['text/plain']}</div>"


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("none", []),
        ("table", ["summary", "table"]),
        ("bars", ["summary", "figure"]),
        ("table,flame", ["summary", "table", "figure"]),
    ],
)
def test_view_chooses_what_is_shown(kernel: Kernel, view: str, shown: list[str]) -> None:
    assert kernel.run(f"%%proton run1 view={view}\ndouble();").shown == shown


def test_profile_as_a_value_shows_like_a_fresh_cell(kernel: Kernel) -> None:
    fresh = kernel.run("%%proton run1\ndouble();")
    again = kernel.run("run1")
    assert again.shown == fresh.shown
    assert kernel.run("run1;").shown == []


def test_history_keeps_the_line(kernel: Kernel) -> None:
    kernel.run("%%proton run1 view=none\ndouble();")
    assert kernel.value("_i") == "%%proton run1 view=none\ndouble();"


def test_await_stays_on_the_thread_of_the_running_loop(kernel: Kernel) -> None:
    ran = kernel.run(
        "%%proton run1 view=none\nbefore = threading.get_ident(), asyncio.get_running_loop()\n"
        "await asyncio.sleep(0)\ndouble()\n"
        "before == (threading.get_ident(), asyncio.get_running_loop())"
    )
    assert [content["data"]["text/plain"] for content in ran.of("execute_result")] == ["True"]
    assert kernel.value("run1.info.launches") == "{'_p_double': (1, 1)}"


def test_cell_that_raises_fails_once_and_shows_its_profile(kernel: Kernel) -> None:
    ran = kernel.run("%%proton run1\ndouble()\n\n1 / 0")
    assert (ran.reply["status"], ran.reply["ename"]) == ("error", "ZeroDivisionError")
    assert len(ran.of("error")) == 1
    frame = ran.of("error")[0]["traceback"][2]
    assert "line 4" in plain(frame)
    assert "----> 4 1 / 0" in plain(frame)
    assert len(ran.of("error")[0]["traceback"]) == 4  # rule, title, the cell's frame, message
    assert ran.shown == ["summary", "figure", "figure", "table"]


@pytest.mark.parametrize(
    ("cell", "error", "shown"),
    [
        ("%%proton run1\ndouble()\n1 +", "SyntaxError", ["summary"]),
        (
            "%%proton run1\ndouble()\nraise SystemExit(3)",
            "SystemExit",
            ["summary", "figure", "figure", "table"],
        ),
        ("%%proton incude=a\ndouble()", "UsageError", []),
    ],
)
def test_cell_that_cannot_run_to_its_end(
    kernel: Kernel, cell: str, error: str, shown: list[str]
) -> None:
    ran = kernel.run(cell)
    assert (ran.reply["status"], ran.reply["ename"]) == ("error", error)
    assert ran.shown == shown


@pytest.mark.parametrize(
    "wait",
    [
        "time.sleep(30)",
        "while True: double()",
        # In steps: ipykernel wakes its loop for an interrupt only at the loop's next event.
        "for _ in range(300): await asyncio.sleep(0.1)",
    ],
)
def test_interrupt(kernel: Kernel, wait: str) -> None:
    ran = kernel.run(f"%%proton run1\ndouble()\nprint('now')\n{wait}", interrupt_at="now")
    assert ran.reply["status"] == "error"
    assert ran.reply["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert len(ran.of("error")) == 1, (ran.text, ran.shown)
    assert "summary" in ran.shown
    assert int(kernel.value("run1.info.launches['_p_double'][1]")) >= 1
    assert kernel.run("%%proton run1 view=none\ndouble();").reply["status"] == "ok"


def test_nbclient_stops_at_the_cell_that_raises(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source)
            for source in (SET_UP, "%%proton run1\ndouble()\n1 / 0", "never = 1")
        ]
    )
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        NotebookClient(book, kernel_name="python3", timeout=120).execute()
    kinds = [output.output_type for output in book.cells[1].outputs]
    assert kinds.count("error") == 1
    assert kinds.count("display_data") == 4
    assert book.cells[2].execution_count is None


@pytest.mark.parametrize("body", ["", "await asyncio.sleep(0.01)\n"])
def test_repeats_show_the_value_once(kernel: Kernel, body: str) -> None:
    kernel.run("x.fill_(1);")  # doubled in every test, it would overflow and warn
    ran = kernel.run(
        "%%proton run1 repeat=3 warmup=2 view=none\n"
        f"{body}print('round', threading.get_ident() == threading.main_thread().ident)\ndouble()"
    )
    assert ran.reply["status"] == "ok"
    assert ran.text == "round True\n" * 3
    assert [content["data"]["text/plain"] for content in ran.of("execute_result")] == ["7"]
    assert kernel.value("run1.repeats.number, int(run1.kernels['count'].sum())") == "3 3"
