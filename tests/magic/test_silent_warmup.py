"""Warm-up rounds drop what is written past Python, too."""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

from protonlab import Session
from protonlab.repetition import Repetition


def next_descriptor() -> int:
    descriptor = os.dup(1)
    os.close(descriptor)
    return descriptor


def test_rounds_before_the_repeats_write_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    libc = ctypes.CDLL(None)
    rounds: list[int] = []

    def write() -> int:
        rounds.append(len(rounds))
        turn = rounds[-1]
        print(f"python {turn}")
        sys.__stdout__.write(f"stream {turn}\n")  # type: ignore[union-attr]
        libc.printf(b"c %d\n", turn)  # stays in C's buffer
        os.write(1, b"descriptor %d\n" % turn)
        os.system(f"echo program {turn}")
        os.write(2, b"error %d\n" % turn)
        return turn

    print("before")
    libc.printf(b"c before\n")
    value = Repetition(Session(), number=1, warmup=2).call(write)
    print("after")
    libc.fflush(None)
    out, err = capfd.readouterr()
    assert value == 2
    assert sorted(out.splitlines()) == sorted(
        ["before", "c before", "python 2", "stream 2", "c 2", "descriptor 2", "program 2", "after"]
    )
    assert err.splitlines() == ["error 0", "error 1", "error 2"]


def test_a_round_that_raises_gives_standard_output_back(capfd: pytest.CaptureFixture[str]) -> None:
    free = next_descriptor()

    def fail() -> None:
        os.write(1, b"in warm-up\n")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        Repetition(Session(), number=1, warmup=1).call(fail)
    os.write(1, b"afterwards\n")
    assert capfd.readouterr().out == "afterwards\n"
    assert next_descriptor() == free
