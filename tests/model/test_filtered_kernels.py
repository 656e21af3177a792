"""Sessions whose filters differ: what was rejected is the kernel that was kept, not another one."""

from __future__ import annotations

import pytest
from builders import Frame, document, frame, kernel

from protonlab import Profile, ProtonLabError, Run, compare
from protonlab.formats import read_profile
from protonlab.model.merging import merged

KERNEL_OF = {"sgd<n=64>": "sgd", "sgd<n=8>": "sgd", "mm [m=8]": "mm"}


def hooked(*frames: Frame, rejects: tuple[str, ...] = ()) -> Profile:
    kept = {"sgd", "mm"} - {*rejects}
    return read_profile(document(*frames)).with_hook(KERNEL_OF, kept, rejects)


def kept(factor: int = 1) -> Profile:
    """All were kept: sgd has two names below one parent, and one of them below another."""
    return hooked(
        frame("a", kernel("sgd<n=64>", 50 * factor, 5), kernel("sgd<n=8>", 10 * factor, bytes=8)),
        frame("b", kernel("mm [m=8]", 100), kernel("sgd<n=8>", 20 * factor, 2)),
    )


def rejected(factor: int = 1) -> Profile:
    return hooked(
        frame("a", kernel("sgd", 60 * factor, 6)),
        frame("b", kernel("mm [m=8]", 100), kernel("sgd", 20 * factor, 2)),
        rejects=("sgd",),
    )


@pytest.mark.parametrize("turned", [False, True])
def test_a_kernel_that_one_filter_rejected_is_compared_with_itself(turned: bool) -> None:
    sides = (rejected(), kept()) if turned else (kept(), rejected())
    comparison = compare(*sides)
    assert comparison.summary.endswith("kernels: 2 unchanged")
    table = comparison.kernels.set_index("name")
    assert table.loc["sgd", ["before", "after", "count_before", "count_after"]].tolist() == [
        80, 80, 8, 8,
    ]  # fmt: skip
    assert comparison.frames["name"].tolist() == ["ROOT", "a", "sgd", "b", "mm [m=8]", "sgd"]
    assert set(comparison.frames["change"]) == {"unchanged"}
    where = "before" if turned else "after"
    assert comparison.notes[0] == (
        f"The filters differ, and {where} alone rejected sgd: compared by compiled name, and what "
        f"launch metadata says of it is missing {where}."
    )


def test_names_of_launches_stay_where_both_filters_agree() -> None:
    for one in (kept, rejected):
        comparison = compare(one(), one())
        assert "filters differ" not in " ".join(comparison.notes)
        assert len(comparison.kernels) == (3 if one is kept else 2)


def test_repeats_are_kept() -> None:
    before, after = (
        merged([(repeat, one(factor)) for repeat, factor in enumerate(factors)])
        for one, factors in ((kept, (1, 2, 3)), (rejected, (2, 4, 6)))
    )
    row = compare(before, after).kernels.set_index("name").loc["sgd"]
    assert row[["before", "after", "ratio"]].tolist() == [480, 960, 2]
    assert row["low"] < 2 < row["high"]
    assert row["verdict"].endswith("(3 repeats)")


def test_runs_compare_the_same_kernels_on_every_rank() -> None:
    before = Run.from_profiles({rank: kept(rank + 1) for rank in range(3)})
    after = Run.from_profiles({rank: rejected(2 * rank + 2) for rank in range(3)})
    found = before.compare(after)
    row = found.kernels.set_index("name").loc["sgd"]
    assert row[["before", "after", "ratio", "low", "high"]].tolist() == pytest.approx(
        [160, 320, 2, 2, 2]
    )
    frames = found.frames.set_index("name").loc[["a", "b"]]
    assert frames[["before", "after"]].values.tolist() == [[120, 240], [140, 180]]
    assert frames.loc["a", ["ratio", "low", "high"]].tolist() == pytest.approx([2, 2, 2])
    assert "after alone rejected sgd" in " ".join(found.notes)


def test_two_runs_are_sent_to_their_own_compare() -> None:
    run = Run.from_profiles({0: kept()})
    with pytest.raises(ProtonLabError, match=r"^before is a Run; two runs are .*run\.compare\(oth"):
        compare(run, run)  # type: ignore[arg-type]
