"""An archive whose stores, writers and files fail: nothing is lost, and nothing there twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest
from archives import Flaky, FlakyBucket, night, write_run
from builders import document, frame

from protonlab import Archive, ProfileFormatError, ProtonLabError, Run
from protonlab.formats import read_profile
from protonlab.runs._leftovers import clean
from protonlab.runs._store import Store


@pytest.fixture(autouse=True)
def _stores() -> Iterator[None]:
    fsspec = pytest.importorskip("fsspec")
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    fsspec.register_implementation("flakybucket", FlakyBucket, clobber=True)
    Flaky.store.clear()
    Flaky.before_write.clear()
    Flaky.calls = 0
    yield
    Flaky.store.clear()
    Flaky.before_write.clear()


def frames(archive: Archive) -> pd.DataFrame:
    return archive.to_dask().compute(scheduler="synchronous")


def test_what_a_writer_was_told_is_there_stays(tmp_path: Path) -> None:
    archive = Archive("flakybucket://b/archive")
    archive.append({9: night(0, 1)}, name="a")

    def other(path: str) -> None:
        if "/_commits/" in path:  # the first has written all parts, and is about to commit
            Flaky.before_write.clear()
            Archive("flakybucket://b/archive").append({0: night(0, 200)}, name="a")

    Flaky.before_write.append(other)
    with pytest.raises(ProtonLabError, match=r"at the same time.*rank 0 at step 0"):
        archive.append({0: night(0, 100), 1: night(0, 100)}, name="a")
    assert archive.profile("a", 0).kernels["time_ns"].sum() == 200
    assert archive.runs["profiles"].tolist() == [2]  # rank 1 was not let in alone


@pytest.mark.parametrize("same", [True, False])
def test_many_writers_at_once_leave_each_profile_once(tmp_path: Path, same: bool) -> None:
    told: list[str] = []
    start = threading.Barrier(6)

    def write(number: int) -> None:
        archive = Archive(tmp_path)
        start.wait()
        try:
            archive.append({0: night(0, 100 if same else 100 + number), 1: night(0, 7)}, name="a")
            told.append(f"there {100 if same else 100 + number}")
        except ProtonLabError as error:
            told.append(str(error))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    there = [text for text in told if text.startswith("there")]
    assert len(told) == 6
    assert len(there) == 6 if same else len(there) <= 1
    archive = Archive(tmp_path)
    if there:
        assert len(frames(archive)) == 2 * len(night(0, 1).frames)
        assert f"there {archive.profile('a').kernels['time_ns'].sum()}" == there[0]
        assert archive.history("matmul", "count")["value"].tolist() == [10]
    else:
        assert archive.runs.empty


@pytest.mark.parametrize("url", ["flaky://b/archive", "flakybucket://b/archive"])
def test_a_store_that_fails_every_third_call(url: str, tmp_path: Path) -> None:
    archive = Archive(url)
    folders = [
        write_run(tmp_path / f"n{n}", {0: night(n, 100 + n), 1: night(n, 100 + n)})
        for n in range(3)
    ]
    report = archive.ingest(folders)
    assert report["problem"].isna().all()
    assert archive.ingest(folders)["present"].tolist() == [2, 2, 2]
    assert archive.history("matmul", "time/us")["value"].tolist() == pytest.approx(
        [0.1, 0.101, 0.102]
    )
    assert len(frames(archive)) == 12
    assert not [path for path in Flaky.store if "/." in path]  # what was written aside is gone
    assert Flaky.calls > 60


def test_a_run_is_read_from_a_store_that_fails_every_third_call(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "n1", {rank: night(0, 100 + rank) for rank in range(4)})
    Flaky.fails = False
    system, place = pytest.importorskip("fsspec").core.url_to_fs("flakybucket://b/n1")
    for path in folder.iterdir():
        system.pipe_file(f"{place}/{path.name}", path.read_bytes())
    Flaky.fails = True
    archive = Archive(tmp_path / "archive")
    report = archive.append("flakybucket://b/n1")
    assert report[["run", "added", "warnings"]].values.tolist() == [["n1", 4, ""]]


def test_a_store_that_fails_for_good_leaves_the_archive_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("protonlab.runs._patience.WAITS", (0.001,) * 4)
    archive = Archive("flakybucket://b/archive")
    archive.append(night(0, 100), name="a")

    def down(path: str) -> None:
        if "/_commits/" in path:
            raise TimeoutError("no answer")

    Flaky.before_write.append(down)
    with pytest.raises(ProtonLabError, match=r"run 'b'.*5 times \(TimeoutError: no answer\)"):
        archive.append(night(1, 100), name="b")
    Flaky.before_write.clear()
    assert archive.runs["run"].tolist() == ["a"]
    assert len(frames(archive)) == 2
    archive.append(night(1, 100), name="b")
    assert len(frames(archive)) == 4


def test_what_an_append_left_behind_is_shown_and_goes_when_it_is_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("protonlab.runs._patience.WAITS", ())
    Flaky.fails = False
    archive = Archive("flakybucket://b/archive")
    archive.append(night(0, 100), name="a")
    assert archive.leftovers.empty

    def down(path: str) -> None:
        if "/_commits/" in path:
            raise TimeoutError("no answer")

    Flaky.before_write.append(down)
    for name in ("b", "c"):
        with pytest.raises(ProtonLabError, match="no answer"):
            archive.append({0: night(1, 100), 1: night(1, 7)}, name=name)
    Flaky.before_write.clear()
    left = archive.leftovers
    assert left["run"].tolist() == ["b", "c", "b", "b", "c", "c"]  # sums, then parts
    assert (left["bytes"] > 100).all()
    assert archive.clean().empty  # another writer may be at it
    archive.append({0: night(1, 100), 1: night(1, 7)}, name="b")
    assert archive.clean(older_than="0s")["run"].tolist() == ["c"] * 3
    assert archive.leftovers.empty
    assert len(frames(archive)) == 6
    assert archive.history("matmul", "count")["profiles"].tolist() == [1, 2]
    with pytest.raises(ProtonLabError, match="older_than=7; write it as '1 day'"):
        archive.clean(older_than=7)  # type: ignore[arg-type]


def test_what_is_written_again_while_others_clean_stays(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append(night(0, 100), name="a")
    (commit,) = tmp_path.glob("_commits/*")
    commit.unlink()
    (part,) = tmp_path.glob("run=a/**/*.parquet")
    contents = part.read_bytes()

    class Busy(Store):
        """Another writer writes the part again, once this one knows how old it is."""

        def modified(self, name: str) -> datetime | None:
            when = super().modified(name)
            if name.startswith("run="):
                part.write_bytes(contents)
            return when

    gone = clean(Busy(str(tmp_path)), "0s")
    assert gone["file"].str.startswith("_kernels/").tolist() == [True]
    assert part.read_bytes() == contents


def test_nothing_of_a_run_goes_whose_commit_cannot_be_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append(night(0, 100), name="a")
    (commit,) = tmp_path.glob("_commits/a@*")
    commit.write_bytes(commit.read_bytes()[:50])
    with pytest.warns(UserWarning, match="no whole commit"):
        assert Archive(tmp_path).clean(older_than="0s").empty
    archive.append(night(1, 100), name="b")
    archive.append(night(1, 200), name="b", replace=True)
    with pytest.warns(UserWarning, match="no whole commit"):
        assert Archive(tmp_path).leftovers.empty


def test_a_place_that_is_not_there_is_named() -> None:
    def no_bucket(path: str) -> None:
        raise FileNotFoundError("The specified bucket does not exist")

    Flaky.before_write.append(no_bucket)
    with pytest.raises(
        ProtonLabError, match=r"flakybucket://b.*The specified bucket does not exist"
    ):
        Archive("flakybucket://b/archive").append(night(0, 100), name="a")


def test_files_that_are_cut_off_are_named_and_repaired(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append(night(0, 100), name="a")
    archive.append(night(1, 100), name="b")
    (part,) = tmp_path.glob("run=a/**/part-*.parquet")
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(ProfileFormatError, match=r"run=a/.*not whole.*replace=True"):
        frames(archive)
    with pytest.raises(ProfileFormatError, match=r"run=a/.*replace=True"):
        archive.profile("a")
    (sums,) = tmp_path.glob("_kernels/run=a/*.parquet")
    sums.write_bytes(b"PAR1")
    with pytest.raises(ProfileFormatError, match=r"_kernels/run=a.*'a'.*replace=True"):
        archive.history("matmul")
    archive.append(night(0, 100), name="a", replace=True)
    assert len(frames(archive)) == 4
    assert len(archive.history("matmul")) == 2


def test_a_commit_that_is_cut_off_leaves_out_its_run_and_says_so(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append(night(0, 100), name="a")
    archive.append(night(1, 100), name="b")
    (commit,) = tmp_path.glob("_commits/a@*")
    commit.write_bytes(commit.read_bytes()[:50])
    with pytest.warns(UserWarning, match=r"no whole commit.*'a'.*append that run again"):
        assert Archive(tmp_path).runs["run"].tolist() == ["b"]
    with pytest.warns(UserWarning, match="no whole commit"):
        Archive(tmp_path).append(night(0, 100), name="a")
    with pytest.warns(UserWarning, match="no whole commit"):
        assert len(frames(Archive(tmp_path))) == 4


def test_a_damaged_run_is_left_out_and_the_others_are_appended(tmp_path: Path) -> None:
    good = write_run(tmp_path / "good", {0: night(0, 100)})
    bad = write_run(tmp_path / "bad", {0: night(0, 100)})
    (bad / "rank-00000.hatchet").write_text("{")
    archive = Archive(tmp_path / "archive")
    stray = tmp_path / "stray"
    stray.mkdir()
    with pytest.warns(UserWarning, match=r"2 of 3 runs were not appended.*\nbad: no rank of it"):
        report = archive.ingest([bad, good, stray])
    assert report["run"].tolist() == ["bad", "good", "stray"]
    assert report["added"].tolist() == [0, 1, 0]
    assert "holds no manifest of a rank" in report["problem"][2]
    assert archive.runs["run"].tolist() == ["good"]
    with pytest.raises(ProtonLabError, match=r"'bad'.*no rank of it has a whole profile"):
        archive.append(bad)
    (tmp_path / "x").mkdir()
    with pytest.raises(ProtonLabError, match=r"both called 'good'.*name="):
        archive.ingest([good, write_run(tmp_path / "x" / "good", {0: night(0, 1)})])


def test_hundreds_of_empty_ranks(tmp_path: Path) -> None:
    empty = read_profile(document(frame("nothing")))
    archive = Archive("memory://empty")
    report = archive.append(Run.from_profiles(dict.fromkeys(range(150), empty), name="a"))
    assert report["added"].tolist() == [150]
    assert len(archive.to_dask(["rank"])) == 300
    assert archive.history()["value"].isna().all()
    assert archive.regressions().empty
    assert archive.stragglers().empty


def test_a_rank_without_kernels_among_others_counts_for_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    full = night(0, 100)
    empty = full.take((full.frames["depth"] == 0).to_numpy())
    archive.append({0: empty}, name="alone")
    archive.append({0: empty, 1: full}, name="a")
    assert archive.history("matmul", "time/us")["value"].tolist() == [0.1]
    assert archive.history("matmul", "util")["profiles"].tolist() == [1]
    assert archive.history(None, "time/us", runs="a")["profiles"].tolist() == [1]
