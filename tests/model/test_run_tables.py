"""Kernels and frames laid beside each other by rank, with numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import document, frame, kernel

import protonlab
from protonlab import MetricError, Profile, ProtonLabError, Run
from protonlab.formats import read_profile

PROFILES = Path(__file__).parents[1] / "profiles"


def rank(scale: int, *more: object) -> Profile:
    """Two scopes; the kernel of one of them takes `scale` times 100 ns."""
    return read_profile(
        document(
            frame("mlp", kernel("matmul", 100 * scale, 2, bytes=1000), kernel("plain", 50)),
            frame("attn", kernel("matmul", 200, 1, bytes=1000), *more),  # type: ignore[arg-type]
        )
    )


RUN = Run.from_profiles({0: rank(1), 1: rank(2), 3: rank(4, kernel("extra", 40))})


def test_a_kernel_has_a_column_for_each_rank_and_its_spread() -> None:
    table = RUN.by_rank("time")
    assert table["label"].tolist() == ["matmul", "plain", "extra"]
    assert table[[0, 1, 3]].to_numpy().tolist()[:2] == [[300, 400, 600], [50, 50, 50]]
    matmul = table.iloc[0]
    assert matmul[["ranks", "median", "min", "max", "lowest", "highest"]].tolist() == [
        *(3, 400, 300, 600, 0, 3),
    ]
    assert matmul["spread"] == 0.75
    assert table.loc[1, "spread"] == 0
    assert table.loc[1, ["lowest", "highest"]].tolist() == [0, 0]  # the first of equal ones


def test_a_kernel_of_one_rank_alone_is_missing_on_the_others() -> None:
    extra = RUN.by_rank("time").iloc[2]
    assert extra["ranks"] == 1
    assert np.isnan(extra[0])
    assert extra[3] == 40
    assert np.isnan(extra["spread"])


def test_a_rate_is_a_ratio_of_sums_on_each_rank() -> None:
    table = RUN.by_rank("gbyte/s").set_index("label")
    assert table.loc["matmul", [0, 1, 3]].tolist() == pytest.approx([2000 / 300, 5, 2000 / 600])
    assert table.loc["plain", "ranks"] == 0
    launches = RUN.by_rank("avg_time/us").set_index("label")
    assert launches.loc["matmul", 3] == pytest.approx(0.2)


def test_frames_of_one_name_below_one_parent_are_one() -> None:
    table = RUN.by_rank("time", by="frame")
    assert table["label"].tolist() == ["ROOT", "mlp", "matmul", "plain", "attn", "matmul", "extra"]
    assert table["parent_id"].tolist() == [-1, 0, 1, 1, 0, 4, 4]
    assert table["depth"].tolist() == [0, 1, 2, 2, 1, 2, 2]
    assert table[3].tolist() == [690, 450, 400, 50, 240, 200, 40]
    assert table[0].tolist()[:6] == [350, 150, 100, 50, 200, 200]
    assert table["spread"].iloc[0] == (690 - 350) / 450


def test_a_tree_of_another_shape_keeps_the_order_of_the_first_rank() -> None:
    other = read_profile(
        document(kernel("new", 1), frame("attn", kernel("new", 2)), kernel("plain", 3))
    )
    table = Run.from_profiles({0: rank(1), 1: other}).by_rank("time", by="frame")
    names = ["ROOT", "mlp", "matmul", "plain", "attn", "matmul", "new", "new", "plain"]
    assert table["label"].tolist() == names
    assert table[1].fillna(-1).tolist() == [6, -1, -1, -1, 2, -1, 2, 1, 3]


def test_siblings_of_one_name_are_added() -> None:
    twice = read_profile(document(frame("s", kernel("k", 1)), frame("s", kernel("k", 2))))
    table = Run.from_profiles({0: twice}).by_rank("time", by="frame")
    assert table[0].tolist() == [3, 3, 3]


@pytest.fixture(scope="module")
def real() -> Run:
    names = {rank: PROFILES / f"ddp_rank{rank}_3.9.0.hatchet" for rank in (0, 1)}
    return Run.from_profiles({rank: protonlab.load(name) for rank, name in names.items()})  # type: ignore[misc]


@pytest.mark.parametrize("by", ["kernel", "frame"])
def test_numbers_are_those_of_each_profile(real: Run, by: str) -> None:
    metrics = ["time/us", "avg_time/us", "time/%", "count"]
    table = real.to_dataframe(metrics, by=by)  # type: ignore[arg-type]
    for number, profile in real.profiles.items():
        own = table[table["rank"] == number]
        expected = profile.to_dataframe(metrics, by=by)  # type: ignore[arg-type]
        if by == "kernel":
            own, expected = (
                own.set_index("name").sort_index(),
                expected.set_index("name").sort_index(),
            )
        assert [*map(str, own["label"])] == [*map(str, expected["label"])]
        np.testing.assert_allclose(own[metrics], expected[metrics], rtol=1e-12)


def test_the_merged_profile_is_the_sum(real: Run) -> None:
    merged = real.merged()
    assert merged.kernels["time_ns"].sum() == sum(
        profile.kernels["time_ns"].sum() for profile in real.profiles.values()
    )
    assert merged.inclusive["count"].iloc[0] == 635 + 675
    assert merged.info.notes[0] == "Sums over 2 ranks."
    assert len(merged.frames) == 30
    assert merged.metric("time").values(merged.inclusive.iloc[:1]) == [58075628 + 123608222]


def test_frames_of_all_ranks_are_one_table(real: Run) -> None:
    assert real.frames.groupby("rank").size().to_dict() == {0: 28, 1: 30}
    assert real.frames["time_ns"].dtype == pd.Int64Dtype()
    rows = real.frames[real.frames["rank"] == 1]
    own = real.profiles[1].frames
    assert rows["parent_id"].tolist() == own["parent_id"].tolist()
    assert [*map(str, rows["name"])] == [*map(str, own["name"])]


def test_what_profiling_launched_does_not_count() -> None:
    inner = frame("__proton_launch_metadata", kernel("copy", 7))
    run = Run.from_profiles({0: read_profile(document(frame("s", inner, kernel("k", 5))))})
    assert run.by_rank("time", by="frame")[0].tolist() == [5, 5, 5]
    assert run.by_rank("time")["label"].tolist() == ["k"]


def test_bad_input_is_answered() -> None:
    with pytest.raises(MetricError, match="'tim' is not a metric of this profile"):
        RUN.by_rank("tim")
    with pytest.raises(MetricError, match="'util_bound' has no number a rank"):
        RUN.by_rank("util_bound")
    with pytest.raises(MetricError, match="is no metric name"):
        RUN.by_rank(3)  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="by='scope'; use 'kernel' or 'frame'"):
        RUN.by_rank(by="scope")  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="run 'empty' has no profile of a rank, none"):
        Run("empty", {}).by_rank()


def test_notes_say_how_the_ranks_differ() -> None:
    (note,) = RUN.notes
    assert note == "Of 3 kernels, 1 ran on some ranks alone: extra on rank 3."
    one = Run.from_profiles({4: rank(1)})
    assert one.notes == ("One rank, 4: there is no other to compare it with.",)


def test_notes_name_versions_that_differ() -> None:
    def with_triton(version: str) -> Profile:
        from dataclasses import replace

        one = rank(1)
        return replace(one, info=replace(one.info, versions={"triton": version}))

    ranks = {number: with_triton("3.9.0" if number else "3.8.0") for number in range(9)}
    assert Run.from_profiles(ranks).notes == (
        "The version of triton is not the same everywhere: 3.9.0 on ranks 1 to 8, 3.8.0 on rank 0.",
    )


def test_a_column_of_some_ranks_is_missing_on_the_others() -> None:
    tokens = read_profile(document(kernel("k", 10, n_tokens=5)))
    plain = read_profile(document(kernel("k", 10)))
    table = Run.from_profiles({0: plain, 1: tokens}).by_rank("n_tokens/s")
    assert np.isnan(table[0]).all()
    assert table[1].tolist() == pytest.approx([5e8])
