"""What an archive answers over many runs: by hand, and on series whose truth is known."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from archives import night, recorded, write_run
from builders import document, frame, kernel

from protonlab import Archive, MetricError
from protonlab.formats import read_profile
from protonlab.model.steps import step_ratio
from protonlab.runs._change_points import segments

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def test_rates_are_ratios_of_sums_and_amounts_means_a_profile(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.append(
        {
            0: recorded(kernel("a", 1000, 2, bytes=4000), kernel("b", 3000, 1)),
            1: recorded(frame("s", kernel("a", 3000, 4, bytes=4000)), kernel("a", 2000, 4)),
            2: recorded(kernel("b", 1000, 1)),
        },
        name="n",
    )
    expected = {
        "avg_time/us": 0.6,  # 6 µs in 10 launches
        "gbyte/s": 8000 / 6000,
        "time/us": 3.0,  # 6 µs on two ranks that have it
        "count": 5.0,
        "bytes": 4000.0,
        "time/%": 100 * 6 / 9,  # of all that those two ranks did
        "bytes/count": 800.0,
    }
    for metric, value in expected.items():
        row = archive.history("a", metric).iloc[0]
        assert row["value"] == pytest.approx(value), metric
    row = archive.history("a", "avg_time/us").iloc[0]
    assert row[["profiles", "lowest", "highest", "highest_rank"]].tolist() == [2, 0.5, 0.625, 1]
    assert archive.history(None, "time/us")["value"].tolist() == pytest.approx([10 / 3])
    util = archive.history("a", "util")["value"].item()
    both = archive.load_run("n").merged().to_dataframe("util", by="kernel")
    assert util == pytest.approx(both.set_index("name")["util"]["a"])
    with pytest.raises(MetricError, match="'time/%parent' has no number"):
        archive.history("a", "time/%parent")


def test_what_profiling_launched_counts_for_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    launched = frame("__proton_launch_metadata", frame("a", kernel("copy", 500, 3)))
    archive.append(read_profile(document(launched, kernel("a", 100, 1))), name="n")
    assert archive.history(None, "time/us")["value"].tolist() == [0.1]
    with pytest.raises(MetricError, match="no run has a kernel 'copy'"):
        archive.history("copy")


def test_a_kernel_is_found_by_its_name_its_label_and_its_compiled_name(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    mangled = (
        "_ZN2at6native29vectorized_elementwise_kernelILi4E"
        "NS0_11FillFunctorIlEESt5arrayIPcLm1EEEEviT0_"
    )
    profile = recorded(kernel("f [m=8]", 100, 1), kernel("f [m=16]", 300, 1), kernel(mangled, 7, 1))
    profile = profile.with_hook({"f [m=8]": "f", "f [m=16]": "f"}, {"f"}, set())
    archive.append(profile, name="n")
    assert archive.history("f [m=8]", "time/us")["value"].tolist() == [0.1]
    assert archive.history("f", "time/us")["value"].tolist() == [0.4]
    label = profile.frames["label"].astype(str).iloc[3]
    assert label != mangled
    assert archive.history(label, "count")["value"].tolist() == [1]


def nights(archive: Archive, times: list[int], **versions: str) -> None:
    for number, time in enumerate(times):
        of = {"triton": "3.9.0" if number < 6 else versions.get("triton", "3.9.0")}
        archive.append(night(number, time, versions=of), name=f"night-{number:02d}")


def test_a_history_tells_when_the_level_changed_and_what_changed_with_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    nights(archive, [1000, 1010, 990, 1000, 1005, 995, 1200, 1210, 1190], triton="3.10.0")
    found = archive.history("matmul", "time/us")
    assert found["run"].tolist() == [f"night-{number:02d}" for number in range(9)]
    assert found["change"].tolist() == [False] * 6 + [True] + [False] * 2
    assert found["level"].tolist() == [1.0] * 6 + [1.2] * 3
    row = found.iloc[6]
    assert row["ratio"] == pytest.approx(1.2, rel=1e-3)
    assert 1.18 < row["low"] < 1.2 < row["high"] < 1.22
    assert row["changed_with"] == "triton 3.9.0 → 3.10.0"
    only = archive.history("matmul", runs="night-0[0-5]")
    assert not only["change"].any()


def test_runs_come_in_the_order_of_time_whatever_the_order_of_appending(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for number in (2, 0, 1):
        archive.append(night(number, 100 + number), name=f"{9 - number}")
    assert archive.runs["run"].tolist() == ["9", "8", "7"]
    values = archive.history("matmul", "time/us")["value"].tolist()
    assert values == pytest.approx([0.1, 0.101, 0.102])


def test_regressions_that_stand(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    noise = np.random.default_rng(0).normal(1, 0.002, (12, 5))
    for number, row in enumerate(noise):
        late = number >= 8
        slower, recovered = 1.1 if late else 1.0, 1.3 if 3 <= number < 6 else 1.0
        kernels = {
            "steady": 5000,
            "slower": 3000 * slower,
            "recovered": 3000 * recovered,
            "faster": 3000 / slower,
            "a little": 3000 * (1.02 if late else 1.0),
        }
        rows = [
            kernel(name, int(time * x), 10, bytes=1000)
            for (name, time), x in zip(kernels.items(), row, strict=True)
        ]
        archive.append(
            recorded(*rows, when=f"2026-11-{number + 1:02d}T00:00:00Z"), name=f"n{number:02d}"
        )
    found = archive.regressions("5%")
    assert found["name"].tolist() == ["slower"]
    row = found.iloc[0]
    assert row["since"] == "n08"
    assert row["ratio"] == pytest.approx(1.1, rel=0.005)
    assert row["low"] < 1.1 < row["high"]
    assert (row["runs_before"], row["runs_after"]) == (8, 4)
    assert 0.15 < row["share"] < 0.25
    assert archive.regressions(0.01)["name"].tolist() == ["slower", "a little"]
    assert archive.regressions("5%", metric="gbyte/s")["name"].tolist() == ["slower"]
    assert archive.regressions("5%", metric="gbyte/s")["ratio"].item() == pytest.approx(
        1 / 1.1, rel=0.01
    )
    assert archive.regressions("5%", runs="n0[0-7]").empty
    assert archive.regressions("20%").empty


def test_a_newest_run_without_the_kernel_hides_no_regression_in_silence(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    noise = np.random.default_rng(0).normal(1, 0.002, 10)
    for number, factor in enumerate(noise):
        archive.append(
            night(number, int(3000 * factor * (1.3 if number > 5 else 1))), name=f"n{number}"
        )
    archive.append(recorded(frame("nothing"), when="2026-11-20T00:00:00Z"), name="crashed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert archive.regressions()["name"].tolist() == ["matmul"]
    archive.append(recorded(kernel("add", 10, 1), when="2026-11-21T00:00:00Z"), name="other job")
    with pytest.warns(
        UserWarning, match=r"1 kernel had .* 'other job', is without: matmul\. If"
    ) as told:
        assert archive.regressions().empty
    assert told[0].filename == __file__
    assert archive.regressions(runs="n*")["name"].tolist() == ["matmul"]


def test_a_gpu_that_is_slow_again_and_again_is_found_wherever_it_is(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    rng = np.random.default_rng(1)
    folders = []
    for number in range(4):
        bad = number % 6 if number else None  # the same GPU, another rank each night
        profiles, uuids = {}, {}
        for rank in range(6):
            compute = int(1_000_000 * (1.2 if rank == bad else 1) * rng.normal(1, 0.002))
            profiles[rank] = recorded(
                kernel("gemm", compute, 10),
                kernel(NCCL, 2_000_000 - compute, 10),
                when=f"2026-11-0{number + 1}T00:00:00Z",
            )
            uuids[rank] = "GPU-bad" if rank == bad else f"GPU-{number}-{rank}"
        folder = write_run(tmp_path / f"n{number}", profiles)
        for rank, uuid in uuids.items():
            path = folder / f"rank-{rank:05d}.json"
            path.write_text(path.read_text().replace(f'"GPU-{rank}"', f'"{uuid}"'))
        folders.append(folder)
    archive.ingest(folders)
    found = archive.stragglers()
    assert found["gpu_uuid"].tolist() == ["GPU-bad"]
    row = found.iloc[0]
    assert row[["ranks", "slow_runs", "runs", "waited_for", "since", "last"]].tolist() == [
        *("1, 2, 3", 3, 3, 3, "n1", "n3"),
    ]
    assert row["longer"] == pytest.approx(0.2, abs=0.01)
    by_run = archive.stragglers(by="run")
    assert by_run["waited_for"].tolist() == ["", "1", "2", "3"]
    assert "probably waited for" in by_run["verdict"].iloc[1]


def test_change_points_of_known_series() -> None:
    rng = np.random.default_rng(0)
    flat = 10 * rng.normal(1, 0.01, 40)
    assert set(segments(flat)) == {0}
    stepped = flat * np.where(np.arange(40) < 25, 1, 1.1)
    assert np.flatnonzero(np.diff(segments(stepped))).tolist() == [24]
    gap = stepped.copy()
    gap[3] = np.nan
    assert segments(gap)[3] == -1
    assert segments(gap)[-1] == 1
    assert set(segments(np.array([1.0, 2.0, 3.0]))) == {0}  # too few to tell
    assert set(segments(np.zeros(8))) == {0}
    assert set(segments(np.full(8, 3.0))) == {0}
    last = np.array([5.0, 5, 5, 5, 5, 5, 5, 6])
    assert segments(last).tolist() == [0] * 7 + [1]
    signed = np.array([-1.0, 1, -1, 1, -1, 1, 50, 51, 50, 51])
    assert segments(signed).tolist() == [0] * 6 + [1] * 4


def test_false_alarms_are_as_rare_as_is_said() -> None:
    rng = np.random.default_rng(3)
    for n, most in ((6, 0.08), (10, 0.05), (60, 0.02)):
        series = 100 * rng.normal(1, 0.01, (200, n))
        assert np.mean([segments(row).max() > 0 for row in series]) <= most


def test_interval_of_a_step_covers_its_ratio() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        found = step_ratio(rng.normal(100, 1, 6), 1.05 * rng.normal(100, 1, 1))
        held += found.low <= 1.05 <= found.high
    assert 0.92 < held / 400 < 0.98
    assert np.isnan(step_ratio(np.array([1.0]), np.array([2.0])).low)
