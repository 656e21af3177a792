"""A first call that takes over a second says that it compiles."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest

from protonlab.kernels import _first_call
from protonlab.kernels._first_call import announced


def wait_until_told(capsys: pytest.CaptureFixture[str]) -> str:
    """Be as slow as it takes; return what was told."""
    told, deadline = "", time.monotonic() + 60
    while not told.endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.01)
        told += capsys.readouterr().err
    return told


def test_only_a_slow_first_call_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_first_call, "SECONDS", 0.05)
    key = object()
    with announced(key, "the slow matmul"):
        told = wait_until_told(capsys)
    assert told == (
        "protonlab: compiling the slow matmul for the first call; later ones start at once\n"
    )
    with announced(key, "the slow matmul"):
        time.sleep(0.3)
    monkeypatch.setattr(_first_call, "SECONDS", 60)
    others = threading.enumerate()
    with announced(object(), "the fast matmul"):
        (timer,) = set(threading.enumerate()).difference(others)
    timer.join()
    assert capsys.readouterr().err == ""


def test_a_first_call_that_fails_is_told_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_first_call, "SECONDS", 0.05)
    key = object()
    with suppress(KeyError), announced(key, "it"):
        assert "compiling it" in wait_until_told(capsys)
        raise KeyError
    with announced(key, "it"):
        assert "compiling it" in wait_until_told(capsys)
