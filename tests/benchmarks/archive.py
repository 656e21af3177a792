"""How an archive grows: many ranks' profiles put in and asked about, on workers that are processes.

    python tests/benchmarks/archive.py [--profiles 2000] [--repeats 3] [--json PATH] [--folder DIR]

Profiles: 10,000 frames each, seeded: the steps of three real ones (a GPT's training step, a rank of
a data-parallel one, a mixture of experts, all on H200s) again and again, with times, bytes and
flops that scatter by 5 %. Every run is one of 8 ranks in a folder with manifests, as
`protonlab run` leaves it. From two thirds of the runs on some kernels take 10 % longer, and in
every fourth run a rank computes 20 % longer.

Growth: an eighth, a quarter, half, and all of the profiles into a new archive each, on two fresh
workers of one thread; then `history`, `regressions` and `stragglers`. Seconds by the number of
profiles: the fit a + b n, the share of the variance that it explains, and the exponent of a power
law through the same points; of putting in also for the workers' processor time, which says more
where the machine has other things to do. Memory: the most that a worker ever held (VmHWM).

Ratios, on at most 400 of the profiles, in turn, medians of the repeats: two workers to one; and, on
one worker, the archive to pyarrow alone: the same files loaded, their tables written with
``pyarrow.parquet.write_table``, and nothing else. "At hand" is the same without loading: profiles
in memory, 32 as an archive takes at a time, in this process, in processor time.

Last: a run of 2,048 ranks of 200 frames, for what small files hold and cost; and 10,000 empty ranks
as one run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from beside_pyarrow import at_hand, pyarrow_alone, ratios
from local_workers import busy, cluster, fresh, high_water, seconds
from many_ranks import template, varied, write_run

import protonlab
from protonlab import Profile, Run
from protonlab.runs._commits import holdings, read_commits
from protonlab.runs._store import store_at

RANKS = 8
SLOWER_KERNEL = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
PACKAGES = ("pyarrow", "dask", "distributed", "fsspec", "ruptures", "pandas", "numpy")


def growth(folders: Sequence[Path], work: Path) -> list[dict[str, Any]]:
    """Put in and ask, with ever more profiles."""
    rows = []
    for part in (8, 4, 2, 1):
        some = folders[: max(1, len(folders) // part)]
        with cluster(2) as client:
            archive = fresh(work / "archive")
            row: dict[str, Any] = {"profiles": RANKS * len(some)}
            before = busy(client)
            row["ingest_s"] = seconds(lambda archive=archive, some=some: archive.ingest(some))
            row["ingest_processor_s"] = busy(client) - before
            row["worker_bytes_after_ingest"] = max(client.run(high_water).values())
            archive.history(SLOWER_KERNEL)  # the workers import what answers need
            row["history_s"] = seconds(lambda archive=archive: archive.history(SLOWER_KERNEL))
            row["regressions_s"] = seconds(archive.regressions)
            row["stragglers_s"] = seconds(archive.stragglers)
            row["worker_bytes"] = max(client.run(high_water).values())
            row["this_process_bytes"] = high_water()
            row["regressions_found"] = len(archive.regressions("5%"))
            row["stragglers_found"] = archive.stragglers()["gpu_uuid"].tolist()
            files = [path for path in (work / "archive").rglob("*") if path.is_file()]
            row["files"] = len(files)
            for kind, head in (("part", "run="), ("kernel", "_kernels"), ("commit", "_commits")):
                sizes = [
                    f.stat().st_size
                    for f in files
                    if f.relative_to(work / "archive").parts[0].startswith(head)
                ]
                row[f"{kind}_files"], row[f"{kind}_bytes"] = len(sizes), sum(sizes)
            rows.append(row)
            print(
                f"{row['profiles']:6} profiles: ingest {row['ingest_s']:7.1f} s, history "
                f"{row['history_s']:.2f} s, regressions {row['regressions_s']:.2f} s, stragglers "
                f"{row['stragglers_s']:.2f} s; a worker held {row['worker_bytes'] / 2**20:.0f} MiB"
            )
    return rows


def fitted(rows: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    """Fit seconds by profiles."""
    n = np.array([row["profiles"] for row in rows], float)
    t = np.array([row[name] for row in rows])
    slope, start = np.polyfit(n, t, 1)
    left = t - (start + slope * n)
    return {
        "start_s": start,
        "ms_a_profile": 1000 * slope,
        "explained": float(1 - (left**2).sum() / ((t - t.mean()) ** 2).sum()),
        "exponent": float(np.polyfit(np.log(n), np.log(t), 1)[0]),
    }


def wide_run(work: Path, ranks: int = 2048) -> dict[str, float]:
    """One run of many ranks that recorded 200 frames each: what its small files cost."""
    small = template(200)
    base = [varied(small, 0, rank, 1) for rank in range(64)]
    profiles = {
        rank: replace(base[rank % 64], info=replace(base[rank % 64].info, name=f"rank {rank}"))
        for rank in range(ranks)
    }
    archive = fresh(work / "wide")
    archive.append(profiles, name="a")
    row: dict[str, float] = {"ranks": ranks}
    for kind, head in (("kernel", "_kernels"), ("commit", "_commits")):
        sizes = [path.stat().st_size for path in (work / "wide" / head).rglob("*.parquet")]
        row[f"{kind}_files"] = len(sizes)
        row[f"{kind}_bytes_a_profile"] = sum(sizes) / ranks
    held = holdings(read_commits(store_at(work / "wide")))["a"]
    row["memory_bytes_a_row"] = held.parts.nbytes / ranks
    asked = {
        "history": lambda: archive.history(SLOWER_KERNEL),
        "regressions": archive.regressions,
        "stragglers": archive.stragglers,
    }
    for name, call in asked.items():
        call()
        start = time.process_time()
        call()
        row[f"{name}_processor_ms_a_file"] = (
            1000 * (time.process_time() - start) / row["kernel_files"]
        )
    return row


def empty_ranks(profile: Profile, work: Path, ranks: int) -> dict[str, float]:
    """A run of ranks that recorded nothing, each of which says so in its own name."""
    nothing = profile.take(np.arange(len(profile.frames)) == 0)
    folder = write_run(work / "empty ranks", nothing, 0, 1, ranks)
    archive = fresh(work / "empty")
    row: dict[str, float] = {"ranks": ranks}
    loaded: list[Run] = []
    row["load_run_s"] = seconds(lambda: loaded.append(protonlab.load_run(folder)))
    row["notes_s"] = seconds(lambda: loaded[0].notes)
    row["append_s"] = seconds(lambda: archive.append(loaded[0], name="a"))
    row["stragglers_s"] = seconds(archive.stragglers)
    start = time.process_time()
    (work / "plain").mkdir(exist_ok=True)
    pyarrow_alone(sorted(map(str, folder.glob("*.hatchet")))[:500], str(work / "plain"))
    row["pyarrow_alone_ms_a_rank"] = 2 * (time.process_time() - start)
    row["this_process_bytes"] = high_water()
    return row


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--profiles", type=int, default=2000)
    options.add_argument("--frames", type=int, default=10_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--empty", type=int, default=10_000, help="empty ranks of one run")
    options.add_argument("--json", type=Path)
    options.add_argument("--folder", type=Path, help="where to work; 3 MB a profile are needed")
    given = options.parse_args()
    runs = max(8, given.profiles // RANKS)
    result: dict[str, Any] = {
        "protocol": " ".join((__doc__ or "").split("\n\n", 2)[2].split()),
        "profiles": RANKS * runs,
        "frames": given.frames,
        "ranks_a_run": RANKS,
        "repeats": given.repeats,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {"cpus": os.cpu_count(), "arch": platform.machine()},
        "load_average_before": os.getloadavg(),
        "versions": {name: version(name) for name in PACKAGES}
        | {"python": platform.python_version(), "protonlab": protonlab.__version__},
    }
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        work = Path(name)
        profile = template(given.frames)
        with cluster(2) as client:
            [profile_there] = client.scatter([profile], broadcast=True)
            made = [
                client.submit(write_run, work / "runs" / f"night-{run:05d}", profile_there,
                              run, runs, RANKS)
                for run in range(runs)
            ]  # fmt: skip
            folders = client.gather(made)
        size = sum(path.stat().st_size for path in folders[0].iterdir())
        result["kernels"] = len(profile.kernels)
        result["bytes_a_recorded_profile"] = size / RANKS
        print(f"{RANKS * runs} profiles of {given.frames} frames, {size / RANKS / 1e6:.1f} MB each")
        result["growth"] = rows = growth(folders, work)
        result["fits"] = {
            name: fitted(rows, f"{name}_s")
            for name in ("ingest", "ingest_processor", "history", "regressions", "stragglers")
        }
        for name, fit in result["fits"].items():
            print(
                f"{name}: {fit['start_s']:.2f} s + {fit['ms_a_profile']:.2f} ms a profile explains "
                f"{100 * fit['explained']:.1f} %, exponent {fit['exponent']:.2f}"
            )
        result["ratios"] = found = ratios(folders, work, given.repeats)
        print(f"two workers to one: {found['two_workers_to_one']:.2f} times")
        print(
            f"archive to pyarrow alone: {found['archive_to_pyarrow']:.2f}, from files; by "
            f"processor time {found['archive_to_pyarrow_processor']:.2f}"
        )
        result["at_hand"] = hand = at_hand(profile, work)
        print(f"archive to pyarrow alone: {hand['ratio']:.2f}, of profiles at hand")
        result["wide"] = wide = wide_run(work)
        print(
            f"a run of {wide['ranks']} ranks: {wide['kernel_files']} files of sums, "
            f"{wide['kernel_bytes_a_profile']:.0f} bytes a profile, and "
            f"{wide['commit_bytes_a_profile']:.0f} in the commit"
        )
        result["empty"] = empty = empty_ranks(profile, work, given.empty)
        print(
            f"{given.empty:,} empty ranks: load_run {empty['load_run_s']:.1f} s, notes "
            f"{empty['notes_s']:.1f} s, append {empty['append_s']:.1f} s"
        )
    result["load_average_after"] = os.getloadavg()
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
