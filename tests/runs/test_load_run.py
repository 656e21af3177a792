"""A run's folder read: what is whole, what is missing, and what was found amiss."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from builders import document, kernel

import protonlab
from protonlab import MissingDependencyError, Profile, ProtonLabError, load_run
from protonlab.formats import read_profile
from protonlab.model.manifest import RankManifest, manifest_name

PROFILES = Path(__file__).parents[1] / "profiles"


def record(
    folder: Path,
    rank: int,
    *,
    world_size: int = 4,
    again: int = 0,
    time_ns: int = 100,
    **values: Any,
) -> None:
    """Write what a rank leaves in its folder."""
    name = manifest_name(rank, again)
    file = name.replace(".json", ".hatchet")
    state = values.pop("state", "complete")
    if state != "recording":
        read_profile(document(kernel("matmul", time_ns))).save(folder / file)
    values = {"files": (file,) if state == "complete" else ()} | values
    manifest = RankManifest(rank, world_size, state, "2026-11-30T07:30:00+00:00", **values)
    (folder / name).write_text(json.dumps(manifest.to_dict()))


def test_whole_ranks_are_there_and_the_others_missing(tmp_path: Path) -> None:
    record(tmp_path, 0)
    record(tmp_path, 2, state="recording")
    record(tmp_path, 3, state="failed", error="ValueError: no data")
    run = load_run(tmp_path)
    assert run.name == tmp_path.name
    assert run.ranks == (0,)
    assert run.missing == (1, 2, 3)
    assert [*run.manifests] == [0, 2, 3]
    assert any("Rank 2 began to record at 2026" in text for text in run.warnings)
    assert any("Rank 3 failed: ValueError: no data" in text for text in run.warnings)


def test_many_ranks_that_ended_alike_are_told_of_together(tmp_path: Path) -> None:
    record(tmp_path, 0, world_size=9, state="failed", error="ValueError: no data")
    for rank in range(1, 9):
        record(tmp_path, rank, world_size=9)
        files = (f"rank-{rank:05d}.hatchet",) if rank < 6 else ()
        record(tmp_path, rank, world_size=9, state="failed", error="ended by SIGTERM", files=files)
    assert load_run(tmp_path).warnings == (
        "Rank 0 failed: ValueError: no data (rank-00000.json).",
        "Ranks 1 to 5 failed: ended by SIGTERM; what they had recorded by then is here.",
        *(f"Rank {rank} failed: ended by SIGTERM (rank-0000{rank}.json)." for rank in (6, 7, 8)),
    )


def test_many_manifests_without_files_are_told_of_together(tmp_path: Path) -> None:
    for rank in range(5):
        record(tmp_path, rank, world_size=5, files=())
    assert load_run(tmp_path).warnings == (
        "Ranks 0 to 4: manifests say complete and name no file, so nothing of them is here.",
    )


def test_profiles_are_those_that_were_saved(tmp_path: Path) -> None:
    record(tmp_path, 0, world_size=2, time_ns=100)
    record(tmp_path, 1, world_size=2, time_ns=300)
    run = load_run(tmp_path)
    times = {rank: profile.kernels["time_ns"].sum() for rank, profile in run.profiles.items()}
    assert times == {0: 100, 1: 300}
    assert run.missing == run.warnings == ()


def test_traces_are_read_too(tmp_path: Path) -> None:
    name = "ddp_trace_rank0_3.9.0.chrome_trace.gz"
    (tmp_path / name).write_bytes((PROFILES / name).read_bytes())
    record(tmp_path, 0, world_size=1, files=(name,))
    run = load_run(tmp_path)
    assert run.ranks == (0,)
    assert not run.profiles
    assert len(run.traces[0].kernels) == 23


def test_of_a_rank_recorded_twice_the_last_complete_one_counts(tmp_path: Path) -> None:
    record(tmp_path, 0, world_size=1, time_ns=100)
    record(tmp_path, 0, world_size=1, time_ns=200, again=1)
    record(tmp_path, 0, world_size=1, state="recording", again=2)
    run = load_run(tmp_path)
    assert run.profiles[0].kernels["time_ns"].sum() == 200
    assert run.warnings == (
        "Rank 0 was recorded 2 times, in rank-00000.json, rank-00000-1.json; the last, "
        "rank-00000-1.json, counts.",
    )


def test_a_manifest_without_files_is_said_so(tmp_path: Path) -> None:
    record(tmp_path, 0)
    record(tmp_path, 1, files=())
    record(tmp_path, 2, files=("gone.hatchet",))
    run = load_run(tmp_path)
    assert run.ranks == (0,)
    assert run.missing == (1, 2, 3)
    assert "Rank 1: rank-00001.json says complete and names no file" in run.warnings[0]
    assert "Rank 2: rank-00002.json names gone.hatchet, which is not there." in run.warnings


def test_what_was_cut_off_costs_its_rank_alone(tmp_path: Path) -> None:
    for rank in range(3):
        record(tmp_path, rank, world_size=3)
    half = tmp_path / "rank-00001.hatchet"
    half.write_bytes(half.read_bytes()[:50])
    (tmp_path / "rank-00002.json").write_text('{"schema": 1, "ra')
    run = load_run(tmp_path)
    assert run.missing == (1, 2)
    assert "Rank 1: rank-00001.hatchet cannot be read" in run.warnings[0]
    assert "Rank 2: rank-00002.json: no JSON" in run.warnings[1]


def test_a_manifest_of_another_rank_is_passed_over(tmp_path: Path) -> None:
    record(tmp_path, 0)
    (tmp_path / "rank-00001.json").write_text((tmp_path / "rank-00000.json").read_text())
    run = load_run(tmp_path)
    assert run.missing == (1, 2, 3)
    assert run.warnings == ("rank-00001.json says that it is of rank 0; it was passed over.",)


def test_a_url_of_any_file_system_will_do(tmp_path: Path) -> None:
    record(tmp_path, 0, world_size=1)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path), "/runs/nightly", recursive=True)
    try:
        run = load_run("memory://runs/nightly")
    finally:
        memory.rm("/runs", recursive=True)
    assert run.name == "nightly"
    assert run.ranks == (0,)


def test_a_link_lends_the_run_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "2026-11-30").mkdir()
    record(tmp_path / "2026-11-30", 0, world_size=1)
    (tmp_path / "latest").symlink_to("2026-11-30")
    monkeypatch.chdir(tmp_path / "2026-11-30")
    assert [load_run(each).name for each in ("../latest/", ".")] == ["latest", "2026-11-30"]


def test_without_fsspec_folders_of_this_machine_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, 0, world_size=1)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert load_run(tmp_path).ranks == (0,)
    with pytest.raises(MissingDependencyError, match=r"pip install 'protonlab\[cluster\]'"):
        load_run("s3://bucket/run")
    with pytest.raises(ProtonLabError, match="nowhere is not there"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(ProtonLabError, match="by its path or URL, not by a list"):
        load_run([tmp_path])  # type: ignore[arg-type]


def test_what_is_no_run_is_an_error_that_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(ProtonLabError, match=r"holds no manifest of a rank.*It holds: nothing"):
        load_run(tmp_path)
    (tmp_path / "proton.hatchet").write_text("[]")
    with pytest.raises(ProtonLabError, match=r"It holds: proton.hatchet. .*from_profiles"):
        load_run(tmp_path)
    with pytest.raises(ProtonLabError, match="is a file; give the folder of a run"):
        load_run(tmp_path / "proton.hatchet")
    with pytest.raises(ProtonLabError, match="nowhere is not there"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(ProtonLabError, match="nosuch"):
        load_run("nosuch://bucket/run")
    (tmp_path / "runs" / "night").mkdir(parents=True)
    with pytest.raises(ProtonLabError, match=r"It holds: night/\. "):
        load_run(tmp_path / "runs")
    (tmp_path / "runs" / "protonlab-archive.json").write_text("{}")
    with pytest.raises(ProtonLabError, match=r"is an archive; protonlab.Archive\('.*'\) opens it"):
        load_run(tmp_path / "runs")


def test_load_points_to_load_run(tmp_path: Path) -> None:
    record(tmp_path, 0)
    with pytest.raises(ProtonLabError, match="is a folder; load_run"):
        protonlab.load(tmp_path)


def test_what_ranks_wrote_alike_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks, read = 60, []
    for rank in range(ranks):
        record(tmp_path, rank, world_size=ranks)
    record(tmp_path, 7, world_size=ranks, time_ns=300)
    for rank in range(10, ranks):  # sessions in which nothing was launched
        read_profile(document()).save(tmp_path / f"rank-{rank:05d}.hatchet")

    def load_and_count(data: bytes) -> Any:
        read.append(data)
        return protonlab.load(data)

    monkeypatch.setattr("protonlab.runs._load_run.load", load_and_count)
    run = load_run(tmp_path)
    assert len(read) == len(set(read)) == 3
    assert run.ranks == tuple(range(ranks))
    assert run.notes[-1].startswith(
        "Of 1 kernel, 1 ran on some ranks alone: matmul on ranks 0 to 9"
    )
    # Of shared tables each rank still has its own rows, and of each row its own values.
    frames = run.frames
    assert frames["rank"].tolist() == [*np.repeat(range(10), 2), *range(10, ranks)]
    assert frames["frame_id"].tolist() == [0, 1] * 10 + [0] * (ranks - 10)
    times = frames.loc[frames["kind"] == "kernel"].set_index("rank")["time_ns"]
    assert times.to_dict() == {rank: 300 if rank == 7 else 100 for rank in range(10)}


def test_ranks_that_left_nothing_cost_little(tmp_path: Path) -> None:
    ranks = 1_000
    for rank in range(ranks):
        record(tmp_path, rank, world_size=10_000, state="recording")
    start = time.process_time()
    run = load_run(tmp_path)
    assert time.process_time() - start < 3
    assert len(run.missing) == 10_000
    assert run.warnings == (
        "Ranks 0 to 999 began to record and did not end: they were killed, or are still at it.",
    )
    with pytest.raises(ProtonLabError, match=r"has no profile of a rank, none. Ranks 0 to 999"):
        run.by_rank("time")
    assert isinstance(run, protonlab.Run)
    assert not any(isinstance(each, Profile) for each in run.profiles.values())
