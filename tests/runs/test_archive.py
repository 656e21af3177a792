"""An archive: each profile once, whole, as it was, whatever is appended when and by whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from archives import night, recorded, write_run
from builders import kernel

import protonlab
from protonlab import Archive, Profile, ProtonLabError, Run

PROFILES = Path(__file__).parents[1] / "profiles"


def real(rank: int) -> Profile:
    found = protonlab.load(PROFILES / f"ddp_rank{rank}_3.9.0.hatchet")
    assert isinstance(found, Profile)
    return found


def assert_same(one: Profile, other: Profile) -> None:
    pd.testing.assert_frame_equal(one.frames, other.frames, check_categorical=False)
    assert (one.columns, one.devices, one.info) == (other.columns, other.devices, other.info)


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def frames(archive: Archive) -> pd.DataFrame:
    return archive.to_dask().compute(scheduler="synchronous")


def test_profiles_come_back_as_they_were(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    profiles = {0: real(0), 1: real(1)}
    report = archive.append(Run.from_profiles(profiles, name="night 1/2"))
    assert report[["run", "added", "present"]].values.tolist() == [["night 1/2", 2, 0]]
    assert_same(archive.profile("night 1/2", 1), profiles[1])
    run = Archive(tmp_path / "archive").load_run("night 1/2")
    assert run.ranks == (0, 1)
    assert_same(run.profiles[0], profiles[0])
    assert archive.runs["profiles"].tolist() == [2]


def test_a_folder_of_a_run_keeps_what_its_manifests_say(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "n1", {0: night(0, 100), 1: night(0, 120)}, steps=5,
                       first_step=7, world_size=3)  # fmt: skip
    archive = Archive(tmp_path / "archive")
    archive.append(folder)
    row = archive.runs.iloc[0]
    assert (row["ranks"], row["world_size"], row["when"].isoformat()) == (
        2,
        3,
        "2026-11-01T03:00:00+00:00",
    )
    run = archive.load_run("n1", step=7)
    assert run.missing == (2,)
    assert run.manifests[1].host == "node1"
    with pytest.raises(ProtonLabError, match=r"no step 8; it has \[7\]"):
        archive.load_run("n1", step=8)


def test_the_dataset_is_one_for_everybody(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append({3: real(0), 4: real(1)}, name="a", step=100)
    dataset = pytest.importorskip("pyarrow.dataset")
    table = dataset.dataset(tmp_path, partitioning="hive", exclude_invalid_files=True)
    found = table.to_table().to_pandas()
    assert len(found) == len(real(0).frames) + len(real(1).frames)
    assert sorted({*zip(found["run"], found["rank"], found["step"], strict=True)}) == [
        ("a", 3, 100),
        ("a", 4, 100),
    ]
    (part,) = tmp_path.glob("run=a/rank=3/step=100/part-*.parquet")
    loaded = protonlab.load(part)
    assert isinstance(loaded, Profile)
    assert_same(loaded, real(0))


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    archive.append({0: real(0)}, name="a")
    before = files(tmp_path)
    real(0).save(tmp_path / "again.parquet")
    again = protonlab.load(tmp_path / "again.parquet")
    assert isinstance(again, Profile)
    (tmp_path / "again.parquet").unlink()
    report = archive.append({0: again}, name="a")
    assert report[["added", "present"]].values.tolist() == [[0, 1]]
    assert files(tmp_path) == before
    assert len(frames(archive)) == len(again.frames)


def test_other_contents_of_a_rank_are_an_error_unless_they_are_to_replace(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append({0: night(0, 100), 1: night(0, 100)}, name="a")
    before = files(tmp_path)
    with pytest.raises(
        ProtonLabError, match=r"'a'.* 1 profile .*\(rank 1 at step 0\).*replace=True"
    ):
        archive.append({0: night(0, 100), 1: night(0, 200)}, name="a")
    assert files(tmp_path) == before
    archive.append({1: night(0, 200)}, name="a", replace=True)
    assert {
        rank: p.kernels["time_ns"].sum() for rank, p in archive.load_run("a").profiles.items()
    } == {
        0: 100,
        1: 200,
    }
    assert archive.history("matmul", "time/us")["value"].tolist() == [0.15]
    assert len(list(tmp_path.glob("run=a/rank=1/step=0/*"))) == 1
    assert len(list(tmp_path.glob("_commits/*"))) == 1


def test_a_rank_that_comes_late_and_other_steps_are_added(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append({0: night(0, 100)}, name="a")
    report = archive.append({0: night(0, 100), 1: night(0, 300)}, name="a")
    assert report[["added", "present"]].values.tolist() == [[1, 1]]
    archive.append({0: night(0, 500)}, name="a", step=10)
    assert archive.runs[["ranks", "profiles"]].values.tolist() == [[2, 3]]
    assert archive.history("matmul", "time/us")["value"].tolist() == [0.3]
    with pytest.raises(ProtonLabError, match=r"rank 0 at step 5; it has steps \[0, 10\]"):
        archive.profile("a", 0, step=5)


def test_new_metrics_become_columns_and_nothing_is_written_again(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    first = recorded(kernel("k", 100, 1, n=3, v=[1, 2], t="x"))
    second = recorded(kernel("k", 100, 1, n=0.5, v=[0.5, 1.5], t=7, loss=2.5))
    archive.append(first, name="a")
    before = {path: (tmp_path / path).stat().st_mtime_ns for path in files(tmp_path)}
    archive.append(second, name="b")
    assert before.items() <= {p: (tmp_path / p).stat().st_mtime_ns for p in files(tmp_path)}.items()
    table = frames(archive).query("kind == 'kernel'").set_index("run")
    assert table["n"].tolist() == [3.0, 0.5]
    assert [list(v) for v in table["v"]] == [[1.0, 2.0], [0.5, 1.5]]
    assert table["t"].tolist() == ["x", "7"]
    assert table["loss"].isna().tolist() == [True, False]
    assert table.loc["b", "loss"] == 2.5
    assert archive.history("k", "loss")["value"].tolist()[1] == 2.5
    assert_same(archive.profile("a"), first)
    assert archive.to_dask(["run", "loss"]).columns.tolist() == ["run", "loss"]


def test_metrics_named_as_the_partitions_keep_their_values(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append({5: recorded(kernel("k", 100, 1, rank=3, step=8))}, name="a", step=2)
    table = frames(archive).query("kind == 'kernel'")
    assert table[["rank", "step", "rank_metric", "step_metric"]].values.tolist() == [[5, 2, 3, 8]]


def test_bad_input_is_told_with_what_would_do(tmp_path: Path) -> None:
    def says(text: str) -> Any:
        return pytest.raises(ProtonLabError, match=text)

    with says("Protocol not known: nope.*s3://"):
        Archive("nope://x")
    with says("3 is none"):
        Archive(3)  # type: ignore[arg-type]
    (tmp_path / "notes.txt").write_text("x")
    with says(r"no archive: it holds notes.txt, and no protonlab-archive.json"):
        Archive(tmp_path)
    with says("notes.txt.*is a file"):
        Archive(tmp_path / "notes.txt")
    (tmp_path / "later").mkdir()
    marker = '{"format": "protonlab archive", "version": 2}'
    (tmp_path / "later" / "protonlab-archive.json").write_text(marker)
    with says("version 2; this protonlab reads 1"):
        Archive(tmp_path / "later")
    archive = Archive(tmp_path / "archive")
    with says("holds no run yet"):
        archive.history("matmul")
    assert not (tmp_path / "archive").exists()
    archive.append(night(0, 100), name="night-0")
    with says("no run has a kernel 'matmull'. Did you mean 'matmul'"):
        archive.history("matmull")
    with says("'tim/us' is not a metric.*Did you mean 'time/us'"):
        archive.history("matmul", "tim/us")
    with says("threshold=5; write it as 3% or 0.03"):
        archive.regressions(5)
    with says("no run 'nigt-0'. Did you mean 'night-0'"):
        archive.history("matmul", runs=["nigt-0"])
    with says("by='rank'; use 'gpu' or 'run'"):
        archive.stragglers(by="rank")  # type: ignore[arg-type]
    with says("no column 'x' in these runs; there are run, rank"):
        archive.to_dask(["x"])
    with says("a int cannot be appended"):
        archive.append(3)  # type: ignore[arg-type]
    with says("step=-1"):
        archive.append(night(0, 1), name="a", step=-1)
    with says("name=''; a run in an archive needs a name"):
        archive.append(night(0, 1), name="")
    with says("name='nnnn.*180"):
        archive.append(night(0, 1), name="n" * 300)
    with says("ingest.. takes several folders"):
        archive.ingest("runs")
    with says("is not there"):
        archive.append(tmp_path / "nowhere")
    odd = replace(night(0, 1), info=replace(night(0, 1).info, name="named"))
    assert archive.append(odd)["run"].tolist() == ["named"]
