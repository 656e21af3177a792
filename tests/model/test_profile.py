from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import SMALL, document, frame, kernel

import protonlab
from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import KernelFilter, MetricColumn, Profile, ProfileInfo


@pytest.fixture
def small() -> Profile:
    return protonlab.load(SMALL)


def names(profile: Profile) -> list[str]:
    return [str(name) for name in profile.frames["name"]]


def test_kernels_are_summed_over_the_tree_slowest_first() -> None:
    profile = protonlab.load(
        document(
            frame("a", kernel("k", 10, 2, bytes=1)),
            frame("b", kernel("k", 30, 3, bytes=4), kernel("slow", 100)),
        )
    )
    kernels = profile.kernels
    assert kernels["name"].tolist() == ["slow", "k"]
    assert kernels["time_ns"].tolist() == [100, 40]
    assert kernels["count"].tolist() == [1, 5]
    assert kernels["bytes"].isna().tolist() == [True, False]
    assert kernels.loc[1, "bytes"] == 5
    table = profile.to_dataframe(["time/ns", "gbyte/s", "time/%"], by="kernel")
    assert table["gbyte/s"].iloc[1] == 5 / 40  # summed bytes by summed time
    assert table["time/%"].tolist() == pytest.approx([100 * 100 / 140, 100 * 40 / 140])


@pytest.mark.parametrize("wrong", [3, 3.5, True])
def test_metrics_that_are_no_names(small: Profile, wrong: Any) -> None:
    for asked in (small, protonlab.Run.from_profiles({0: small, 1: small})):
        with pytest.raises(MetricError, match="give names such as"):
            asked.to_dataframe(wrong)


def test_a_kernel_on_two_devices_is_one_row() -> None:
    profile = protonlab.load(document(kernel("k", 10), kernel("k", 20, device_id="1")))
    assert profile.kernels[["devices", "time_ns"]].values.tolist() == [[2, 30]]
    assert [device.device_id for device in profile.devices] == [0, 1]


def test_include_keeps_the_path_and_is_anchored(small: Profile) -> None:
    assert names(small.filter(include="matmul")) == ["ROOT", "mlp", "matmul [m=8]"]
    assert names(small.filter(include="atmul")) == ["ROOT"]


def test_exclude_wins_over_include(small: Profile) -> None:
    kept = small.filter(include=".*", exclude="att|plain")
    assert names(kept) == ["ROOT", "mlp", "matmul [m=8]"]
    assert kept.inclusive["time_ns"].iloc[0] == 500


def test_subtree_keeps_all_below_a_match(small: Profile) -> None:
    mlp = small.subtree("mlp")
    assert names(mlp) == ["ROOT", "mlp", "matmul [m=8]", "plain"]
    assert mlp.inclusive["time_ns"].iloc[0] == 600


def test_subtree_without_a_match_lists_the_frames(small: Profile) -> None:
    with pytest.raises(ProtonLabError, match=r"no frame matches 'nothing'(.|\n)*mlp"):
        small.subtree("nothing")


