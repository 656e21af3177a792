"""A process that is told to end while its main thread cannot listen."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A mutex that is locked twice: no signal gets the main thread out of it, once it is there.
STUCK = """
mutex = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex)
threading.Timer(0.5, lambda: print("ready", flush=True)).start()
libc.pthread_mutex_lock(mutex)
"""
AWAKE = "print('ready', flush=True)\nwhile True: time.sleep(0.05)"
HEAD = """
import ctypes, os, pathlib, signal, sys, threading, time
from protonlab.runs._rank_signals import EndingSignals
def end(name):
    with pathlib.Path(sys.argv[1]).open("a") as file:
        file.write(f"{name} in {os.getpid()}\\n")
signals = EndingSignals(end)
"""


def ended(body: str, tmp_path: Path, number: int = signal.SIGTERM) -> tuple[int, str, int]:
    """Run a script until it says ready, and end it: exit code, what it told, process."""
    told = tmp_path / "told"
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + body, str(told)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        code = process.wait(timeout=120)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return code, told.read_text() if told.exists() else "", process.pid


@pytest.mark.parametrize("wait", [AWAKE, STUCK], ids=["awake", "stuck"])
def test_end_comes_before_the_signal_does_its_work(wait: str, tmp_path: Path) -> None:
    code, told, process = ended(f"signals.start()\n{wait}", tmp_path)
    assert (code, told) == (-signal.SIGTERM, f"SIGTERM in {process}\n")


def test_also_where_another_has_taken_the_file_of_signals(tmp_path: Path) -> None:
    taken = "signals.start()\nsignal.set_wakeup_fd(-1)\n"
    code, told, process = ended(taken + AWAKE, tmp_path)
    assert (code, told) == (-signal.SIGTERM, f"SIGTERM in {process}\n")


def test_script_that_handles_the_signal_itself_goes_its_own_way(tmp_path: Path) -> None:
    own = "signals.start()\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(7))\n"
    assert ended(own + AWAKE, tmp_path)[:2] == (7, "")
    before = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))\nsignals.start()\n"
    assert ended(before + AWAKE, tmp_path)[:2] == (7, "")


def test_after_stop_the_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    body = f"signals.start()\nsignals.stop()\n{AWAKE}"
    assert ended(body, tmp_path)[:2] == (-signal.SIGTERM, "")


def test_signal_to_a_forked_child_does_not_end_its_parent(tmp_path: Path) -> None:
    body = f"""
signals.start()
os.register_at_fork(after_in_child=signals.forget)
read, write = os.pipe()
child = os.fork()
if not child:
    os.write(write, b"!")
    time.sleep(60)
os.read(read, 1)  # the child has begun
os.kill(child, signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
time.sleep(0.2)
assert not pathlib.Path(sys.argv[1]).exists()
{AWAKE}"""
    code, told, process = ended(body, tmp_path)
    assert (code, told) == (-signal.SIGTERM, f"SIGTERM in {process}\n")


def test_interrupt_that_does_not_reach_a_stuck_script_ends_the_recording(tmp_path: Path) -> None:
    quick = "import protonlab.runs._rank_signals as module\nmodule._NOTICES_S = 0.5\n"
    told = tmp_path / "told"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{HEAD}{quick}signals.start()\n{STUCK}", str(told)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 120
        while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert told.read_text() == f"SIGINT in {process.pid}\n"
        assert process.poll() is None  # it is the script's to end
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_interrupt_that_reaches_the_script_is_the_scripts(tmp_path: Path) -> None:
    quick = "import protonlab.runs._rank_signals as module\nmodule._NOTICES_S = 2\n"
    body = f"""{quick}signals.start()
try:
    {AWAKE.splitlines()[0]}
    while True: time.sleep(60)
except KeyboardInterrupt:
    for _ in range(50): time.sleep(0.05)
os._exit(9)
"""
    assert ended(body, tmp_path, signal.SIGINT)[:2] == (9, "")
