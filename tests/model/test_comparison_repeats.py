"""Comparisons of repeats: intervals and verdicts by hand, different numbers of repeats, notes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import H200, Frame, document, frame, kernel

import protonlab
from protonlab import Profile, compare
from protonlab.model import ProfileInfo
from protonlab.model.measured import Measured
from protonlab.model.merging import merged
from protonlab.model.statistics import ratio_bounds


def loaded(*frames: Frame, devices: Any = H200) -> Profile:
    profile = protonlab.load(document(*frames, devices=devices))
    assert isinstance(profile, Profile)
    return profile


def repeated(**times: tuple[int | None, ...]) -> Profile:
    """A kernel for each keyword, with its time in each repeat; None: it did not run."""
    number = len(next(iter(times.values())))
    return merged(
        [
            (
                repeat,
                loaded(
                    *(
                        kernel(name, series[repeat], bytes=100)
                        for name, series in times.items()
                        if series[repeat] is not None
                    )
                ),
            )
            for repeat in range(number)
        ]
    )


def only(table: pd.DataFrame, name: str = "k") -> Any:
    return table.set_index("name").loc[name]


def test_interval_by_hand() -> None:
    # Means 10 and 20, standard errors 1 and 1, so relative errors 1/10 and 1/20.
    # Variance of the logarithm: 0.01 + 0.0025; Welch: 0.0125² / (0.01² + 0.0025²) = 1.470588
    # degrees of freedom (one each); t(0.975, 1.470588) = 6.188115.
    low, high = ratio_bounds(np.array([[9.0], [11.0]]), np.array([[19.0], [21.0]]))
    half = 6.188115 * math.sqrt(0.0125)
    assert low[0] == pytest.approx(2 * math.exp(-half), rel=1e-5)
    assert high[0] == pytest.approx(2 * math.exp(half), rel=1e-5)


def test_interval_of_equal_samples_is_students_t() -> None:
    # Equal relative errors: Welch's degrees of freedom are (n - 1) + (n - 1) = 4,
    # t(0.975, 4) = 2.776445; the relative error of 9, 10, 11 is 1 / sqrt(3) / 10.
    samples = np.array([[9.0], [10.0], [11.0]])
    low, high = ratio_bounds(samples, samples)
    half = 2.776445 * math.sqrt(2 / 3) / 10
    assert (math.log(low[0]), math.log(high[0])) == pytest.approx((-half, half), rel=1e-6)


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ([[10.0], [10.0]], [[20.0], [20.0]], True),
        ([[10.0]], [[20.0], [21.0]], False),
        ([[10.0], [np.nan]], [[20.0], [21.0]], False),
        ([[0.0], [0.0]], [[20.0], [21.0]], False),
        ([[1.0], [-3.0]], [[20.0], [21.0]], False),
        (np.empty((0, 1)), [[20.0], [21.0]], False),
    ],
)
def test_interval_where_little_is_known(before: Any, after: Any, known: bool) -> None:
    low, high = ratio_bounds(np.array(before), np.array(after))
    assert np.isfinite([low[0], high[0]]).tolist() == [known, known]
    if known:
        assert (low[0], high[0]) == (2, 2)


def test_verdicts_by_hand() -> None:
    comparison = compare(
        repeated(slow=(100, 101, 99), fast=(100, 101, 99), same=(100, 120, 80), gone=(1, 1, 1)),
        repeated(slow=(150, 151, 149), fast=(50, 51, 49), same=(101, 120, 80), new=(1, 1, 1)),
    )
    table: Any = comparison.to_dataframe().set_index("name")
    assert table["change"].to_dict() == {
        "slow": "changed",
        "fast": "changed",
        "same": "cannot tell",
        "gone": "removed",
        "new": "added",
    }
    # slow: relative errors 0.01 / sqrt(3) and 0.01 / 1.5 / sqrt(3);
    # Welch: 3.484536 degrees, t = 2.946173; 1.5 * exp(∓0.0204) = 1.4697 and 1.5310.
    assert table.loc["slow", "verdict"] == (
        "50.0 % more time, 95 % interval 47.0 to 53.1, 3 repeats"
    )
    assert table.loc["slow", ["low", "high"]].tolist() == pytest.approx([1.4697, 1.5310], abs=1e-4)
    # fast: 0.01 / sqrt(3) and 0.02 / sqrt(3); 2.941176 degrees, t = 3.218759; 0.4796 and 0.5212.
    assert table.loc["fast", "verdict"] == (
        "50.0 % less time, 95 % interval 47.9 to 52.0, 3 repeats"
    )
    assert table.loc["same", "verdict"].startswith("cannot tell: the interval of the ratio, 0.")
    assert table.loc["same", "verdict"].endswith(", holds 1 (3 repeats)")
    assert table.loc[["gone", "new"], "verdict"].tolist() == ["gone", "new"]
    assert table.loc[["gone", "new"], "low"].isna().all()


def test_intervals_hold_their_ratio_in_every_row() -> None:
    comparison = compare(
        repeated(k=(10, 30, 7), x=(1, None, 2)), repeated(k=(9, 8, 9), x=(4, 4, 4))
    )
    for table in (comparison.kernels, comparison.frames, _rates().kernels, _rates().frames):
        known = table["low"].notna()
        assert known.any()
        assert (table["low"] <= table["ratio"])[known].all()
        assert (table["ratio"] <= table["high"])[known].all()


def _rates() -> protonlab.Comparison:
    return compare(repeated(k=(10, 30, 7)), repeated(k=(5, 5, 4)), metric="gbyte/s")


@pytest.mark.parametrize(
    "metric", ["time", "count", "avg_time/us", "gbyte/s", "time/%", "time/%parent", "util"]
)
def test_repeats_at_once_are_those_one_by_one(metric: str) -> None:
    profile = merged(
        [
            (None, loaded(kernel("setup", 5))),
            *(
                (
                    at,
                    loaded(
                        frame("s", kernel("k", 10 + at, 2, bytes=40), kernel("x", 3)),
                        *([kernel("k", 7, bytes=9)] if at else [kernel("once", 2, flops16=1e6)]),
                    ),
                )
                for at in range(3)
            ),
        ]
    )
    measured = Measured.of(profile, profile.metric(metric), per_repeat=False)
    fill = np.nan_to_num if measured.metric.additive else np.asarray
    known = ~np.isnan(measured.frames)
    for at, row in enumerate(measured.frames_by_repeat):
        alone = profile.repeat(at).to_dataframe(metric)[metric].to_numpy()
        np.testing.assert_allclose(row[known], fill(alone)[known], rtol=1e-12)
    names = measured.kernels.index
    assert list(names) == ["k", "x", "setup", "once"]
    for at, row in enumerate(measured.kernels_by_repeat):
        alone = profile.repeat(at).to_dataframe(metric, by="kernel").set_index("name")[metric]
        np.testing.assert_allclose(row, fill(alone.reindex(names).to_numpy()), rtol=1e-12)


def test_rates_with_repeats() -> None:
    row = only(_rates().kernels)
    assert (row["before"], row["after"]) == (300 / 47, 300 / 14)
    assert row["ratio"] == pytest.approx(47 / 14)
    # Rates a repeat: 10, 3.33, 14.29 (relative error 0.345) and 20, 20, 25 (0.077).
    assert row["verdict"].startswith("cannot tell")
    steady = compare(repeated(k=(10, 10)), repeated(k=(5, 5)), metric="gbyte/s")
    assert only(steady.kernels)["verdict"] == ("100 % higher, 95 % interval 100 to 100, 2 repeats")


def test_what_did_not_run_in_a_repeat_took_no_time_in_it() -> None:
    row = only(compare(repeated(k=(6, None, 6)), repeated(k=(6, 6, 6))).kernels)
    assert row["ratio"] == 1.5
    # Mean of 6, 0, 6 is 4 and its standard error 2: t(0.975, 2) = 4.302653 times a half.
    assert row["high"] == pytest.approx(1.5 * math.exp(4.302653 / 2), rel=1e-5)
    assert row["change"] == "cannot tell"


def test_another_number_of_repeats_compares_one_with_one() -> None:
    comparison = compare(repeated(k=(10, 12, 14, 16)), repeated(k=(12, 14)))
    assert only(comparison.kernels)[["before", "after", "difference"]].tolist() == [13, 13, 0]
    assert only(comparison.kernels)[["count_before", "count_after"]].tolist() == [1, 1]
    assert only(comparison.kernels)["verdict"].endswith("holds 1 (4 and 2 repeats)")
    assert comparison.frames[["before", "after"]].iloc[0].tolist() == [13, 13]
    assert comparison.notes[0] == (
        "before ran 4 times, after 2 times: values are those of one repeat, on average."
    )
    assert comparison.before.inclusive["time_ns"].iloc[0] == 52  # the profile itself is as it was


def test_repeats_against_a_single_run() -> None:
    comparison = compare(repeated(k=(10, 12)), loaded(kernel("k", 22)))
    assert "low" not in comparison.kernels
    assert only(comparison.kernels)[["before", "after", "ratio"]].tolist() == [11, 22, 2]
    assert comparison.notes[0].startswith("before ran 2 times, after once, not repeated: values")
    assert "Not repeated on both sides" in comparison.notes[1]


def test_bounds_next_to_1_do_not_read_as_1() -> None:
    verdict = only(compare(repeated(k=(9999, 10001)), repeated(k=(9998, 10002))).kernels)["verdict"]
    # Half width: t(0.975, 1.470588) = 6.188115 times sqrt(1e-8 + 4e-8).
    assert verdict == "the same within 1 %, 95 % interval of the ratio 0.9986 to 1.001, 2 repeats"


@pytest.mark.parametrize(
    ("after", "change", "verdict"),
    [
        # Welch: relative errors of 0.1 % on either side, 2 degrees, t = 4.302653: ±0.61 %.
        (
            (1001, 999),
            "unchanged",
            "the same within 1 %, 95 % interval of the ratio 0.994 to 1.01,",
        ),
        (
            (1004, 1002),
            "unchanged",
            "the same within 1 %, 95 % interval of the ratio 0.997 to 1.01,",
        ),
        (
            (1006, 1004),
            "cannot tell",
            "cannot tell: the interval of the ratio, 0.999 to 1.01, hold",
        ),
        ((1008, 1006), "changed", "0.7 % more time, 95 % interval "),
    ],
)
def test_what_a_table_calls_a_change_is_what_its_verdict_says(
    after: tuple[int, ...], change: str, verdict: str
) -> None:
    comparison = compare(repeated(k=(1001, 999)), repeated(k=after))
    for row in (only(comparison.kernels), only(comparison.frames, "k")):
        assert row["change"] == change
        assert row["verdict"].startswith(verdict), row["verdict"]
    words = {"cannot tell": "cannot tell of 1"}.get(change, f"1 {change}")
    assert comparison.summary.endswith(f"; kernels: {words}")


def test_what_took_no_time_before_has_no_ratio() -> None:
    row = only(compare(repeated(k=(0, 0)), repeated(k=(5, 6))).kernels)
    assert (row["change"], row["verdict"]) == ("changed", "no ratio, no interval from 2 repeats")


def test_a_single_repeat_leaves_no_interval() -> None:
    comparison = compare(repeated(k=(10,)), repeated(k=(20,)))
    row = only(comparison.kernels)
    assert (row["change"], row["verdict"]) == (
        "changed", "100 % more time, no interval from 1 repeat",
    )  # fmt: skip


def test_many_intervals_err_now_and_then() -> None:
    series = {f"kernel_{chr(97 + at)}": (10, 11, 12) for at in range(26)}
    notes = compare(repeated(**series), repeated(**series)).notes
    assert notes == (
        "A 95 % interval is wrong one time in 20: of 26 kernels about 1 would seem changed even "
        "if none was.",
    )


def informed(profile: Profile, **info: Any) -> Profile:
    return replace(profile, info=ProfileInfo(**info))


def test_other_devices_versions_and_contexts_are_noted() -> None:
    one = loaded(kernel("k", 10))
    small = {"CUDA": {"0": H200["CUDA"]["0"] | {"num_sms": 114}}}
    notes = compare(one, loaded(kernel("k", 10), devices=small)).notes
    assert notes[0] == (
        "Warning: before ran on CUDA 0 (sm_90, 132 SMs), after on CUDA 0 (sm_90, 114 SMs); the "
        "differences are also those of the devices."
    )
    notes = compare(informed(one, gpu="NVIDIA H200"), informed(one, gpu="NVIDIA H100")).notes
    assert notes[0].startswith("Warning: before ran on NVIDIA H200, after on NVIDIA H100; the diff")
    notes = compare(
        informed(one, context="shadow", versions={"triton": "3.8.0", "torch": "2"}),
        informed(one, context="python", versions={"triton": "3.9.0", "torch": "2"}),
    ).notes
    assert notes[0] == "triton was 3.8.0 before and 3.9.0 after."
    assert notes[1].startswith("before was recorded with context=shadow, after with context=python")


def test_another_number_of_launches_is_noted() -> None:
    notes = compare(loaded(kernel("k", 10, 4)), loaded(kernel("k", 10, 3))).notes
    assert notes[0] == (
        "Of 1 kernel on both sides, 1 was launched another number of times; metric='avg_time/us' "
        "compares a launch with a launch."
    )
    launches = compare(loaded(kernel("k", 40, 4)), loaded(kernel("k", 30, 3)), metric="avg_time/ns")
    assert launches.kernels["change"].tolist() == ["unchanged"]
    assert not any("number of times" in note for note in launches.notes)


def test_frames_have_intervals_too() -> None:
    profiles = [
        merged(
            [
                (at, loaded(frame("mlp", kernel("k", time), kernel("x", 10))))
                for at, time in enumerate(times)
            ]
        )
        for times in ((90, 92), (190, 192))
    ]
    comparison = compare(*profiles)
    assert comparison.frames["name"].tolist() == ["ROOT", "mlp", "k", "x"]
    assert comparison.frames["change"].tolist() == ["changed", "changed", "changed", "unchanged"]
    total = only(comparison.frames, "ROOT")
    assert total["ratio"] == 402 / 202
    assert total["verdict"] in comparison.summary
    assert total["verdict"].startswith("99.0 % more time")
