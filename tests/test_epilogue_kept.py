"""The file of a sweep: whole behind each case, gone on with, and never lost."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweep_command import CASES, sweep_of_three
from sweeps import synthetic_comparison

from protonlab import load
from protonlab.epilogue import _kept, _sweep, _sweep_run, sweep_epilogue
from protonlab.errors import ProtonLabError
from protonlab.model import ProfileInfo
from protonlab.model.epilogue_sweep import UNFINISHED, EpilogueCase, EpilogueSweep

HERE = {"gpu": "a synthetic GPU", "triton": "0.0"}


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> list[EpilogueCase]:
    """Make numbers up in place of measuring, on a machine that is made up as well."""
    cases: list[EpilogueCase] = []

    def measure(run: _sweep_run.SweepRun, case: EpilogueCase) -> None:
        cases.append(case)
        run.comparisons[case] = synthetic_comparison(2000.0, 2100.0, seed=len(cases))

    monkeypatch.setattr(_sweep, "gpu_problem", lambda: None)
    monkeypatch.setattr(_sweep, "copy_gbyte_s", lambda: 1.0)
    monkeypatch.setattr(_sweep_run.SweepRun, "measure", measure)
    monkeypatch.setattr(_kept, "machine_here", lambda: HERE)
    return cases


def loaded(path: Path) -> EpilogueSweep:
    found = load(path)
    assert isinstance(found, EpilogueSweep)
    return found


@pytest.mark.parametrize("name", ["s.json.gz", "s.parquet"])
def test_file_is_whole_behind_each_case(tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow, which is optional")
    seen = []

    def look(case: EpilogueCase, number: int, count: int) -> None:
        seen.append(loaded(tmp_path / name) if number > 1 else None)

    numbers: Any = {"budget_s": np.float32(2), "seed": np.int64(0)}
    sweep = sweep_epilogue(CASES, on_case=look, path=tmp_path / name, **numbers)
    assert [each.cases for each in seen if each] == [CASES[:1], CASES[:2]]
    assert seen[2] is not None
    assert seen[2].protocol["stop_reason"] == UNFINISHED
    assert seen[2].left_out == (f"{CASES[2]}: not measured yet.",)
    assert loaded(tmp_path / name).cases == sweep.cases == CASES
    assert sweep.left_out == ()


def test_what_is_missing_is_measured_and_only_that(
    tmp_path: Path, measured: list[EpilogueCase]
) -> None:
    path, other = tmp_path / "s.json", EpilogueCase("ours", 8, 2, 128, 128)
    left_out = (f"{CASES[2]}: interrupted.", f"{other}: no time left.")
    first = sweep_epilogue(CASES[:2])
    dataclasses.replace(first, left_out=left_out).save(path)
    numbers = []
    sweep = sweep_epilogue(
        CASES[::-1], on_case=lambda _, number, count: numbers.append((number, count)), path=path
    )
    assert measured == list(CASES)
    assert numbers == [(1, 3)]
    assert sweep.cases == CASES[::-1]
    assert sweep.left_out == left_out[1:]
    assert loaded(path).comparison(CASES[0]).pairs.equals(first.comparison(CASES[0]).pairs)


def test_whole_sweep_is_not_measured_over(tmp_path: Path, measured: list[EpilogueCase]) -> None:
    assert sweep_of_three(tmp_path).exit_code == 0
    whole = (tmp_path / "s.json").read_bytes()
    result = sweep_of_three(tmp_path)
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "Error: s.json holds all of 3 cases; to measure anew, delete it or give another name\n"
    )
    assert (tmp_path / "s.json").read_bytes() == whole
    assert len(measured) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"protocol": {"budget_s": 9, "protocol": "sustained", "seed": 0}}, "with budget_s 9, and"),
        ({"protocol": {"budget_s": 2, "protocol": "burst", "seed": 0}}, "with protocol 'burst'"),
        ({"info": ProfileInfo(gpu="another GPU")}, "with gpu 'another GPU', and this would be"),
        ({"info": ProfileInfo(gpu=HERE["gpu"])}, "with triton None, and this would be '0.0'"),
    ],
)
def test_what_was_measured_otherwise_does_not_go_on(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    one = sweep_epilogue(CASES[:1])
    dataclasses.replace(one, **change).save(tmp_path / "s.json")
    old = (tmp_path / "s.json").read_bytes()
    result = sweep_of_three(tmp_path)
    assert result.exit_code == 1
    assert says in result.stderr
    assert (tmp_path / "s.json").read_bytes() == old


@pytest.mark.parametrize("old", ["old", '{"protonlab_variants": 1}'])
def test_what_is_no_sweep_is_left_alone(tmp_path: Path, old: str) -> None:
    (tmp_path / "s.json").write_text(old)
    result = sweep_of_three(tmp_path)
    assert result.exit_code == 1
    assert result.stderr.endswith("it was left as it is: give another name\n")
    assert "is there" not in result.stderr
    assert (tmp_path / "s.json").read_text() == old


def test_a_comparison_is_no_sweep(tmp_path: Path) -> None:
    synthetic_comparison(1.0, 1.0).save(tmp_path / "s.json")
    with pytest.raises(ProtonLabError, match="holds no sweep"):
        sweep_epilogue(CASES, path=tmp_path / "s.json")


def test_full_disk_ends_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = []

    def full(sweep: EpilogueSweep, path: Path) -> None:
        saved.append(sweep.cases)
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(EpilogueSweep, "save", full)
    result = sweep_of_three(tmp_path)
    assert result.exit_code == 1
    assert saved == [CASES[:1]]  # not after an hour
    assert result.stderr.endswith("Error: s.json: No space left on device\n")
