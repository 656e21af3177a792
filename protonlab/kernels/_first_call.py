"""Telling a person who waits that a kernel is being compiled."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

SECONDS = 1.0


@functools.cache
def _launched(key: Hashable) -> threading.Event:
    return threading.Event()


@contextmanager
def announced(key: Hashable, name: str) -> Iterator[None]:
    """Say on stderr, after a second, that the first launch of this key is still compiling."""
    launched = _launched(key)
    if launched.is_set():
        yield
        return
    text = f"protonlab: compiling {name} for the first call; later ones start at once\n"
    timer = threading.Timer(SECONDS, lambda: sys.stderr.write(text))
    timer.daemon = True
    timer.start()
    try:
        yield
        launched.set()
    finally:
        timer.cancel()
