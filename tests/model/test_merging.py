"""Repeats merged by hand: sums over them, what each recorded, and nothing lost on disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from builders import Frame, document, frame, kernel

import protonlab
from protonlab import Profile, ProtonLabError
from protonlab.model.merging import merged, split


def loaded(*frames: Frame) -> Profile:
    profile = protonlab.load(document(*frames))
    assert isinstance(profile, Profile)
    return profile


def three_repeats() -> Profile:
    return merged(
        [
            (None, loaded(kernel("setup", 5))),
            (0, loaded(frame("step", kernel("k", 10, bytes=4), loss=0.5))),
            (1, loaded(frame("step", kernel("k", 30, 2, bytes=4), kernel("late", 7), loss=0.25))),
            (4, loaded(frame("step", kernel("k", 20, bytes=4)), frame("other", kernel("k", 1)))),
        ]
    )


def test_sums_by_hand() -> None:
    frames = three_repeats().frames
    assert frames["name"].tolist() == (["ROOT", "setup", "step", "k", "late", "other", "k"])
    assert frames["parent_id"].tolist() == [-1, 0, 0, 2, 2, 0, 5]
    assert frames["depth"].tolist() == [0, 1, 1, 2, 2, 1, 2]
    assert frames["time_ns"].tolist() == [pd.NA, 5, pd.NA, 60, 7, pd.NA, 1]
    assert frames["count"].tolist() == [pd.NA, 1, pd.NA, 4, 1, pd.NA, 1]
    assert frames["bytes"].tolist() == [pd.NA, pd.NA, pd.NA, 12, pd.NA, pd.NA, pd.NA]
    assert frames["loss"].iloc[2] == 0.75
    assert frames["kind"].tolist() == (
        ["root", "kernel", "scope", "kernel", "kernel", "scope", "kernel"]
    )


def test_each_repeat_by_hand() -> None:
    profile = three_repeats()
    assert profile.repeats is not None
    assert profile.repeats.number == 3
    assert [int(profile.repeat(n).kernels["time_ns"].sum()) for n in range(3)] == [10, 37, 21]
    assert profile.repeats.times(profile.frames).tolist() == [10, 37, 21]
    assert profile.repeat(1).to_dataframe("gbyte/s", by="kernel").set_index("name")["gbyte/s"].iloc[
        0
    ] == pytest.approx(4 / 30)
    with pytest.raises(ProtonLabError, match="repeat 3; this profile holds repeats 0 to 2"):
        profile.repeat(3)
    with pytest.raises(ProtonLabError, match="nothing was repeated here"):
        profile.repeat(0).repeat(0)


def test_distribution_by_hand() -> None:
    rows = three_repeats().distribution("time/us", quantiles=(0.5,)).set_index("name")
    assert list(rows.index) == ["k", "late", "setup"]
    k = rows.loc["k"]
    assert (k["n"], k["min"], k["median"], k["max"]) == (3, 0.01, 0.021, 0.03)
    assert k["estimate"] == pytest.approx((10 + 30 + 21) / 3000)
    # Deviation of 10, 30, 21 is 10.017 ns; t(0.975, 2) = 4.302653.
    assert k["high"] - k["estimate"] == pytest.approx(4.302653 * 10.016653 / 3**0.5 / 1000)
    assert rows.loc["late", "n"] == 1
    assert rows.loc["setup", "n"] == 0
    assert pd.isna(rows.loc["setup", "median"])


def test_nothing_repeated() -> None:
    with pytest.raises(ProtonLabError, match="nothing was repeated here; record with %%proton rep"):
        loaded(kernel("k", 1)).distribution()


def test_saved_and_loaded_without_loss(tmp_path: Path) -> None:
    profile = three_repeats()
    profile.save(tmp_path / "p.hatchet")
    again = protonlab.load(tmp_path / "p.hatchet")
    assert isinstance(again, Profile)
    assert profile.repeats is not None
    assert again.repeats is not None
    assert again.repeats.number == 3
    pd.testing.assert_frame_equal(profile.repeats.values, again.repeats.values)
    pd.testing.assert_frame_equal(profile.frames, again.frames, check_categorical=False)
    pd.testing.assert_frame_equal(profile.distribution(), again.distribution())


def test_filters_and_subtrees_keep_their_repeats() -> None:
    only = three_repeats().filter(include="late")
    assert only.distribution("time/us")["median"].tolist() == [0.007]
    step = three_repeats().subtree("other")
    assert step.repeats is not None
    assert step.repeats.times(step.frames).tolist() == [0, 0, 1]


def test_vectors_and_properties() -> None:
    profile = merged(
        [
            (0, loaded(kernel("k", 1, v=[1.0, 2.0], **{"heat (pty)": 50}))),
            (1, loaded(kernel("k", 1, v=[0.5, 0.25], **{"heat (pty)": 60}))),
        ]
    )
    row = profile.frames.iloc[1]
    assert row["v"] == (1.5, 2.25)
    assert row["heat"] == 60


def test_repeat_scopes_are_taken_apart_and_those_of_others_disappear() -> None:
    own, other = "__protonlab_repeat:7:", "__protonlab_repeat:8:"
    profile = loaded(
        frame("outer", frame(f"{own}0", kernel("k", 1)), frame(f"{own}1", kernel("k", 2))),
        frame(f"{other}0", kernel("k", 4)),
        frame(f"{other}1", kernel("k", 8)),
    )
    parts = split(profile, own)
    assert [repeat for repeat, _ in parts] == [None, 0, 1]
    whole = merged(parts)
    assert whole.frames["name"].tolist() == ["ROOT", "outer", "k", "k"]
    assert whole.frames["time_ns"].tolist() == [pd.NA, pd.NA, 3, 12]
    assert whole.repeats is not None
    assert whole.repeats.times(whole.frames).tolist() == [1, 2]
    ((repeat, plain),) = split(loaded(kernel("k", 1)), own)
    assert repeat is None
    assert plain.repeats is None


@pytest.mark.parametrize(
    "stored",
    [
        3,
        {},
        {"number": 1, "values": {}},
        {"number": 1, "values": {"repeat": [0], "frame_id": [99]}},
    ],
)
def test_repeats_that_do_not_fit_are_refused(stored: object, tmp_path: Path) -> None:
    import json

    tree = json.loads(document(kernel("k", 1)))
    tree[0]["protonlab"] = {"repeats": stored}
    with pytest.raises(protonlab.ProfileFormatError, match="repeats does not fit the tree's 2 fra"):
        protonlab.load(json.dumps(tree).encode())
