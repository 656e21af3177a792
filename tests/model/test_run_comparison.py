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
    assert matmul["verdict"] == "10.0 % more time, 95 % interval 10.0 to 10.0, 3 paired ranks"
    norm = found.kernels.set_index("name").loc["norm"]
    assert norm["change"] == "unchanged"
    assert norm["verdict"] == (
        "the same within 1 %, 95 % interval of the ratio 1.00 to 1.00, 3 paired ranks"
    )


def test_the_ratio_is_that_of_the_values_beside_it() -> None:
    before, after = [58, 74, 50], [41, 42, 256]
    found = run_of(before).compare(run_of(after))
    for table in (found.kernels, found.frames):
        row = table.set_index("name").loc["matmul"]
        assert row["ratio"] == row["after"] / row["before"] == pytest.approx(339 / 182)
        # By hand: deviations from the means are -0.593, -0.848 and 1.441 after less before; their
        # standard error is 0.724, and t of two degrees of freedom 4.303.
        bounds = [339 / 182 * np.exp(sign * 4.303 * 0.7244) for sign in (-1, 1)]
        assert row[["low", "high"]].tolist() == pytest.approx(bounds, rel=0.01)
        assert row["verdict"].startswith("cannot tell")


def test_a_rank_that_changed_far_more_is_named() -> None:
    found = run_of([58, 74, 50]).compare(run_of([41, 42, 256]))
    assert found.notes[0] == (
        "matmul changed far more on rank 2 (50.0 ns to 256 ns, ratio 5.12) than on the others "
        "(ratio 0.568 to 0.707)."
    )
    many = profiled_run(16, seed=0).compare(profiled_run(16, seed=1, slow={3: 1.3, 9: 1.2}))
    assert "matmul changed far more on rank 3 (" in many.notes[0]
    assert ", rank 9 (" in many.notes[0]


@pytest.mark.parametrize("slow", [{}, dict.fromkeys(range(16), 1.3), {3: 1.05}])
def test_ranks_that_change_alike_are_not_named(slow: dict[int, float]) -> None:
    found = profiled_run(16, seed=0).compare(profiled_run(16, seed=1, slow=slow))
    assert "far more" not in " ".join(found.notes)


def test_a_kernel_that_one_rank_alone_has_gives_no_interval() -> None:
    def run(time: int) -> Run:
        parts = [
            document(kernel("k", 100), *[kernel("log", time)] * (rank == 0)) for rank in range(4)
        ]
        return Run.from_profiles({rank: read_profile(part) for rank, part in enumerate(parts)})

    row = run(40).compare(run(80)).kernels.set_index("name").loc["log"]
    assert row[["before", "after", "ratio"]].tolist() == [10, 20, 2]
    assert np.isnan(row["low"])
    assert row["verdict"] == "100 % more time, no interval from 1 paired rank"


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
    assert frames["ratio"].iloc[0] == pytest.approx(265 / 250)


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
    assert "10.0 % more time" in str(protonlab.table(found))
    assert len(protonlab.bars(found).data) > 1


def test_bad_input_is_answered() -> None:
    run = run_of([1, 2])
    with pytest.raises(ProtonLabError, match="a run is compared with a run, not with a Profile"):
        run.compare(run.profiles[0])  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="'gbyte/s' is not a metric"):
        run.compare(run, metric="gbyte/s")
    with pytest.raises(ProtonLabError, match="run 'empty' has no profile of a rank"):
        run.compare(Run("empty", {}))


def test_bounds_of_pairs_hold_the_true_ratio_as_often_as_they_say() -> None:
    random = np.random.default_rng(0)
    own = random.uniform(1, 4, (8, 4000))  # what each pair has in common
    before, after = (
        own * random.normal(1, 0.1, own.shape),
        1.1 * own * random.normal(1, 0.1, own.shape),
    )
    low, high = paired_ratio_bounds(before, after)
    assert 0.93 < ((low < 1.1) & (high > 1.1)).mean() < 0.97
    assert np.median(high / low) < 1.3  # not paired: 2.2
    before[3, 0] = np.nan
    without = [np.delete(side, 3, axis=0)[:, :1] for side in (before, after)]
    assert [x[0] for x in paired_ratio_bounds(before, after)] == pytest.approx(
        [x[0] for x in paired_ratio_bounds(*without)]
    )
