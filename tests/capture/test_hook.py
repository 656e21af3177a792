"""The launch hook on real launches: filters, metrics, and what may go wrong in metadata."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from sample_kernels import (
    BLOCK,
    add,
    answers,
    metrics,
    notes,
    plain,
    record,
    row,
    told,
    told_kernel,
    triton_kernels,
)
from triton.profiler.hooks import LaunchHook as ProtonsHook
from triton.profiler.hooks.hook import Hook

from protonlab import LaunchHook, Session
from protonlab.capture import _proton, device


def test_is_a_hook_of_protons() -> None:
    assert isinstance(LaunchHook(), Hook)
    assert repr(LaunchHook(include="a")) == "LaunchHook(include='a', exclude=None)"


def test_each_session_of_a_hook_warns_anew_and_takes_new_types() -> None:
    hook = LaunchHook()
    for n in (1, 1.5):
        with pytest.warns(UserWarning, match="has no metric 'bad'"):
            session = record({"bad": "text", "n": n}, hook=hook)
        assert metrics(session) == {"n": n}
        assert sum("'bad'" in note for note in session.profile.info.notes) == 1


def test_launches_from_generators_and_tasks() -> None:
    def launches() -> Iterator[None]:
        for _ in range(3):
            add()
            yield

    async def task() -> None:
        for _ in range(3):
            told_kernel[(1,)](torch.zeros(BLOCK, device=device()), BLOCK)
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(task(), task())

    with Session() as session:
        for _ in zip(launches(), launches(), strict=True):
            pass
        answers.queue[:] = [{"n": 1}] * 6
        asyncio.run(both())
    assert metrics(session, "add_kernel [n=128]")["n_tokens"] == 8 * 6
    assert metrics(session)["n"] == 6


@pytest.mark.parametrize(
    "error", [ValueError("bad token count"), SystemError("odd"), AssertionError()]
)
def test_metadata_that_raises_leaves_the_hook_on(error: Exception) -> None:
    with Session() as session, pytest.warns(UserWarning, match="launch metadata") as caught:
        x = told(error, {"n": 1}, {"n": 2})
    (warning,) = caught
    assert str(warning.message) == (
        f"the launch metadata of told_kernel raised {type(error).__name__}: {error}; the metrics "
        "of that launch are missing"
    )
    assert x[0] == 3
    assert row(session, "told_kernel")["count"] == 3
    assert metrics(session) == {"n": 3}


def test_warning_is_one_line_where_the_error_is_a_page() -> None:
    page = "CUDA error: out of tokens\nCUDA kernel errors might be reported elsewhere.\n"
    with pytest.warns(UserWarning, match="raised RuntimeError: CUDA error: out of tokens; the met"):
        record(RuntimeError(page), {"n": 1})


@pytest.mark.parametrize("answer", [None, 3, [("n", 1)]])
def test_metadata_that_is_no_dict(answer: Any) -> None:
    with pytest.warns(UserWarning, match="told_kernel is no dict: its function"):
        session = record(answer, {"n": 1})
    assert metrics(session) == {"n": 1}


def test_interrupt_in_metadata_reaches_the_user_and_leaves_the_hook_on() -> None:
    hook = LaunchHook()
    with pytest.raises(KeyboardInterrupt), Session(hook=hook):
        told(KeyboardInterrupt())
    assert metrics(record({"n": 1}, hook=hook)) == {"n": 1}


def test_warnings_as_errors_do_not_disturb_the_launch() -> None:
    session = record({"bad": "text", "n": 1})  # outside pytest.warns, they are errors here
    assert metrics(session) == {"n": 1}
    assert len(notes(session)) == 1


def test_launches_inside_metadata_are_the_metadatas_own() -> None:
    def launches() -> dict[str, Any]:
        add()
        told_kernel[(1,)](torch.zeros(BLOCK, device=device()), BLOCK)  # would recurse
        return {"n": 1}

    with Session() as session:
        told(launches)
    assert metrics(session) == {"n": 1}
    assert len(answers.calls) == 1
    frames = session.profile.frames
    nested = frames[(frames["kind"] == "metadata") & frames["name"].str.contains("_kernel$")]
    assert nested["count"].dropna().tolist() == [1, 1]
    assert session.profile.info.launches == {"told_kernel": (1, 1)}
    assert triton_kernels(session)["count"].tolist() == [1]


def test_launches_from_threads() -> None:
    def work() -> None:
        for _ in range(20):
            add()

    with Session() as session:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert metrics(session, "add_kernel [n=128]")["n_tokens"] == 8 * 60
    assert session.profile.info.launches == {"add_kernel": (60, 60)}


def test_a_name_that_is_empty_is_none() -> None:
    with Session() as session:
        told({"name": "", "n": 5})
    assert metrics(session, "told_kernel") == {"n": 5}


def test_two_sessions_that_keep_the_same_kernel_write_its_metrics_once() -> None:
    with Session(record="n") as first, Session() as second:
        told({"n": 1, "m": 2}, {"n": 1, "m": 2})
    assert metrics(second) == {"n": 2, "m": 4}
    assert metrics(first) == {"n": 2}
    assert len(answers.calls) == 2


def test_beside_protons_own_hook_metrics_are_counted_once() -> None:
    manager = _proton.require().hook_manager
    manager.register(ProtonsHook(), 99)  # as proton.start(hook="triton") does
    try:
        with Session() as session:
            add()
            add()
    finally:
        manager.unregister(99)
    assert metrics(session, "add_kernel [n=128]")["bytes"] == 2 * 12 * 128


def test_keys_to_record_that_no_metadata_held_are_named() -> None:
    message = "record=n_tokns,spam: no launch metadata held that; it held bytes, n_tokens"
    with pytest.warns(UserWarning, match=re.escape(message)):
        session = record({"n_tokens": 3, "bytes": 1}, record="spam,n_tokns,bytes")
    assert notes(session) == [message]
    assert metrics(session) == {"bytes": 1}


def test_keys_to_record_are_not_missed_where_nothing_had_metadata() -> None:
    with Session(record="n_tokens") as session:
        plain()
    assert notes(session) == []
