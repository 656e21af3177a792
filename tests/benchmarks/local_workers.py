"""Workers of one thread each on this machine, what they took and held: for `archive.py`."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from many_ranks import REAL

import protonlab
from protonlab import Archive


def high_water() -> int:
    """Most bytes that this process ever held."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def busy(client: Client) -> float:
    """Seconds of processor time that the workers have taken so far."""
    return sum(client.run(time.process_time).values())


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """Fresh workers of one thread each; protonlab is loaded in them."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR"
        ) as made,
        Client(made) as client,
    ):
        client.run(warm_up)
        yield client


def warm_up() -> None:
    """Load what the work needs, as it would be on a cluster that is up."""
    profile = protonlab.load(REAL[0])
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(folder)
        archive.append(profile, name="warm up")


def seconds(call: Callable[[], Any]) -> float:
    """Wall time of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def fresh(folder: Path) -> Archive:
    """An archive in a folder that is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    return Archive(folder, progress=False)
