"""Two profiles compared: numbers worked out by hand, and totals that reconcile exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders import H200, Frame, document, frame, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

import protonlab
from protonlab import Comparison, MetricError, Profile, ProtonLabError, compare

PROFILES = Path(__file__).parent.parent / "profiles"


def loaded(*frames: Frame, devices: Any = H200) -> Profile:
    profile = protonlab.load(document(*frames, devices=devices))
    assert isinstance(profile, Profile)
    return profile


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Values as plain Python, None where missing."""
    return [
        tuple(None if pd.isna(value) else value for value in row)
        for row in table[list(columns)].itertuples(index=False)
    ]


def by_hand() -> Comparison:
    """Total 600 before, 652 after."""
    return compare(
        loaded(
            frame("mlp", kernel("matmul", 400, 4), kernel("gelu", 100)),
            frame("attn", kernel("softmax", 100)),
        ),
        loaded(
            frame("mlp", kernel("matmul", 300, 4), kernel("gelu", 101), kernel("copy", 50)),
            frame("loss", kernel("nll", 201)),
        ),
    )


def test_kernels_by_hand() -> None:
    columns = ("name", "change", "before", "after", "difference", "ratio")
    assert rows(by_hand().to_dataframe(), *columns) == [
        ("nll", "added", None, 201, 201, None),
        ("matmul", "changed", 400, 300, -100, 0.75),
        ("softmax", "removed", 100, None, -100, None),
        ("copy", "added", None, 50, 50, None),
        ("gelu", "unchanged", 100, 101, 1, 1.01),
    ]


def test_frames_by_hand() -> None:
    columns = ("name", "depth", "parent_id", "change", "before", "after", "difference")
    assert rows(by_hand().frames, *columns) == [
        ("ROOT", 0, -1, "changed", 600, 652, 52),
        ("mlp", 1, 0, "changed", 500, 451, -49),
        ("matmul", 2, 1, "changed", 400, 300, -100),
        ("gelu", 2, 1, "unchanged", 100, 101, 1),
        ("copy", 2, 1, "added", None, 50, 50),
        ("attn", 1, 0, "removed", 100, None, -100),
        ("softmax", 2, 5, "removed", 100, None, -100),
        ("loss", 1, 0, "added", None, 201, 201),
        ("nll", 2, 7, "added", None, 201, 201),
    ]
    frames = by_hand().frames
    assert frames["exclusive_difference"].tolist() == [0, 0, -100, 1, 50, 0, -100, 0, 201]
    assert frames["before_frame"].tolist() == [0, 1, 2, 3, -1, 4, 5, -1, -1]
    assert frames["after_frame"].tolist() == [0, 1, 2, 3, 4, -1, -1, 5, 6]
    assert frames["kind"].tolist()[:3] == ["root", "scope", "kernel"]


def test_summary_and_repr_are_one_line() -> None:
    expected = (
        "time 600 ns before, 652 ns after: 8.7 % more time; "
        "kernels: 2 added, 1 removed, 1 changed, 1 unchanged"
    )
    assert by_hand().summary == expected
    assert repr(by_hand()) == f"<Comparison: {expected}>"


def test_a_table_of_frames_or_of_kernels() -> None:
    assert by_hand().to_dataframe("frame")["name"].tolist()[:2] == ["ROOT", "mlp"]
    with pytest.raises(ProtonLabError, match="by='scope'; use 'kernel' or 'frame'"):
        by_hand().to_dataframe("scope")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "change"),
    [(10_000, "unchanged"), (10_100, "unchanged"), (9_900, "unchanged"), (10_101, "changed"),
     (9_899, "changed")],
)  # fmt: skip
def test_without_repeats_one_percent_is_unchanged(after: int, change: str) -> None:
    comparison = compare(loaded(kernel("k", 10_000)), loaded(kernel("k", after)))
    assert comparison.kernels["change"].tolist() == [change]
    assert "verdict" not in comparison.kernels
    assert any("record with repeat=20 to tell" in note for note in comparison.notes)


# A tree as nested tuples: a name, the integer that a kernel took (None: a scope), what is below.
LEAF: Any = st.tuples(
    st.sampled_from(["k", "mm_1", "mm_2", "mm_3"]), st.integers(0, 2**40), st.just([])
)
TREES = st.lists(
    st.recursive(
        LEAF,
        lambda below: st.tuples(
            st.sampled_from(["s", "layer_0", "layer_1"]), st.none(), st.lists(below, max_size=4)
        ),
        max_leaves=12,
    ),
    max_size=5,
)


