"""Sweeps of epilogue overlap: what they say, how they are saved, what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import sweep_command
from sweeps import LONG, SHORT, synthetic_comparison, synthetic_compiled, synthetic_sweep

from protonlab import load
from protonlab.epilogue import epilogue_cases, in_gbyte_s, reference_lines, sweep_epilogue
from protonlab.errors import CaptureError, ProfileFormatError, ProtonLabError
from protonlab.model import Metric
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.model.frames import MetricColumn

SIDE = {"name": "a", "kernel": "k", "target": "cuda:90", "facts": {"resources": 3}}


@pytest.fixture(scope="module")
def sweep() -> EpilogueSweep:
    return synthetic_sweep()


def test_table_has_a_row_for_each_case(sweep: EpilogueSweep) -> None:
    table = sweep.to_dataframe()
    assert len(table) == 16
    row = table.set_index(["kernel", "k", "tokens"]).loc[("upstream", 5760, 4)]
    assert row["gbyte_s_overlap"] == pytest.approx(LONG[4][0], rel=0.005)
    assert row["gbyte_s_serial"] == pytest.approx(LONG[4][1], rel=0.005)
    assert row["ratio_low"] < LONG[4][1] / LONG[4][0] < row["ratio_high"]
    assert row["verdict"].startswith("serial is 2.")
    assert row["outputs_equal"]
    assert row["sm_clock_mhz"] == 1700
    table["ratio"] = 0  # a table of one's own
    assert sweep.to_dataframe()["ratio"].min() > 0.8


def test_sweep_of_nothing_is_a_table_without_rows_and_prints_what_was_left_out(
    sweep: EpilogueSweep,
) -> None:
    nothing = EpilogueSweep({}, left_out=("our kernel: interrupted.",))
    assert [*nothing.to_dataframe()] == [*sweep.to_dataframe()]
    assert len(nothing.to_dataframe()) == 0
    assert nothing.crossings("ours", 256) == ()
    assert str(nothing) == f"{nothing!r}\nour kernel: interrupted."


def test_interval_that_is_not_known_is_no_number() -> None:
    one = EpilogueSweep({EpilogueCase(): synthetic_comparison(2000.0, 1000.0).first(1)})
    assert str(one).splitlines()[-1].split()[-2:] == ["–", "1"]


def test_pairs_keep_their_clocks(sweep: EpilogueSweep) -> None:
    table = sweep.to_pairs()
    assert len(table) == 16 * 24
    assert set(table["order"]) == {"AB", "BA"}
    assert {"kernel", "tokens", "k", "sm_clock_mhz", "power_w", "temperature_c"} <= {*table}


def test_crossing_lies_between_the_sizes_that_disagree(sweep: EpilogueSweep) -> None:
    (at,) = sweep.crossings("ours", 256)
    assert 16 < at < 64
    # 1.1533 at 16 tokens, 0.9677 at 64: the logarithm is zero at 0.815 of the way.
    assert at == pytest.approx(16 * 4**0.815, rel=0.02)
    assert SHORT[16][0] / SHORT[16][1] > 1 > SHORT[64][0] / SHORT[64][1]


def test_a_tie_makes_no_crossing(sweep: EpilogueSweep) -> None:
    assert sweep.comparison(EpilogueCase("ours", 64)).ratio.low < 1  # holds 1
    assert sweep.crossings("ours", 5760) == ()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (EpilogueCase("ours", 5), EpilogueCase("ours", 4)),
        (EpilogueCase("upstream", 512), EpilogueCase("upstream", 64)),
        (EpilogueCase("ours", 3, k=512), EpilogueCase("ours", 4, k=256)),
    ],
)
def test_nearest_case(sweep: EpilogueSweep, asked: EpilogueCase, found: EpilogueCase) -> None:
    assert sweep.nearest(asked) == found
    with pytest.raises(ProtonLabError, match="nearest one is"):
        sweep.comparison(asked)


@pytest.mark.parametrize("name", ["sweep.json", "sweep.json.gz", "sweep.parquet"])
def test_reads_back_what_it_saves(sweep: EpilogueSweep, tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="parquet needs pyarrow, which is optional")
    sweep.save(tmp_path / name)
    again = load(tmp_path / name)
    assert isinstance(again, EpilogueSweep)
    assert again.cases == sweep.cases
    assert again.to_pairs().equals(sweep.to_pairs())
    assert again.to_dataframe().equals(sweep.to_dataframe())
    assert again.compiled == sweep.compiled
    assert (again.info, again.copy_gbyte_s, dict(again.protocol), again.left_out) == (
        *(sweep.info, sweep.copy_gbyte_s, dict(sweep.protocol), sweep.left_out),
    )
    assert again.where == "a synthetic GPU, triton 0.0, 2000-01-01"


def test_name_of_the_file_says_how(sweep: EpilogueSweep, tmp_path: Path) -> None:
    with pytest.raises(ProtonLabError, match=r"end in \.json, \.json\.gz or \.parquet"):
        sweep.save(tmp_path / "sweep.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"protonlab_epilogue_sweep": 99}, "is 99; this protonlab reads 1"),
        ({"cases": []}, "0 cases and 16 comparisons"),
        ({"cases": [["theirs", 1, 1, 128, 128]] * 16}, "kernel='theirs'"),
        ({"comparisons": 3}, "no sweep that EpilogueSweep.save wrote"),
        ({"compiled": [{"cases": [], "compiled": {"a": SIDE, "b": SIDE}}]}, "got `int`.*facts"),
    ],
)
def test_damaged_document(
    sweep: EpilogueSweep, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    sweep.save(tmp_path / "sweep.json")
    document = json.loads((tmp_path / "sweep.json").read_text()) | change
    with pytest.raises(ProfileFormatError, match=says):
        load(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kernel": "theirs"}, "kernel='theirs'; give 'ours' or 'upstream'"),
        ({"tokens": 0}, "tokens=0; give a number from 1 to 8192"),
        ({"k": 100}, "k=100; give a number from 128 to 32768, a multiple of 128"),
        ({"experts": True}, "experts=True"),
        ({"n": 128.0}, "n=128.0"),
    ],
)
def test_case_that_is_none(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ProtonLabError, match=says):
        EpilogueCase(**wrong)  # type: ignore[arg-type]


def test_cases_of_a_sweep_share_weights_behind_each_other() -> None:
    cases = epilogue_cases((1, 128), ks=(256, 512), kernels=("ours", "upstream"))
    assert [(case.k, case.kernel, case.tokens) for case in cases] == [
        *[(256, "ours", 1), (256, "ours", 128), (256, "upstream", 1)],
        *[(512, "ours", 1), (512, "ours", 128), (512, "upstream", 1)],
    ]


def test_published_lines_only_at_the_published_shape() -> None:
    assert reference_lines(EpilogueCase(), 4250.0) == {
        "copy, measured": 4250.0,
        "published, other conditions, flattened": 2650.0,
        "published, other conditions, not flattened": 2800.0,
    }
    assert reference_lines(EpilogueCase(tokens=8), 4250.0) == {"copy, measured": 4250.0}
    assert reference_lines(EpilogueCase(k=256), None) == {}


def test_times_become_bandwidth_by_the_count_of_bytes() -> None:
    measured = synthetic_comparison(2000.0, 1000.0)
    assert in_gbyte_s(measured, 1) is measured
    table = measured.pairs
    as_time = dataclasses.replace(
        measured,
        metric=Metric.parse("time/ns", [MetricColumn.from_raw("time (ns)")]),
        pairs=table.assign(value_a=table["time_ns_a"], value_b=table["time_ns_b"]),
    )
    found = in_gbyte_s(as_time, 2_000_000_000)
    assert found.metric.name == "gbyte/s"
    assert found.pairs["value_a"].tolist() == pytest.approx(table["value_a"].tolist())
    assert found.pairs["value_b"].tolist() == pytest.approx(table["value_b"].tolist())
    assert "counted by protonlab" in found.notes[-1]


def test_other_compiled_kernels_are_kept_once(sweep: EpilogueSweep, tmp_path: Path) -> None:
    sweep.save(tmp_path / "sweep.json")
    stored = json.loads((tmp_path / "sweep.json").read_text())["compiled"]
    assert len(stored) == 2  # ours, upstream's
    assert sweep.compiled_of(EpilogueCase("ours", 1)) == synthetic_compiled()
    assert sweep.compiled_of(EpilogueCase("ours", 2)) is None


def test_sizes_that_run_the_same_kernels_share_their_ptx(sweep: EpilogueSweep) -> None:
    one, other = EpilogueCase("ours", 1), EpilogueCase("ours", 4)
    compiled = {one: synthetic_compiled(), other: synthetic_compiled().without_ptx()}
    some = dataclasses.replace(sweep, compiled=compiled)
    found = some.compiled_of(other)
    assert found is not None
    assert found.a.ptx == synthetic_compiled().a.ptx
    alone = dataclasses.replace(sweep, compiled={other: compiled[other]})
    assert alone.compiled_of(other) == compiled[other]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"budget_s": 0}, "budget_s=0; give the seconds"),
        ({"budget_s": "2"}, "budget_s='2'; give the seconds"),
        ({"within_s": -1}, "within_s=-1; give seconds for all of it, more than 0"),
        ({"within_s": float("nan")}, "within_s=nan; give seconds"),
        ({"protocol": "fast"}, "protocol='fast'; use 'sustained' or 'burst'"),
        ({"seed": -1}, "seed=-1; give a whole number"),
    ],
)
def test_arguments_are_checked_before_anything_is_made(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ProtonLabError, match=says):
        sweep_epilogue(epilogue_cases((1,)), **wrong)


def test_without_a_hopper_gpu() -> None:
    with pytest.raises(CaptureError, match="needs an NVIDIA Hopper GPU"):
        sweep_epilogue(epilogue_cases((1,)))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["sweep.json.gz"], 1, "measuring epilogue overlap needs an NVIDIA Hopper GPU"),
        (["sweep.csv"], 2, "sweep.csv: the name of the file says how to save a sweep"),
        (["missing/sweep.json"], 2, "cannot write missing/sweep.json: no folder missing"),
        (["sweep.json", "--k", "100"], 2, "k=100; give a number from 128"),
        (["sweep.json", "--tokens", "0"], 2, "tokens=0; give a number from 1"),
        (["sweep.json", "--budget", "0"], 2, "Invalid value for '--budget': 0; give seconds, mo"),
        (["sweep.json", "--within", "-1"], 2, "Invalid value for '--within': -1; give seconds"),
        (["sweep.json", "--within", "nan"], 2, "Invalid value for '--within': nan; give seconds"),
    ],
)
def test_command_refuses_before_anything_is_measured(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    result = sweep_command.sweep(tmp_path, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert f"Error: {says}" in result.stderr
    assert list(tmp_path.iterdir()) == []
