"""A widget that runs in a real kernel, which is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

STATE = "(panel.running, panel._run.is_going_on, panel.words['status'])"
INTERRUPTED = "(False, False, 'Interrupted.')"
PANEL = """\
import asyncio, time
from protonlab import EpilogueWidget
from protonlab.widget import _replay
_replay._REPLAY_S = 600
panel = EpilogueWidget(source='replay')"""
SOON = "asyncio.get_running_loop().call_soon(print, 'begins')\n"


@pytest.fixture(scope="module")
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=180)
        client.execute_interactive(PANEL, timeout=60)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def reply_to(client: BlockingKernelClient, asked: str) -> dict[str, object]:
    while (reply := client.get_shell_msg(timeout=120))["parent_header"]["msg_id"] != asked:
        pass
    return dict(reply["content"])


def told(client: BlockingKernelClient, expression: str) -> str:
    """What the kernel answers."""
    reply = reply_to(client, client.execute("1", user_expressions={"value": expression}))
    return str(reply["user_expressions"]["value"]["data"]["text/plain"])  # type: ignore[index]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it did not come true within two minutes"
        time.sleep(0.05)


def begin(client: BlockingKernelClient) -> None:
    """Have the panel replay, until pairs are seen."""
    client.execute_interactive("panel.say('')\npanel.running = True", timeout=120)
    wait_until(lambda: "Replaying" in told(client, STATE))


@pytest.mark.parametrize(
    ("cell", "error"),
    [  # a cell that awaits is seen to begin once it does
        (f"{SOON}await panel.stopped()", "CancelledError"),
        (f"{SOON}await asyncio.sleep(20)", "CancelledError"),
        ("print('begins')\ntime.sleep(20)", "KeyboardInterrupt"),  # a cell is interrupted as ever
    ],
)
def test_an_interrupt_stops_the_cell_and_the_run(
    kernel: tuple[KernelManager, BlockingKernelClient], cell: str, error: str
) -> None:
    manager, client = kernel
    begin(client)
    # Else the kernel for a moment refuses what comes behind a cell that failed.
    running = client.execute(cell, stop_on_error=False)
    while client.get_iopub_msg(timeout=120)["content"].get("text") != "begins\n":
        pass
    manager.interrupt_kernel()
    assert reply_to(client, running)["ename"] == error
    wait_until(lambda: told(client, STATE) == INTERRUPTED)


def test_an_interrupt_stops_the_run_while_no_cell_runs(
    kernel: tuple[KernelManager, BlockingKernelClient],
) -> None:
    manager, client = kernel
    for pause_s in (0.3, 0.0):  # and while the kernel still handles the last request
        begin(client)
        time.sleep(pause_s)
        manager.interrupt_kernel()
        wait_until(lambda: told(client, STATE) == INTERRUPTED)


def test_an_interrupt_with_no_run_leaves_the_kernel_alone(
    kernel: tuple[KernelManager, BlockingKernelClient],
) -> None:
    manager, client = kernel
    client.execute_interactive("panel.say('Nothing runs.')", timeout=120)
    time.sleep(0.3)
    manager.interrupt_kernel()
    assert told(client, STATE) == "(False, False, 'Nothing runs.')"
