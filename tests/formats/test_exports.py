"""Saving by the name of the file: exact contents, and what of them loads again."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pandas as pd
import pytest
from builders import SMALL, document, frame, kernel
from hypothesis import given, settings
from hypothesis import strategies as st

import protonlab
from protonlab import MissingDependencyError, Profile, ProfileFormatError, ProtonLabError

TREES = sorted((Path(__file__).parent.parent / "profiles").glob("*.hatchet"))
# What speedscope.app reads, from its published description of the format.
SPEEDSCOPE: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "activeProfileIndex": {"type": "integer"},
        "exporter": {"type": "string"},
        "name": {"type": "string"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "integer"},
                            "col": {"type": "integer"},
                        },
                        "additionalProperties": False,
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": [
                    *("type", "name", "unit", "startValue", "endValue", "samples", "weights")
                ],
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {"enum": ["none", "nanoseconds", "microseconds", "bytes"]},
                    "startValue": {"type": "integer"},
                    "endValue": {"type": "integer"},
                    "samples": {
                        "type": "array",
                        "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                    },
                    "weights": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def loaded(data: bytes | Path) -> Profile:
    profile = protonlab.load(data)
    assert isinstance(profile, Profile)
    return profile


def total(profile: Profile) -> int:
    return int(profile.inclusive["time_ns"].fillna(0).iloc[0])


def saved(profile: Profile, folder: Path, suffix: str) -> bytes:
    path = folder / f"p{suffix}"
    profile.save(path)
    assert [*folder.iterdir()] == [path]  # nothing else stays behind
    return path.read_bytes()


def stacks(text: str) -> dict[str, int]:
    """Folded stacks as flamegraph.pl takes them apart: the number behind the last space."""
    pairs = [line.rsplit(" ", 1) for line in text.splitlines()]
    result = {stack: int(time) for stack, time in pairs}
    assert len(result) == len(pairs)
    return result


def test_folded_by_hand(tmp_path: Path) -> None:
    # The metadata frame of SMALL launched 50 ns, which totals leave out.
    assert saved(loaded(SMALL), tmp_path, ".folded").decode() == (
        "ROOT;mlp;matmul [m=8] 500\nROOT;mlp;plain 100\nROOT;attn;attention [t=4] 400\n"
    )


def test_folded_names_stay_one_frame_each(tmp_path: Path) -> None:
    profile = loaded(
        document(
            frame("a;b\n c", kernel("k 5", 7, 1, kernel("child", 2)), kernel("", 1)),
            frame("a;b\n c", kernel("k 5", 3)),
            kernel("zero", 0),
            frame("scope alone"),
        )
    )
    assert stacks(saved(profile, tmp_path, ".folded").decode()) == {
        "ROOT;a,b  c;k 5": 10,
        "ROOT;a,b  c;k 5;child": 2,
        "ROOT;a,b  c;(no name)": 1,
    }


def test_folded_times_that_are_no_integers_still_add_up(tmp_path: Path) -> None:
    profile = loaded(document(*(kernel(f"k{letter}", 0.4) for letter in "abcde"), kernel("f", 1.0)))
    times = stacks(saved(profile, tmp_path, ".folded").decode())
    assert sum(times.values()) == 3  # 5 * 0.4 + 1


def test_speedscope_by_hand(tmp_path: Path) -> None:
    profile = loaded(
        document(
            frame("/home/user/model.py:12@step", kernel("k", 7), frame("s", kernel("k", 5))),
            kernel("zero", 0),
        )
    )
    written = json.loads(saved(profile, tmp_path, ".speedscope.json"))
    assert written["shared"]["frames"] == [
        {"name": "ROOT"},
        {"name": "model.py:12 in step", "file": "/home/user/model.py", "line": 12},
        {"name": "k"},
        {"name": "s"},
        {"name": "zero"},
    ]
    assert written["profiles"] == [
        {
            "type": "sampled",
            "name": "profile · CUDA 0 (sm_90, 132 SMs)",
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": 12,
            "samples": [[0, 1, 2], [0, 1, 3, 2]],
            "weights": [7, 5],
        }
    ]


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.name)
def test_recorded_profiles_keep_every_nanosecond(path: Path, tmp_path: Path) -> None:
    profile = loaded(path)
    profile.save(tmp_path / "p.folded")
    assert sum(stacks((tmp_path / "p.folded").read_text()).values()) == total(profile)
    profile.save(tmp_path / "p.speedscope.json")
    written = json.loads((tmp_path / "p.speedscope.json").read_text())
    jsonschema.validate(written, SPEEDSCOPE)
    (series,) = written["profiles"]
    assert len(series["samples"]) == len(series["weights"])
    assert sum(series["weights"]) == series["endValue"] == total(profile)
    used = {index for stack in series["samples"] for index in stack}
    assert max(used) < len(written["shared"]["frames"])


TREES_OF_TIMES = st.lists(
    st.recursive(st.integers(0, 2**50), lambda below: st.lists(below, max_size=4), max_leaves=20),
    max_size=4,
)


@settings(max_examples=30)
@given(TREES_OF_TIMES)
def test_any_tree_keeps_every_nanosecond(trees: Any) -> None:
    def made(tree: Any) -> Any:
        if isinstance(tree, int):
            return kernel(f"k {tree % 3}", tree)
        return frame("s", *map(made, tree))

    profile = loaded(document(*map(made, trees), frame("__protonlab_tuning", kernel("t", 5))))
    with TemporaryDirectory() as folder:
        profile.save(f"{folder}/p.folded")
        profile.save(f"{folder}/p.speedscope.json")
        folded = stacks(Path(folder, "p.folded").read_text())
        (series,) = json.loads(Path(folder, "p.speedscope.json").read_text())["profiles"]
    assert sum(folded.values()) == sum(series["weights"]) == series["endValue"] == total(profile)


def test_csv_by_hand(tmp_path: Path) -> None:
    profile = loaded(document(frame('a, "b"\nc', kernel("k", 7, 2, v=[1, 2.5], note="x"))))
    text = saved(profile, tmp_path, ".csv").decode()
    assert text.splitlines()[0] == (
        "frame_id,parent_id,depth,name,kernel,label,kind,hook,device_type,device_id,count,time_ns,"
        "note,v"
    )
    table = pd.read_csv(tmp_path / "p.csv", index_col="frame_id")
    assert table["name"].tolist() == ["ROOT", 'a, "b"\nc', "k"]
    assert table.loc[2, ["count", "time_ns", "note", "v"]].tolist() == [2, 7, "x", "[1, 2.5]"]
    assert table.loc[1, ["count", "time_ns", "note", "v"]].isna().all()


def test_an_empty_profile_is_saved_in_every_text_format(tmp_path: Path) -> None:
    empty = loaded(document(devices=None))
    assert saved(empty, tmp_path, ".folded") == b""
    empty.save(tmp_path / "p.speedscope.json")
    written = json.loads((tmp_path / "p.speedscope.json").read_text())
    jsonschema.validate(written, SPEEDSCOPE)
    assert written["profiles"][0]["samples"] == []
    empty.save(tmp_path / "p.csv")
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("suffix", [".hatchet", ".folded", ".speedscope.json", ".csv"])
def test_gzipped_on_demand(suffix: str, tmp_path: Path) -> None:
    profile = loaded(SMALL)
    profile.save(tmp_path / f"p{suffix}")
    profile.save(tmp_path / f"p{suffix}.gz")
    packed = (tmp_path / f"p{suffix}.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / f"p{suffix}").read_bytes()
    profile.save(tmp_path / f"P{suffix}.GZ".upper())
    assert (tmp_path / f"P{suffix}.GZ".upper()).read_bytes() == packed


@pytest.mark.parametrize("name", ["p", "p.json", "p.txt", "p.gz", "p.parquet.gz", ".folded.x"])
def test_another_name_is_refused_with_the_legal_ones(name: str, tmp_path: Path) -> None:
    expected = (
        r"let it end in \.hatchet, \.speedscope\.json, \.folded, \.csv \(these also gzipped, with "
        r"\.gz behind\) or \.parquet$"
    )
    with pytest.raises(ProtonLabError, match=expected):
        loaded(SMALL).save(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("suffix", [".folded", ".speedscope.json", ".csv"])
def test_a_failed_save_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"p{suffix}"
    target.write_text("old")
    small = loaded(SMALL)
    surrogates = pd.Series("\ud800", index=small.frames.index, dtype=object)
    broken = Profile(small.frames.assign(time_ns=surrogates, label=surrogates), small.columns)
    with pytest.raises((TypeError, ValueError)):
        broken.save(target)
    assert target.read_text() == "old"
    assert [*tmp_path.iterdir()] == [target]


@pytest.mark.parametrize(
    ("suffix", "seen"),
    [
        (".folded", "folded stacks, which hold labels and times alone"),
        (".speedscope.json", "speedscope JSON, which holds names and times alone"),
        (".csv", "a frame table as CSV, which does not say what its columns are"),
    ],
)
def test_what_is_for_other_programs_does_not_load(suffix: str, seen: str, tmp_path: Path) -> None:
    saved(loaded(SMALL), tmp_path, suffix)
    with pytest.raises(ProfileFormatError, match=rf"{seen}; expected .* as \.hatchet or \.parquet"):
        protonlab.load(tmp_path / f"p{suffix}")


def test_folded_stacks_of_templates_are_told() -> None:
    with pytest.raises(ProfileFormatError, match="folded stacks, which hold labels and times"):
        protonlab.load(b"ROOT;step;fill_kernel<FillFunctor<long>> 12\nROOT;other 3\n")


def test_parquet_without_pyarrow_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    expected = r"parquet needs pyarrow \(.*pyarrow.*\); pip install 'protonlab\[parquet\]'"
    with pytest.raises(MissingDependencyError, match=expected):
        loaded(SMALL).save(tmp_path / "p.parquet")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(MissingDependencyError, match=r"parquet needs pyarrow"):
        protonlab.load(b"PAR1")
