"""What an archive costs beside pyarrow alone, and one worker beside two: for `archive.py`."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet
from distributed import Client, wait
from local_workers import busy, cluster, fresh, seconds
from many_ranks import varied

import protonlab
from protonlab import Profile
from protonlab.model.parquet import parquet_table
from protonlab.runs._append import store_batch
from protonlab.runs._parts import COMPRESSION
from protonlab.runs._sources import BATCH, source_of
from protonlab.runs._store import store_at

MOST_FOR_RATIOS = 400


def pyarrow_alone(files: Sequence[str], folder: str) -> None:
    """Load profiles and write their tables, as a person would without an archive."""
    for number, file in enumerate(files):
        table = parquet_table(protonlab.load(file))
        pyarrow.parquet.write_table(
            table, f"{folder}/{os.getpid()}-{Path(files[0]).parent.name}-{number}.parquet",
            compression=COMPRESSION,
        )  # fmt: skip


def alone(client: Client, folders: Sequence[Path], work: Path) -> None:
    """The same files through pyarrow alone, in tasks of the same size."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    tasks = []
    for folder in folders:
        files = sorted(map(str, folder.glob("*.hatchet")))
        tasks += [files[first : first + BATCH] for first in range(0, len(files), BATCH)]
    futures = client.map(pyarrow_alone, tasks, folder=str(work), pure=False)
    wait(futures)
    client.gather(futures)


def ratios(folders: Sequence[Path], work: Path, repeats: int) -> dict[str, Any]:
    """Two workers to one, and the archive to pyarrow alone."""
    ranks = len(list(folders[0].glob("*.hatchet")))
    some = folders[: max(1, MOST_FOR_RATIOS // ranks)]
    times: dict[str, list[float]] = {"one": [], "two": [], "pyarrow": []}
    processor: dict[str, list[float]] = {"archive": [], "pyarrow": []}
    for _ in range(repeats):
        with cluster(1) as client:
            archive = fresh(work / "archive")
            marks = [busy(client)]
            times["one"].append(seconds(lambda archive=archive: archive.ingest(some)))
            marks.append(busy(client))
            times["pyarrow"].append(
                seconds(lambda client=client: alone(client, some, work / "plain"))
            )
            marks.append(busy(client))
            for name, (start, end) in zip(processor, pairwise(marks), strict=True):
                processor[name].append(end - start)
        with cluster(2):
            archive = fresh(work / "archive")
            times["two"].append(seconds(lambda archive=archive: archive.ingest(some)))
    middle = {name: statistics.median(values) for name, values in times.items()}
    pairs = {name: list(zip(times["one"], times[name], strict=True)) for name in ("two", "pyarrow")}
    return {
        "profiles": ranks * len(some),
        "seconds": times,
        "two_workers_to_one": statistics.median(one / two for one, two in pairs["two"]),
        "processor_seconds": processor,
        "archive_to_pyarrow_processor": statistics.median(
            one / other for one, other in zip(*processor.values(), strict=True)
        ),
        "archive_to_pyarrow": statistics.median(one / other for one, other in pairs["pyarrow"]),
        "ms_a_profile": {
            name: 1000 * value / (ranks * len(some)) for name, value in middle.items()
        },
    }


def at_hand(profile: Profile, work: Path, rounds: int = 20) -> dict[str, Any]:
    """Processor time of a profile in memory, put in, and written by pyarrow alone, in turns."""
    profiles = {rank: varied(profile, 0, rank, 1) for rank in range(BATCH)}
    batch = source_of(profiles, "a", None).batches[0]

    def archived(folder: Path) -> None:
        assert not store_batch(store_at(folder), batch, {}).problem

    def written(folder: Path) -> None:
        for rank, each in profiles.items():
            table = parquet_table(each)
            pyarrow.parquet.write_table(table, folder / f"{rank}.parquet", compression=COMPRESSION)

    ways = {"archive": archived, "pyarrow": written}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(-1, rounds):  # the first is for both to warm up
        for name in sorted(ways, reverse=bool(number % 2)):
            folder = work / f"hand-{name}"
            folder.mkdir()
            start = time.process_time()
            ways[name](folder)
            if number >= 0:
                times[name].append(1000 * (time.process_time() - start) / BATCH)
            shutil.rmtree(folder)
    return {
        **{f"{name}_ms": statistics.median(values) for name, values in times.items()},
        "rounds": rounds,
        "ratio": statistics.median(
            one / other for one, other in zip(times["archive"], times["pyarrow"], strict=True)
        ),
    }
