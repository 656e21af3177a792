"""A first call that takes over a second says that it compiles."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from protonlab.kernels import _first_call
from protonlab.kernels._first_call import announced


def test_only_a_slow_first_call_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_first_call, "SECONDS", 0.05)
    key = object()
    for _ in range(2):
        with announced(key, "the slow matmul"):
            time.sleep(0.3)
    told = "protonlab: compiling the slow matmul for the first call; later ones start at once\n"
    assert capsys.readouterr().err == told
    with announced(object(), "the fast matmul"):
        pass
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_first_call_that_fails_is_told_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_first_call, "SECONDS", 0.05)
    key = object()
    with suppress(KeyError), announced(key, "it"):
        time.sleep(0.3)
        raise KeyError
    with announced(key, "it"):
        time.sleep(0.3)
    assert capsys.readouterr().err.count("compiling it") == 2
