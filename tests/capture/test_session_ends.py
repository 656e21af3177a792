"""How sessions pause and end: in each other, while threads launch, and when interrupted."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from sample_kernels import BLOCK, add, plain, told, told_kernel, triton_kernels
from triton.profiler.hooks.hook import HookManager

from protonlab import CaptureError, Session
from protonlab.capture import _reading, device
from protonlab.capture._launch_record import Launch
from protonlab.capture._recording import Recording
from protonlab.capture.clocks import Clocks

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a thread may stay inside a launch for long."""
    monkeypatch.setattr("protonlab.capture._launch_record._PATIENCE_S", PATIENCE_S)


def test_a_pause_inside_a_pause_does_not_end_it() -> None:
    with Session() as session:
        with session.paused():
            with session.paused():
                add()
            plain()
        told({"n": 1})
    assert sorted(triton_kernels(session)["name"]) == ["told_kernel"]


def test_its_end_keeps_no_variable_of_its_callers() -> None:
    def recorded() -> weakref.ref[torch.Tensor]:
        large = torch.empty(8)
        with Session():
            add()
        return weakref.ref(large)

    gc.collect()
    gc.disable()
    try:
        assert recorded()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_a_pause_in_each_round_leaves_warmup_unrecorded(context: Any) -> None:
    with Session(context=context) as session:
        for _ in session.repeats(2, warmup=3):
            with session.paused():
                plain()
            told({"n": 1})
    kernels = triton_kernels(session)
    assert (kernels["name"].tolist(), kernels["count"].tolist()) == (["told_kernel"], [2])


def test_repeats_inside_a_pause_stay_unrecorded() -> None:
    with Session(context="python") as session:
        with session.paused():
            for _ in session.repeats(2):
                plain()
        told({"n": 1})
    assert triton_kernels(session)["name"].tolist() == ["told_kernel"]


def test_sessions_end_while_other_threads_launch() -> None:
    ended = threading.Event()

    def launch() -> None:
        x = torch.zeros(BLOCK, device=device())
        while not ended.is_set():
            told_kernel[(1,)](x, BLOCK)

    threads = [threading.Thread(target=launch) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):  # Triton 3.9 took the process down within the first few
            with Session() as session:
                time.sleep(0.02)
                with session.paused():
                    pass
            assert session.problem is None
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def launcher(work: Callable[[], None]) -> Callable[[], None]:
    """A function that looks like Triton's launcher, around some work."""
    names: dict[str, Any] = {"work": work}
    exec(compile("def __call__():\n    work()", "nvidia/driver.py", "exec"), names)
    return cast(Callable[[], None], names["__call__"])


def test_the_end_waits_for_a_launch_of_another_thread() -> None:
    inside, ended = threading.Event(), threading.Event()

    def launch() -> None:
        inside.set()
        time.sleep(0.05)
        ended.set()

    thread = threading.Thread(target=launcher(launch))
    thread.start()
    inside.wait()
    with Launch.none_in_others():
        assert ended.is_set()
    thread.join()


def test_the_end_waits_for_no_other_work_of_a_thread_nor_for_its_own_launch() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    Launch.opened[cast(int, thread.ident)] = Launch(None)  # it failed, so it never ended

    def end() -> None:
        start = time.monotonic()
        with Launch.none_in_others():
            assert time.monotonic() - start < PATIENCE_S / 2

    try:
        launcher(end)()
    finally:
        Launch.opened.clear()
        done.set()
        thread.join()


def test_no_other_thread_begins_a_launch_while_a_session_ends() -> None:
    with Session() as session:
        thread = threading.Thread(target=add)
        with Launch.none_in_others():
            start = time.monotonic()
            thread.start()
            while not Launch.opened and time.monotonic() - start < 0.005:
                time.sleep(0)
            assert not Launch.opened
        thread.join()
    assert session.profile.info.launches == {"add_kernel": (1, 1)}


def test_a_launch_that_waited_for_an_end_is_not_recorded() -> None:
    with Session() as session:
        thread = threading.Thread(target=add)
        with Launch.none_in_others():
            thread.start()
            time.sleep(0.003)
            HookManager.deactivate(session._recording.id)  # type: ignore[union-attr]
        thread.join()
        HookManager.activate(session._recording.id)  # type: ignore[union-attr]
        plain()
    assert not Launch.opened
    assert set(session.profile.info.launches) == {"plain_kernel"}


def test_interrupt_while_a_session_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = [KeyboardInterrupt()]

    def interrupted(self: Clocks) -> None:
        if readings:
            raise readings.pop()

    monkeypatch.setattr(Clocks, "read", interrupted)
    session = Session()
    with pytest.raises(KeyboardInterrupt):
        session.start()
    assert repr(session) == "<Session 'proton': ended>"


def test_interrupt_while_proton_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Recording, path: str) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Recording, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Session().start()


def test_interrupt_while_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(parts: Any, source: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_reading, "result_of", interrupted)
    session = Session().start()
    told({"n": 1})
    with pytest.raises(KeyboardInterrupt):
        session.stop()
    with pytest.raises(
        CaptureError,
        match=r"^session 'proton' has no profile: its end was interrupted; record again$",
    ):
        session.profile  # noqa: B018


@pytest.mark.parametrize("data", ["tree", pytest.param("trace", marks=pytest.mark.gpu)])
def test_a_process_killed_while_it_records_leaves_no_file(data: str, tmp_path: Path) -> None:
    script = (
        "import os, signal, protonlab\n"
        "from protonlab.capture import enable_interpreter\n"
        "enable_interpreter()\n"
        f"session = protonlab.Session(data={data!r}).start()\n"
        "assert session.problem is None, session.problem\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not list(tmp_path.glob("protonlab-*"))
