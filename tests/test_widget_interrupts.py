"""A widget that runs in a real kernel, which is interrupted."""

from __future__ import annotations

import time

from jupyter_client.manager import KernelManager


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
        state = {"state": "(panel.running, panel._run.is_going_on, panel.words['status'])"}
        client.execute("await panel.stopped()", user_expressions=state)
        reply = client.get_shell_msg(timeout=10)
        shown = reply["content"]["user_expressions"]["state"]["data"]["text/plain"]
        assert shown == "(False, False, 'Interrupted.')"

        again = "panel.say('')\npanel.running = True"  # and now no cell waits
        for _ in range(2):
            client.execute_interactive(again, timeout=10)
            time.sleep(0.5)
            manager.interrupt_kernel()
            time.sleep(0.5)
            client.execute("1", user_expressions=state)
            reply = client.get_shell_msg(timeout=10)
            shown = reply["content"]["user_expressions"]["state"]["data"]["text/plain"]
            assert shown == "(False, False, 'Interrupted.')"
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
