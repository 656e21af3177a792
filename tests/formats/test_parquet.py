"""Parquet: equal when loaded again, an ordinary table for others, and refused when it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders import SMALL, document, frame, kernel

import protonlab
from protonlab import Profile, ProfileFormatError
from protonlab.model import ClockReading, ProfileInfo
from protonlab.model.merging import merged

arrow = pytest.importorskip(
    "pyarrow", reason="needs pyarrow: pip install 'protonlab[parquet]'", exc_type=ImportError
)
parquet = pytest.importorskip("pyarrow.parquet")

PROFILES = Path(__file__).parent.parent / "profiles"
TREES = sorted([*PROFILES.glob("*.hatchet"), *PROFILES.glob("*.msgpack")])


def loaded(data: bytes | Path) -> Profile:
    profile = protonlab.load(data)
    assert isinstance(profile, Profile)
    return profile


def again(profile: Profile, folder: Path) -> Profile:
    profile.save(folder / "p.parquet")
    assert [path.name for path in folder.iterdir()] == ["p.parquet"]
    return loaded(folder / "p.parquet")


def assert_same(one: Profile, other: Profile) -> None:
    pd.testing.assert_frame_equal(one.frames, other.frames, check_categorical=False)
    assert one.columns == other.columns
    assert one.devices == other.devices
    assert one.info == other.info


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.name)
def test_recorded_profiles_come_back_equal(path: Path, tmp_path: Path) -> None:
    profile = loaded(path)
    assert_same(again(profile, tmp_path), profile)


def test_odd_columns_come_back_equal(tmp_path: Path) -> None:
    profile = loaded(
        document(
            kernel("a", 1, v=[1, None, 2.5], mixed="text", huge=2**63, **{"x (pty)": 4}),
            kernel("b", 2, v=[3, 4, 5], mixed=[1, 2], text="t"),
            frame("<b>", kernel("c" * 5000, None)),
        )
    )
    assert_same(again(profile, tmp_path), profile)
    assert again(profile, tmp_path).frames["mixed"].tolist()[1:3] == ["text", (1, 2)]


def test_all_that_is_known_comes_back(tmp_path: Path) -> None:
    profile = merged([(at, loaded(document(kernel("k", 10 + at, bytes=4)))) for at in range(3)])
    info = ProfileInfo(
        name="run1",
        include="k",
        launches={"k": (3, 3)},
        clocks=(ClockReading("2026-11-29T12:00:00.000+00:00", "GPU-1", 1980, throttle=("idle",)),),
        notes=("ü",),
    )
    profile = Profile(profile.frames, profile.columns, profile.devices, info, profile.repeats)
    profile = profile.with_hook({"k": "kernel"}, {"kernel"}, set())
    back = again(profile, tmp_path)
    assert_same(back, profile)
    assert profile.repeats is not None
    assert back.repeats is not None
    assert back.repeats.number == 3
    pd.testing.assert_frame_equal(back.repeats.values, profile.repeats.values)


def test_other_readers_find_an_ordinary_table(tmp_path: Path) -> None:
    loaded(SMALL).save(tmp_path / "p.parquet")
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names[:4] == ["frame_id", "parent_id", "depth", "name"]
    assert table.column("time_ns").to_pylist() == [None, None, 500, 100, None, None, None, 50, 400]
    assert table.column("name").to_pylist()[:3] == ["ROOT", "mlp", "matmul [m=8]"]
    vectors = loaded(document(kernel("k", 1, v=[1, 2])))
    vectors.save(tmp_path / "v.parquet")
    assert parquet.read_table(tmp_path / "v.parquet").column("v").to_pylist() == [None, [1, 2]]


def test_bounds_on_depth_and_size(tmp_path: Path) -> None:
    loaded(SMALL).save(tmp_path / "p.parquet")
    with pytest.raises(ProfileFormatError, match="more than max_frames=5 frames"):
        protonlab.load(tmp_path / "p.parquet", max_frames=5)
    with pytest.raises(ProfileFormatError, match="deeper than max_depth=2 frames"):
        protonlab.load(tmp_path / "p.parquet", max_depth=2)
    assert len(loaded(tmp_path / "p.parquet").frames) == 9


def changed(table: Any, **columns: Any) -> Any:
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, arrow.array(values))
    return table


def about(table: Any, change: Callable[[dict[str, Any]], object]) -> Any:
    stored = json.loads(table.schema.metadata[b"protonlab"])
    change(stored)
    return table.replace_schema_metadata({"protonlab": json.dumps(stored)})


ONES = [1] * 9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace_schema_metadata(None), "a parquet file that protonlab did not write"),
        (lambda t: t.drop_columns(["label"]), "column 'label' is missing"),
        (lambda t: t.drop_columns(["time_ns"]), "column 'time_ns' is missing"),
        (lambda t: t.slice(0, 0), "no frame; expected at least the root"),
        (lambda t: t.slice(1, 3), "parent_id and depth of row 0 fit no tree"),
        (lambda t: changed(t, parent_id=ONES), "parent_id and depth of row 0 fit no tree"),
        (
            lambda t: changed(t, parent_id=[-1, 0, 1, 1, 0, 4, 5, 6, 1]),
            "parent_id and depth of row 8 fit no tree",
        ),
        (
            lambda t: changed(t, depth=[0, 1, 2, 2, 1, 2, 3, 4, 2**40]),
            "parent_id and depth of row 8 fit no tree",
        ),
        (lambda t: changed(t, depth=[None, *ONES[1:]]), "depth is no int64"),
        (lambda t: changed(t, parent_id=["a"] * 9), "parent_id is no int64"),
        (lambda t: changed(t, kind=["odd"] * 9), "kind is none of root, scope"),
        (lambda t: changed(t, name=[None] * 9), "name has a gap"),
        (lambda t: changed(t, time_ns=[-5] * 9), "has time_ns -5; expected 0 or more"),
        (lambda t: changed(t, time_ns=["soon"] * 9), "has time_ns 'soon'; expected a number"),
        (lambda t: about(t, lambda a: a.update(version=99)), "parquet version 99; this protonlab"),
        (lambda t: about(t, lambda a: a.update(info=3)), "protonlab: .*info"),
        (lambda t: about(t, lambda a: a["devices"].append({})), "protonlab: .*device_type"),
        (
            lambda t: about(t, lambda a: a["columns"].pop(0)),
            "its metrics are time_ns, .*expected co",
        ),
        (lambda t: about(t, lambda a: a["columns"].append(a["columns"][0])), "each once"),
        (
            lambda t: about(t, lambda a: a["columns"][2].update(column="depth")),
            "none that is named as a column of every frame table",
        ),
        (lambda t: t.append_column("label", arrow.array(["x"] * 9)), "a column is not as it was"),
        (lambda t: changed(t, bytes=["a"] * 9), "bytes is to be summed, and holds no numbers"),
        (lambda t: about(t, lambda a: a.update(repeats={})), "protonlab.repeats does not fit"),
        (lambda t: about(t, lambda a: a.update(json=["name"])), None),
    ],
)
def test_a_file_that_was_changed_is_refused(
    change: Any, message: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "p.parquet"
    loaded(SMALL).save(path)
    parquet.write_table(change(parquet.read_table(path)), path)
    if message is None:
        assert len(loaded(path).frames) == 9
        return
    with pytest.raises(ProfileFormatError, match=message) as caught:
        protonlab.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("keep", [4, 100, -1])
def test_a_file_that_was_cut_off_is_refused(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    loaded(SMALL).save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ProfileFormatError, match="not whole parquet"):
        protonlab.load(path)
