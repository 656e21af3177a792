"""One measurement at a time on a device, among processes that take turns."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from protonlab.capture import device


@contextmanager
def alone_on_device() -> Iterator[None]:
    """Wait until no other process of this user is in such a block on the current device.

    The system gives the turn back when the process dies, however it does. Where there are no locks
    of this kind (Windows), nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with _lock_file().open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock_file() -> Path:
    """Name a file of this user and this device, which two orders of the same GPUs share."""
    place: str = device()
    if place != "cpu":
        place = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    return Path(tempfile.gettempdir()) / f"protonlab-{os.getuid()}-{place}.lock"