def test_subtree_needs_a_pattern(small: Profile) -> None:
    with pytest.raises(ProtonLabError, match="pattern=None; give a regular expression"):
        small.subtree(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_an_invalid_regex_shows_where(option: str) -> None:
    with pytest.raises(ProtonLabError) as caught:
        KernelFilter(**{option: "_p_(matmul"})
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{option} is not a regular expression")
    assert lines[2].index("^") - 4 == "_p_(matmul".index("(")


@pytest.mark.parametrize("pattern", [b"k", 3])
def test_a_pattern_must_be_text(pattern: object) -> None:
    with pytest.raises(ProtonLabError, match="give the regular expression as a string"):
        KernelFilter(include=pattern)  # type: ignore[arg-type]


def test_a_hook_fills_kernel_and_drops_what_it_rejected(small: Profile) -> None:
    profile = small.with_hook(
        {"matmul [m=8]": "matmul", "attention [t=4]": "attention"}, {"matmul"}, {"plain"}
    )
    table = profile.kernels.set_index("name")
    assert table["kernel"].to_dict() == {
        "matmul [m=8]": "matmul", "plain": "plain", "attention [t=4]": "attention",
    }  # fmt: skip
    rejected = small.with_hook(
        {"matmul [m=8]": "matmul", "attention [t=4]": "attention"}, {"matmul"}, {"attention"}
    ).kernels.set_index("name")
    assert rejected["hook"].to_dict() == {
        "matmul [m=8]": "kept", "plain": "unseen", "attention [t=4]": "filtered",
    }  # fmt: skip
    assert pd.isna(rejected.loc["attention [t=4]", "bytes"])
    assert rejected.loc["attention [t=4]", "time_ns"] == 400


def test_filters_match_the_compiled_name_where_it_is_known(small: Profile) -> None:
    profile = small.with_hook({"matmul [m=8]": "_p_matmul"}, {"_p_matmul"}, set())
    assert names(profile.filter(include="_p_")) == ["ROOT", "mlp", "matmul [m=8]"]


def test_filters_match_the_label_of_a_mangled_name() -> None:
    mangled = "_ZN2at6native13reduce_kernelILi512ELi1EEEvv"
    profile = protonlab.load(document(kernel(mangled, 10), kernel("k", 20)))
    assert isinstance(profile, Profile)
    for pattern in ("reduce_kernel", "_ZN2at"):
        assert names(profile.filter(include=pattern)) == ["ROOT", mangled]
        assert names(profile.filter(exclude=pattern)) == ["ROOT", "k"]
    assert profile.filter(include="reduce", exclude="k").info.notes == ()


def test_a_pattern_that_matches_no_kernel_is_said_so(small: Profile) -> None:
    expected = (
        "exclude=atmul matches no kernel; patterns are anchored at the start of the name, begin "
        "with .* to match anywhere. The kernels: matmul [m=8], plain, attention [t=4]."
    )
    assert small.filter(exclude="atmul").filter(exclude="atmul").info.notes[-1] == expected
    assert small.filter(include="atmul").info.notes[0].startswith("include=atmul matches no kernel")
    assert small.filter(include="nothing").kernels.empty


def test_save_then_load_is_lossless(profile_path: str, tmp_path: Path) -> None:
    profile = protonlab.load(profile_path)
    profile.save(tmp_path / "again.hatchet")
    assert_same(protonlab.load(tmp_path / "again.hatchet"), profile)


@pytest.mark.parametrize("suffix", [".hatchet", ".parquet"])
def test_a_column_that_nothing_describes_is_refused_and_a_described_one_kept(
    suffix: str, small: Profile, tmp_path: Path
) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'protonlab[parquet]'")
    path, table = tmp_path / f"p{suffix}", small.frames.assign(mine=1.5, level=3)
    level = MetricColumn("level", "depth (m)", "m", additive=False)
    with pytest.raises(ProtonLabError, match=r"'mine' that columns does not name.*from_raw\('mine"):
        replace(small, frames=table)
    columns = (*small.columns, MetricColumn.from_raw("mine"), level)
    profile = replace(small, frames=table.astype({"level": "Int64"}), columns=columns)
    profile.save(path)
    assert_same(protonlab.load(path), profile)
    profile.frames["later"] = "x"
    with pytest.raises(ProtonLabError, match="'later' that columns does not name"):
        profile.save(path)
    assert "mine" in protonlab.load(path).frames  # the older file survived


def test_a_frame_table_without_a_metric_that_is_named_is_refused(small: Profile) -> None:
    with pytest.raises(ProtonLabError, match="frames has no column 'time_ns'; it needs parent_id"):
        replace(small, frames=small.frames.drop(columns="time_ns"))


def test_columns_without_a_value_left_are_saved_too(tmp_path: Path) -> None:
    profile = protonlab.load(
        document(
            frame("a", kernel("k", 1, bytes=1, x=0.5, v=[1, 2]), loss=1),
            frame("b", kernel("other", 1, text="t")),
        )
    ).subtree("b")
    profile.save(tmp_path / "b.hatchet")
    again = protonlab.load(tmp_path / "b.hatchet")
    assert_same(again, profile)
    assert again.to_dataframe("loss")["loss"].isna().all()


def test_what_proton_has_no_place_for_is_saved_too(small: Profile, tmp_path: Path) -> None:
    info = ProfileInfo(
        name="run1",
        backend="cupti",
        versions={"triton": "3.9.0"},
        when="2026-11-29T12:00:00+00:00",
        include="matmul",
        launches={"matmul": (5, 5), "plain": (2, 0)},
        notes=("one note",),
    )
    profile = Profile(small.frames, small.columns, small.devices, info)
    profile = profile.with_hook({"matmul [m=8]": "matmul"}, {"matmul"}, {"plain"})
    profile.save(tmp_path / "run.hatchet")
    assert_same(protonlab.load(tmp_path / "run.hatchet"), profile)


def test_a_failed_save_leaves_the_old_file(small: Profile, tmp_path: Path) -> None:
    target = tmp_path / "run.hatchet"
    target.write_text("old")
    broken = Profile(small.frames.assign(bytes=object()), small.columns)
    with pytest.raises(TypeError, match="not JSON serializable"):
        broken.save(target)
    assert target.read_text() == "old"
    assert [*tmp_path.iterdir()] == [target]


def test_a_missing_folder_is_named(small: Profile, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        small.save(tmp_path / "nowhere" / "run.hatchet")


def test_repr_is_one_short_line(small: Profile) -> None:
    assert repr(small) == "<Profile: 3 kernels, 8 launches, CUDA 0 (sm_90, 132 SMs)>"


def assert_same(one: Profile, other: Profile) -> None:
    pd.testing.assert_frame_equal(one.frames, other.frames, check_categorical=False)
    assert one.columns == other.columns
    assert one.devices == other.devices
    assert one.info == other.info


@pytest.mark.parametrize("keep", ["x", [True], [0, 1], None])
def test_a_choice_of_frames_that_is_none_is_said_so(small: Profile, keep: Any) -> None:
    with pytest.raises(ProtonLabError, match="give one bool for each of the 9 frames, True for"):
        small.take(keep)
    with pytest.raises(ProtonLabError, match="True for the root"):
        small.take(np.zeros(9, dtype=bool))
