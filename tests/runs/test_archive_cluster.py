"""An archive on a cluster of processes: the same as in threads, and whole when a worker dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import night, write_run

from protonlab import Archive

RUNS = 24


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers, each a process of its own with a nanny."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_is_killed_and_nothing_is_lost_or_there_twice(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [
        write_run(tmp_path / "runs" / f"n{n:02d}", {0: night(n, 100 + n), 1: night(n, 7)})
        for n in range(RUNS)
    ]
    monkeypatch.chdir(tmp_path)  # the workers stand elsewhere
    pids = client.run(os.getpid)
    killed = []

    def kill() -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            if len(list((tmp_path / "archive").glob("run=*"))) >= 3:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)
                return
            time.sleep(0.002)

    killer = threading.Thread(target=kill)
    killer.start()
    archive = Archive("archive", progress=False)
    report = archive.ingest([folder.relative_to(tmp_path) for folder in folders])
    killer.join()
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    assert report["problem"].isna().all()
    assert archive.runs["profiles"].tolist() == [2] * RUNS
    table = archive.to_dask(["run", "rank", "kind", "time_ns"])
    assert len(table) == 4 * RUNS
    kernels = table[table["kind"] == "kernel"].compute()
    assert kernels["time_ns"].sum() == sum(100 + n + 7 for n in range(RUNS))
    assert sorted(kernels["run"].unique()) == [f"n{n:02d}" for n in range(RUNS)]
    values = archive.history("matmul", "time/us", runs=["n05", "n06"])["value"].tolist()
    assert values == pytest.approx([(105 + 7) / 2000, (106 + 7) / 2000])
    assert archive.ingest(folders)["present"].tolist() == [2] * RUNS


def test_what_only_this_process_sees_is_worked_on_here(client: Any, tmp_path: Path) -> None:
    archive = Archive("memory://of-this-process")
    archive.ingest([write_run(tmp_path / "a", {0: night(0, 100)})])
    assert archive.history("matmul", "time/us")["value"].tolist() == [0.1]
