"""Two runs compared: ratios by hand, intervals across ranks, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from builders import document, frame, kernel
from rank_builders import profiled_run, stepped_run

import protonlab
from protonlab import Comparison, MetricError, ProtonLabError, Run
from protonlab.formats import read_profile
from protonlab.model.paired import paired_ratio
from protonlab.model.statistics import paired_ratio_bounds


def run_of(times: Sequence[int], *, name: str = "run", kernel_name: str = "matmul") -> Run:
    """A run of a matmul with a time for each rank, beside a kernel of 100 ns."""
    return Run.from_profiles(
        {
            rank: read_profile(
                document(frame("step", kernel(kernel_name, time, 2)), kernel("norm", 100))
            )
            for rank, time in enumerate(times)
        },
        name=name,
    )


def test_a_rank_is_compared_with_itself() -> None:
    found = run_of([100, 200, 400]).compare(run_of([110, 220, 440]))
    assert found.paired
    matmul = found.kernels.set_index("name").loc["matmul"]
    assert matmul["before"] == pytest.approx(700 / 3)
    assert matmul["after"] == pytest.approx(770 / 3)
    # Each rank is slower by exactly a tenth, however much the ranks differ.
    assert matmul[["ratio", "low", "high"]].tolist() == pytest.approx([1.1, 1.1, 1.1])
    assert matmul["verdict"] == "slower by 10.0 %, 95 % interval 10.0 to 10.0, 3 paired ranks"
    assert found.kernels.set_index("name").loc["norm", "change"] == "unchanged"


def test_the_interval_is_that_of_the_ranks_ratios() -> None:
    before, after = [100, 200, 400], [112, 210, 460]
    matmul = run_of(before).compare(run_of(after)).kernels.set_index("name").loc["matmul"]
    expected = paired_ratio(np.array(before, float), np.array(after, float))
    assert matmul[["ratio", "low", "high"]].tolist() == pytest.approx(
        [expected.estimate, expected.low, expected.high]
    )


def test_other_ranks_are_compared_by_their_means() -> None:
    found = run_of([100, 100, 100]).compare(run_of([120, 120]))
    assert not found.paired
    assert found.ranks == ((0, 1, 2), (0, 1))
    assert found.kernels.set_index("name").loc["matmul", "ratio"] == pytest.approx(1.2)
    assert "The runs have other ranks (ranks 0 to 2 before, ranks 0, 1 after)" in found.notes[0]
    assert found.summary.startswith("mean of 3 and 2 ranks: time 200 ns before, 220 ns after")


def test_a_rank_that_one_run_lacks_is_left_out_of_both() -> None:
    whole = run_of([100, 200, 400])
    without = Run.from_profiles({0: whole.profiles[0], 2: whole.profiles[2]})
    found = without.compare(whole)
    assert found.paired
    assert found.ranks == ((0, 2), (0, 2))
    assert found.kernels["change"].tolist() == ["unchanged", "unchanged"]


def test_the_tree_has_intervals_too() -> None:
    frames = run_of([100, 200]).compare(run_of([110, 220])).frames
    assert frames["name"].tolist() == ["ROOT", "step", "matmul", "norm"]
    assert frames["before"].tolist() == [250, 150, 150, 100]
    assert frames["ratio"].tolist()[1:] == pytest.approx([1.1, 1.1, 1.0])
    assert frames["exclusive_difference"].sum() == pytest.approx(15)
    # Of the whole: 210/200 and 320/300.
    assert frames["ratio"].iloc[0] == pytest.approx(np.sqrt(210 / 200 * 320 / 300))


def test_renamed_kernels_are_found_again_on_every_rank() -> None:
    after = run_of([110, 220], kernel_name="matmul_64x64")
    found = run_of([100, 200], kernel_name="matmul_128x64").compare(after)
    row = found.kernels.set_index("name").loc["matmul_64x64"]
    assert row["renamed_from"] == "matmul_128x64"
    assert row["ratio"] == pytest.approx(1.1)


def test_new_and_gone_kernels_have_no_ratio() -> None:
    found = run_of([1, 2], kernel_name="old").compare(run_of([1, 2], kernel_name="fresh"))
    rows = found.kernels.set_index("name")
    assert rows.loc[["old", "fresh"], "change"].tolist() == ["removed", "added"]
    assert rows.loc[["old", "fresh"], "verdict"].tolist() == ["gone", "new"]


def test_runs_of_different_length_are_compared_by_the_step() -> None:
    found = stepped_run(3, steps=6).compare(stepped_run(3, steps=9))
    matmul = found.kernels.set_index("name").loc["matmul"]
    assert matmul[["before", "after"]].tolist() == [5e6, 5e6]
    assert matmul["change"] == "unchanged"
    assert found.notes[0] == (
        "Ranks recorded 6 to 9 steps: values are those of one step, on average."
    )


def test_one_rank_gives_no_interval() -> None:
    found = run_of([100]).compare(run_of([150]))
    assert found.kernels.set_index("name").loc["matmul", "change"] == "changed"
    assert np.isnan(found.kernels["low"]).all()
    assert "With one rank on a side there is no interval across ranks." in found.notes


def test_a_small_change_of_many_ranks_is_told_from_noise() -> None:
    before = profiled_run(16, seed=0)
    slower = before.compare(profiled_run(16, seed=1, slow=dict.fromkeys(range(16), 1.005)))
    same = before.compare(profiled_run(16, seed=2))
    assert slower.kernels.set_index("name").loc["matmul", "change"] == "changed"
    assert same.kernels.set_index("name").loc["matmul", "change"] == "unchanged"
    assert "Time in collectives is mostly waiting" in " ".join(slower.notes)


def test_every_view_of_a_comparison_shows_it() -> None:
    found = run_of([100, 200], name="monday").compare(run_of([110, 220], name="tuesday"))
    assert isinstance(found, Comparison)
    assert "monday → tuesday" in protonlab.flame(found).layout.title.text
    assert "slower by 10.0 %" in str(protonlab.table(found))
    assert len(protonlab.bars(found).data) > 1


def test_bad_input_is_answered() -> None:
    run = run_of([1, 2])
    with pytest.raises(ProtonLabError, match="a run is compared with a run, not with a Profile"):
        run.compare(run.profiles[0])  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="'gbyte/s' is not a metric"):
        run.compare(run, metric="gbyte/s")
    with pytest.raises(ProtonLabError, match="run 'empty' has no profile of a rank"):
        run.compare(Run("empty", {}))


def test_bounds_of_many_ratios_are_those_of_each() -> None:
    random = np.random.default_rng(0)
    before, after = random.uniform(1, 2, (2, 12, 3))
    before[3, 1] = np.nan
    estimate, low, high = paired_ratio_bounds(before, after)
    for column in range(3):
        expected = paired_ratio(before[:, column], after[:, column])
        found = [estimate[column], low[column], high[column]]
        assert found == pytest.approx([expected.estimate, expected.low, expected.high])
