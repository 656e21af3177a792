"""A comparison of variants: its ratio, its verdict, what it warns of, and its file."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import SMALL
from scipy import stats
from variant_builders import RATE, TIME, comparison, noisy, pairs_of

import protonlab
from protonlab import ProfileFormatError, ProtonLabError, VariantComparison
from protonlab.formats import read_profile
from protonlab.model import Metric, ProfileInfo


def test_ratio_below_20_pairs_is_students_t_on_logarithms() -> None:
    found = comparison([100, 110, 100], [50, 50, 60]).ratio
    logs = np.log([100 / 50, 110 / 50, 100 / 60])
    half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / math.sqrt(3)
    assert (found.n, found.method) == (3, "t")
    assert found.estimate == pytest.approx((2 * 2.2 * 5 / 3) ** (1 / 3))
    assert [found.low, found.high] == pytest.approx(np.exp(logs.mean() + np.array([-half, half])))


def test_ratio_from_20_pairs_on_is_a_bootstrap_close_to_it() -> None:
    a, b = noisy(20, 0.97)
    assert comparison(a[:19], b[:19]).ratio.method == "t"
    found = comparison(a, b).ratio
    logs = np.log(a / b)
    half = stats.t.ppf(0.975, 19) * stats.sem(logs)
    assert (found.n, found.method) == (20, "bootstrap")
    assert found.estimate == pytest.approx(math.exp(logs.mean()))
    assert math.log(found.high / found.low) == pytest.approx(2 * half, rel=0.15)
    assert comparison(a, b).ratio == found  # the same random numbers each time


def test_interval_of_equal_ratios_is_a_point() -> None:
    found = comparison([100.0] * 30, [50.0] * 30).ratio
    assert (found.low, found.estimate, found.high) == pytest.approx((2, 2, 2))


@pytest.mark.parametrize("metric", [RATE, TIME], ids=lambda metric: metric.name)
def test_verdict_names_the_faster_one_whatever_the_metric(metric: Metric) -> None:
    slower, faster = [1027.0, 1030, 1024] * 4, [1000.0] * 12
    text = "is 2.7 % faster, 95 % interval 2.5 to 2.9, 12 pairs"
    assert comparison(slower, faster, metric=metric).verdict == f"serial {text}"
    assert comparison(faster, slower, metric=metric).verdict == f"overlap {text}"


def test_verdict_that_cannot_tell() -> None:
    a, b = noisy(12)
    text = comparison(a, b).verdict
    assert text.startswith("cannot tell: the 95 % interval of the ratio, 0.99"), text
    assert text.endswith("holds 1 (12 pairs)"), text
    assert comparison([100], [50]).verdict == (
        "cannot tell: no interval of the ratio follows from 1 pair"
    )
    assert comparison([], []).verdict == "nothing measured yet"


def test_rates_of_different_work_do_not_say_who_is_faster() -> None:
    table = pairs_of([1000.0] * 12, [1000.0] * 12)
    table["value_b"] *= 2  # twice the bytes in the same time
    found = VariantComparison(("overlap", "serial"), RATE, table)
    assert found.verdict == (
        "serial has 100 % more gbyte/s than overlap, 95 % interval 100 to 100, 12 pairs"
    )


def test_verdict_of_the_interpreter_says_so() -> None:
    info = ProfileInfo(backend="interpreter, CPU")
    text = comparison([2000.0] * 12, [1000.0] * 12, info=info).verdict
    assert text.startswith("serial is 100 % faster")
    assert text.endswith("; on the interpreter, where times say nothing about a GPU")


def test_first_pairs_are_a_comparison_as_it_stood_then() -> None:
    a, b = noisy(30, 0.9)
    whole = comparison(a, b, protocol={"seed": 3})
    early = whole.first(12)
    assert (len(early), len(whole.first(99)), len(whole.first(0))) == (12, 30, 0)
    assert early.ratio == comparison(a[:12], b[:12]).ratio
    assert early.protocol == {"seed": 3, "stop_reason": "a part: 12 of 30 pairs"}
    with pytest.raises(ProtonLabError, match=r"first\(-1\): give a number of pairs"):
        whole.first(-1)
    for wrong in (2.5, "3", True, None):
        with pytest.raises(ProtonLabError, match="give a number of pairs"):
            whole.first(wrong)  # type: ignore[arg-type]


def test_first_pairs_do_not_claim_the_end_of_the_whole() -> None:
    ended = "the budget of 3 s is spent"
    told = f"ABBA. Timed by Proton, budget 3 s, stopped: {ended}."
    a, b = noisy(30, 0.9)
    whole = comparison(a, b, protocol={"in_words": told, "stop_reason": ended})
    assert whole.first(30).protocol == whole.protocol
    early = whole.first(8)
    assert early.protocol == {
        "in_words": "ABBA. Timed by Proton, budget 3 s, a part: 8 of 30 pairs.",
        "stop_reason": "a part: 8 of 30 pairs",
    }
    assert "budget 3 s, a part: 4 of 8 pairs." in repr(early.first(4))
    going_on = {"in_words": "Budget 3 s, stopped: not by then.", "stop_reason": ""}
    told = comparison(a, b, protocol=going_on).first(2).protocol["in_words"]
    assert told == "Budget 3 s, a part: 2 of 30 pairs."


def test_quiet_pairs_warn_of_nothing() -> None:
    for seed in range(20):
        a, b = noisy(64, seed=seed)
        assert comparison(a, b).warnings == ()


@pytest.mark.parametrize("n", [12, 16, 24, 40])
def test_few_pairs_with_one_peak_hardly_ever_show_two(n: int) -> None:
    random = np.random.default_rng(0)
    told = 0
    for sigma, draw in ((0.005, random.standard_normal), (0.01, random.standard_exponential)):
        for _ in range(150):
            a, b = 1000 * np.exp(sigma * draw((2, n)))
            told += any("two peaks" in warning for warning in comparison(a, b).warnings)
    assert told <= 15  # of 300 comparisons, each of two variants


def test_two_peaks_are_named_with_their_distance() -> None:
    a, b = noisy(40, sigma=0.002)
    b[::4] *= 1.05
    (warning,) = comparison(a, b).warnings
    assert warning.startswith("The samples of serial have two peaks, 5."), warning
    assert "(25 % in the upper one)" in warning


def test_rounds_that_differ_are_no_peaks_and_no_drift() -> None:
    a, b = noisy(40, sigma=0.001)
    rounds = np.arange(40) // 4
    b *= np.where(rounds < 3, 1.02, 1.0)  # where tensors lay in the first three rounds
    assert len(comparison(a, b).warnings) == 2
    assert comparison(a, b, columns={"round": rounds.astype(float)}).warnings == ()
    b[1::4] *= 1.05  # within rounds it tells what it told before
    (warning,) = comparison(a, b, columns={"round": rounds.astype(float)}).warnings
    assert "two peaks" in warning


def test_one_outlier_and_an_even_spread_are_no_peaks() -> None:
    a, b = noisy(40, sigma=0.002)
    b[7] *= 1.5
    assert (
        comparison(
            a, np.linspace(1000, 1100, 40)[np.random.default_rng(0).permutation(40)]
        ).warnings
        == ()
    )
    assert comparison(a, b).warnings == ()


def test_drift_of_the_ratio_is_told_and_that_of_both_is_not() -> None:
    a, b = noisy(40, sigma=0.002)
    slope = np.linspace(1, 1.04, 40)
    assert not any("drift" in each for each in comparison(a * slope, b * slope).warnings)
    (warning,) = (each for each in comparison(a, b * slope).warnings if "drift" in each)
    assert "the time of serial by that of overlap rose by" in warning


def test_moved_clocks_and_throttling_are_told() -> None:
    a, b = noisy(12)
    clocks = np.array([1980.0] * 6 + [1755.0] * 6)
    columns = {"sm_clock_mhz": clocks, "power_w": 699.0, "throttle": "power cap"}
    warnings = comparison(a, b, columns=columns).warnings
    assert warnings[0].startswith("The SM clock moved between 1755 and 1980 MHz (by 12.8 %)")
    assert warnings[1].startswith("The GPU was slowed down (power cap) in 12 of 12 readings")


@pytest.mark.parametrize(("capped", "said"), [(0, False), (5, False), (6, True), (12, True)])
def test_one_clock_at_the_power_cap_is_told(capped: int, said: bool) -> None:
    reasons = ["clock setting, power cap"] * capped + [""] * (12 - capped)
    warnings = comparison(*noisy(12), columns={"throttle": reasons}).warnings
    assert any(each.startswith("Both ran in turn, at the one clock") for each in warnings) is said


def test_different_outputs_come_first() -> None:
    a, b = noisy(12)
    found = comparison(a, b, outputs_equal=False, outputs="1 of 8 numbers", notes=("A note.",))
    assert found.warnings == ("The outputs differ: 1 of 8 numbers.", "A note.")
    assert comparison(a, b, outputs_equal=True, outputs="identical").warnings == ()


def test_text_and_page_say_the_same() -> None:
    a, b = noisy(12, 0.9)
    found = comparison(
        a,
        b,
        protocol={"protocol": "sustained", "in_words": "samples of 12 calls."},
        info=ProfileInfo(gpu="NVIDIA H200", versions={"triton": "3.9.0"}, when="2026-11-30"),
        outputs_equal=True,
        outputs="identical (one tensor compared)",
        notes=("NVML <is> missing.",),
    )
    text, page = repr(found), found._repr_html_()
    assert text.splitlines()[:2] == ["overlap against serial: gbyte/s, sustained", found.verdict]
    for piece in (
        "1.00 GB/s",
        "Outputs: identical (one tensor compared)",
        "Protocol: samples of 12 calls.",
        "Measured on: NVIDIA H200 · triton 3.9.0 · 2026-11-30",
    ):
        assert piece in text
        assert piece in page
    assert "Warning: NVML <is> missing." in text
    assert "NVML &lt;is&gt; missing." in page


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    a, b = noisy(12, 0.9)
    profile = read_profile(SMALL)
    found = comparison(
        a,
        b,
        columns={"power_w": [np.nan, *[600.5] * 11]},
        protocol={"seed": 3, "launches": [12, 13], "busy": None},
        info=ProfileInfo(gpu="NVIDIA H200", versions={"triton": "3.9.0"}),
        outputs_equal=True,
        outputs="identical",
        notes=("One.",),
        profiles=(profile, profile),
    )
    for name in ("a.json", "a.json.gz"):
        found.save(tmp_path / name)
        again = protonlab.load(tmp_path / name)
        assert isinstance(again, VariantComparison)
        pd.testing.assert_frame_equal(again.pairs, found.pairs)
        for field in dataclasses.fields(found):
            if field.name not in ("pairs", "profiles"):
                assert getattr(again, field.name) == getattr(found, field.name), field.name
        assert again.profiles is not None
        pd.testing.assert_frame_equal(again.profiles[1].frames, profile.frames)
        assert repr(again) == repr(found)
    comparison([], []).save(tmp_path / "empty.json")
    assert len(protonlab.load(tmp_path / "empty.json").pairs) == 0  # type: ignore[union-attr]


def test_name_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProtonLabError, match=r"is saved as JSON; let the name end in \.json"):
        comparison([], []).save(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protonlab_variants": 2}, "protonlab_variants is 2; this protonlab reads 1"),
        ({"names": ["a"]}, "no comparison that VariantComparison.save wrote"),
        ({"pairs": {}}, "pairs lack order, time_ns_a"),
        ({"time_ns_a": [1.0]}, "the columns of pairs differ in length"),
        ({"time_ns_a": [1.0, "x"]}, "pairs hold text where a number belongs"),
        ({"time_ns_a": [1.0, -1.0]}, "a pair has a time that is no positive number"),
        ({"time_ns_a": [1.0, None]}, "a pair has a time that is no positive number"),
        ({"order": ["AB", "AA"]}, "the order of a pair is neither AB nor BA"),
    ],
    ids=str,
)
def test_damaged_file_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.json"
    comparison([100.0, 101.0], [100.0, 99.0]).save(path)
    document = json.loads(path.read_text())
    for key, value in change.items():
        (document["pairs"] if key in document["pairs"] else document)[key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(ProfileFormatError, match=message) as failure:
        protonlab.load(path)
    assert str(path) in str(failure.value)
    path.write_text(path.read_text()[:200])
    with pytest.raises(ProfileFormatError, match="no comparison that"):
        protonlab.load(path)


def test_pairs_without_a_column_are_refused() -> None:
    with pytest.raises(ProtonLabError, match="pairs lack throttle"):
        VariantComparison(("a", "b"), RATE, pairs_of([1.0], [1.0]).drop(columns="throttle"))


def test_table_is_the_readers_own() -> None:
    found = comparison([100.0], [100.0])
    table = found.to_dataframe()
    table["time_ns_a"] = 0
    assert found.pairs["time_ns_a"].tolist() == [100.0]