def grown(trees: Any) -> Profile:
    def made(tree: Any) -> Frame:
        name, time, below = tree
        return frame(name, *map(made, below)) if time is None else kernel(name, time)

    overhead = frame("__proton_launch_metadata", kernel("copy", 77))
    return loaded(*map(made, trees), overhead)


@settings(max_examples=40)
@given(TREES, TREES)
def test_totals_reconcile_exactly(before: Any, after: Any) -> None:
    comparison = compare(grown(before), grown(after))
    frames, kernels = comparison.frames, comparison.kernels

    def total(trees: Any) -> int:
        return sum(time if time is not None else total(below) for _, time, below in trees)

    assert frames["exclusive_difference"].sum() == total(after) - total(before)
    assert kernels["difference"].sum() == total(after) - total(before)
    assert frames["difference"].iloc[0] == total(after) - total(before)
    # Every frame of either profile is there once, and a frame's difference is that of its subtree.
    for side, trees in (("before", before), ("after", after)):
        rows_there = frames[f"{side}_frame"]
        shown = grown(trees)
        shown = shown.take(~shown.overhead)
        assert sorted(rows_there[rows_there >= 0]) == list(range(len(shown.frames)))
        assert kernels[side].notna().sum() == len(shown.kernels)
    below = frames.groupby("parent_id")["difference"].sum().reindex(frames.index, fill_value=0)
    assert (below + frames["exclusive_difference"] == frames["difference"]).all()


@settings(max_examples=15)
@given(TREES)
def test_a_profile_compared_with_itself_has_not_changed(trees: Any) -> None:
    comparison = compare(grown(trees), grown(trees))
    assert set(comparison.frames["change"]) <= {"unchanged", "no value"}
    assert set(comparison.kernels["change"]) <= {"unchanged"}
    assert (comparison.frames["difference"] == 0).all()
    assert comparison.frames["renamed_from"].isna().all()


PAIRS = [
    ("tree_scopes_3.6.0.hatchet", "tree_scopes_3.9.0.hatchet"),
    ("tensor_metrics_3.6.0.hatchet", "tensor_metrics_3.9.0.hatchet"),
    ("cell_3.6.0.hatchet", "cell_3.9.0.hatchet"),
    ("gpt_train_3.9.0.hatchet", "gpt_compiled_3.9.0.hatchet"),
    ("gpt_python_context_3.9.0.hatchet", "transformer_python_3.9.0.hatchet"),
    ("ddp_rank0_3.9.0.hatchet", "ddp_rank1_3.9.0.hatchet"),
    ("graph_exclude_3.9.0.hatchet", "two_gpus_one_process_3.9.0.hatchet"),
]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_recorded_profiles_reconcile(pair: tuple[str, str]) -> None:
    before, after = (protonlab.load(PROFILES / name) for name in pair)
    assert isinstance(before, Profile)
    assert isinstance(after, Profile)
    comparison = compare(before, after)
    totals = [int(profile.inclusive["time_ns"].iloc[0]) for profile in (before, after)]
    assert comparison.frames[["before", "after"]].iloc[0].tolist() == totals
    assert comparison.frames["exclusive_difference"].sum() == totals[1] - totals[0]
    assert comparison.kernels["difference"].sum() == totals[1] - totals[0]
    for metric in ("avg_time/us", "time/%", "count", "util"):
        assert len(compare(before, after, metric=metric).kernels) == len(comparison.kernels)


def test_rates_are_compared_without_counting_the_absent_as_zero() -> None:
    comparison = compare(
        loaded(kernel("k", 10, bytes=100), kernel("old", 10, bytes=100)),
        loaded(kernel("k", 20, bytes=100), kernel("new", 10)),
        metric="gbyte/s",
    )
    columns = ("name", "change", "before", "after", "difference", "ratio")
    assert rows(comparison.kernels, *columns) == [
        ("k", "changed", 10, 5, -5, 0.5),
        ("old", "removed", 10, None, None, None),
        ("new", "added", None, None, None, None),
    ]
    # A rate of a scope is a ratio of sums: 200 B in 20 ns, then 100 B in 30 ns.
    assert comparison.frames[["before", "after"]].iloc[0].tolist() == [10, 100 / 30]
    assert comparison.frames["exclusive_difference"].isna().all()
    assert "66.7 % lower" in comparison.summary


