"""A widget that runs in a real kernel, which is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

STATE = "(panel.running, panel._run.is_going_on, panel.words['status'])"
INTERRUPTED = "(False, False, 'Interrupted.')"


def told(client: BlockingKernelClient, expression: str) -> str:
    """What the kernel answers."""
    asked = client.execute("1", user_expressions={"value": expression})
    while (reply := client.get_shell_msg(timeout=10))["parent_header"]["msg_id"] != asked:
        pass
    return str(reply["content"]["user_expressions"]["value"]["data"]["text/plain"])


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(100):
        if holds():
            return
        time.sleep(0.1)
    raise TimeoutError("it did not come true within 10 s")


def test_an_interrupt_stops_the_run_whether_a_cell_waits_or_none_runs() -> None:
    """In a real kernel; what has no kernel's interrupt to fear is awaited in the other tests."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        start = (
            "from protonlab import EpilogueWidget\n"
            "from protonlab.widget import _replay\n"
            "_replay._REPLAY_S = 600\n"
            "panel = EpilogueWidget(source='replay')\n"
            "panel.running = True"
        )
        client.execute_interactive(start, timeout=60)
        waiting = client.execute("print('waits')\nawait panel.stopped()")
        while client.get_iopub_msg(timeout=30)["content"].get("text") != "waits\n":
            pass
        time.sleep(0.5)
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=30)
        assert reply["parent_header"]["msg_id"] == waiting
        assert reply["content"]["status"] == "error"
        client.execute_interactive("await panel.stopped()", timeout=10)
        assert told(client, STATE) == INTERRUPTED

        again = "panel.say('')\npanel.running = True"  # and now no cell waits
        for _ in range(2):
            client.execute_interactive(again, timeout=10)
            wait_until(lambda: told(client, "panel._run.is_going_on") == "True")
            manager.interrupt_kernel()
            wait_until(lambda: told(client, STATE) == INTERRUPTED)
        late = "import time\nprint('sleeps')\ntime.sleep(20)"  # a cell is interrupted as ever
        sleeping = client.execute(late)
        while client.get_iopub_msg(timeout=30)["content"].get("text") != "sleeps\n":
            pass
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=10)
        assert reply["parent_header"]["msg_id"] == sleeping
        assert reply["content"]["ename"] == "KeyboardInterrupt"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