def test_what_autotuning_and_metadata_launched_is_left_out() -> None:
    comparison = compare(
        loaded(kernel("k", 10)),
        loaded(
            kernel("k", 10),
            frame("__proton_launch_metadata", kernel("copy", 50)),
            frame("__protonlab_tuning", kernel("trial", 500)),
        ),
    )
    assert comparison.frames["name"].tolist() == ["ROOT", "k"]
    assert comparison.frames.loc[0, "difference"] == 0


def test_empty_profiles_and_nothing_in_common() -> None:
    empty, one = loaded(devices=None), loaded(kernel("k", 10))
    comparison = compare(empty, empty)
    assert comparison.notes == ("No kernel was launched in either profile.",)
    assert comparison.summary == "time – before, – after: no ratio; kernels: none"
    assert comparison.to_dataframe().empty
    comparison = compare(empty, one)
    assert rows(comparison.kernels, "name", "change", "difference") == [("k", "added", 10)]
    assert comparison.notes == (
        "No kernel was launched before: all of the other profile is the difference.",
    )
    assert "No kernel was launched after: all of the other" in compare(one, empty).notes[-1]
    comparison = compare(one, loaded(kernel("x", 30)))
    assert comparison.kernels["change"].tolist() == ["added", "removed"]
    assert comparison.notes[0].startswith("The profiles have no kernel in common: all that ran bef")


def test_times_of_zero_and_missing_times() -> None:
    comparison = compare(
        loaded(kernel("zero", 0), kernel("none", None), kernel("grew", 0)),
        loaded(kernel("zero", 0), kernel("none", None), kernel("grew", 5)),
    )
    columns = ("name", "change", "difference", "ratio")
    assert sorted(rows(comparison.kernels, *columns)) == [
        ("grew", "changed", 5, None),
        ("none", "no value", 0, None),
        ("zero", "unchanged", 0, None),
    ]


def test_many_children_deep_trees_and_odd_names() -> None:
    wide = [kernel(f"kernel {chr(0x4E00 + at)}", 1) for at in range(10_000)]
    assert compare(loaded(*wide), loaded(*wide)).frames["change"].eq("unchanged").all()
    # The levels are written as text: Python's own JSON encoder cannot nest that deep.
    name, opening = "<b>k</b>" + "x" * 5000, '{"frame": {"name": "s"}, "metrics": {}, "children": ['
    before, after = (
        protonlab.load(
            document(kernel("HERE", time))
            .replace(b'"HERE"', f'"{name}"'.encode())
            .replace(b'"children": [', b'"children": [' + opening.encode() * 500, 1)
            .replace(b"]}, {", b"]}" * 500 + b"]}, {", 1)
        )
        for time in (7, 8)
    )
    comparison = compare(before, after)  # type: ignore[arg-type]
    assert comparison.frames["depth"].max() == 501
    assert comparison.frames["name"].iloc[-1] == name
    assert comparison.frames["difference"].tolist() == [1] * 502


def test_a_metric_that_one_side_lacks_names_the_side() -> None:
    with_bytes, without = loaded(kernel("k", 10, bytes=5)), loaded(kernel("k", 10))
    with pytest.raises(MetricError, match=r"^after: 'gbyte/s' is not a metric of this profile"):
        compare(with_bytes, without, metric="gbyte/s")
    with pytest.raises(MetricError, match=r"^before: 'bytes' is not a metric of this profile"):
        compare(without, with_bytes, metric="bytes")
    with pytest.raises(MetricError, match=r"^before: 'tmie' is not .*Did you mean"):
        compare(without, with_bytes, metric="tmie")


@pytest.mark.parametrize("metric", ["vector", "text", "util_bound"])
def test_a_metric_without_a_number_is_refused(metric: str) -> None:
    profile = loaded(kernel("k", 10, vector=[1, 2], text="a"))
    with pytest.raises(MetricError, match=f"before: '{metric}' cannot be compared: it is text"):
        compare(profile, profile, metric=metric)


@pytest.mark.parametrize("wrong", ["run.hatchet", None, 3])
def test_only_profiles_are_compared(wrong: Any) -> None:
    profile = loaded(kernel("k", 10))
    with pytest.raises(ProtonLabError, match=r"^after is a \w+; compare\(\) takes two profiles"):
        compare(profile, wrong)
    with pytest.raises(ProtonLabError, match=r"^before is a \w+; compare\(\) takes two profiles"):
        compare(wrong, profile)
