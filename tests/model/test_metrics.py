import json
import math

import numpy as np
import pytest
from builders import SMALL, document, frame, kernel

import protonlab
from protonlab.errors import MetricError
from protonlab.model import Metric, MetricColumn, Profile

ROOT, MLP, MATMUL, PLAIN, ATTN, METADATA, ATTENTION = 0, 1, 2, 3, 4, 5, 8


@pytest.fixture
def small() -> Profile:
    return protonlab.load(SMALL)


def value(profile: Profile, metric: str, row: int) -> float:
    return float(profile.to_dataframe([metric], overhead=True)[metric].loc[row])


@pytest.mark.parametrize(
    ("metric", "row", "expected"),
    [
        ("time/ns", ROOT, 1000),
        ("time/us", MLP, 0.6),
        ("time/ms", MATMUL, 500e-6),
        ("time/s", MATMUL, 500e-9),
        ("time", PLAIN, 100),
        ("avg_time/ns", MATMUL, 100),
        ("avg_time/us", MLP, 600 / 7 / 1e3),
        ("count", ROOT, 8),
        ("bytes", ROOT, 1200),
        ("byte/s", MATMUL, 2e9),
        ("gbyte/s", MLP, 1000 / 600),  # a rate is a ratio of inclusive sums
        ("mbyte/s", MATMUL, 2000),
        ("flop16/s", MATMUL, 16e6),
        ("gflop16/s", MATMUL, 0.016),
        ("n_tokens", MLP, 16),
        ("n_tokens/s", ROOT, 20e6),
        ("bytes/n_tokens", ROOT, 60),
        ("n_tokens/count", MATMUL, 3.2),
        ("time/%", MLP, 60),
        ("time/%parent", MATMUL, 500 / 6),
        ("bytes/%", ATTENTION, 100 * 200 / 1200),
        ("TIME/US", MLP, 0.6),  # as in proton-viewer, case does not matter
    ],
)
def test_worked_out_by_hand(small: Profile, metric: str, row: int, expected: float) -> None:
    assert value(small, metric, row) == pytest.approx(expected, rel=1e-12)


def test_missing_is_nan_and_never_zero(small: Profile) -> None:
    table = small.to_dataframe(["gbyte/s", "n_tokens/s", "bytes", "tflop16/s"])
    assert table.loc[PLAIN, ["gbyte/s", "n_tokens/s", "bytes"]].isna().all()
    assert math.isnan(table.loc[ATTN, "tflop16/s"])
    assert table["gbyte/s"].dtype == np.float64


def test_metadata_frames_do_not_count_towards_totals(small: Profile) -> None:
    assert value(small, "time/ns", ATTN) == 400
    assert value(small, "time/ns", METADATA) == 50
    assert METADATA not in small.to_dataframe(["time/ns"]).index


def test_exclusive_values(small: Profile) -> None:
    table = small.to_dataframe(["time/ns", "bytes"], inclusive=False)
    assert math.isnan(table.loc[MLP, "time/ns"])
    assert table.loc[MATMUL, "bytes"] == 1000


def test_util_names_its_bound() -> None:
    # H200 by Proton's figures: 2 * 6016/8 * 3201e6 B/s; flops16 half of 8 bits'.
    bandwidth = 2 * 6016 / 8 * 3201e6
    flops16 = 132 / 114 * 1980000 / 1755e3 * 1513e12 / 2
    profile = protonlab.load(
        document(
            kernel("memory", 1000, bytes=2_000_000, flops16=1e6),
            kernel("compute", 1000, bytes=1000, flops16=4e8),
            kernel("unknown", 1000),
        )
    )
    table = profile.to_dataframe(["util"], by="kernel").set_index("name")
    assert table.loc["memory", "util"] == pytest.approx(2_000_000 / bandwidth / 1e-6)
    assert table.loc["memory", "util_bound"] == "bytes"
    assert table.loc["compute", "util"] == pytest.approx(4e8 / flops16 / 1e-6)
    assert table.loc["compute", "util_bound"] == "flops"
    assert table.loc["unknown"].isna()[["util", "util_bound"]].all()


def test_an_unknown_peak_is_missing_with_a_reason() -> None:
    devices = {"CUDA": {"0": {"arch": "77", "num_sms": 10, "clock_rate": 1000}}}
    profile = protonlab.load(document(kernel("k", 10, bytes=5), devices=devices))
    assert profile.to_dataframe(["util"])["util"].isna().all()
    assert "arch 77" in str(profile.devices[0].why_no_peak)
    assert str(profile.devices[0]) == "CUDA 0 (sm_77, 10 SMs)"
    bare = protonlab.load(document(kernel("k", 10, bytes=5), devices={"CUDA": {"0": {}}}))
    assert str(bare.devices[0]) == "CUDA 0"
    zero = {"CUDA": {"0": {"arch": "90", "bus_width": 0, "num_sms": 0, "clock_rate": 0}}}
    assert (
        protonlab.load(document(kernel("k", 1, bytes=5), devices=zero))
        .to_dataframe("util")["util"]
        .isna()
        .all()
    )


@pytest.mark.parametrize(
    "name", ["gbyte/ss", "tokens/s", "", "/", "time/", "time/m", "util/s", "x/%", "flop64/s"]
)
def test_unknown_metric_names_those_that_would_do(small: Profile, name: str) -> None:
    with pytest.raises(MetricError, match=r"is not a metric of this profile(.|\n)*time/us"):
        small.to_dataframe([name])


def test_a_close_name_is_proposed(small: Profile) -> None:
    with pytest.raises(MetricError, match="Did you mean 'n_tokens/s'"):
        small.to_dataframe(["n_token/s"])


def test_a_metric_name_must_be_text(small: Profile) -> None:
    with pytest.raises(MetricError, match="no metric name"):
        small.to_dataframe([3])  # type: ignore[list-item]


def test_units_and_provenance(small: Profile) -> None:
    assert small.metric("time/us").format(12.345) == "12.3 µs"
    assert small.metric("gbyte/s").format(2650) == "2.65 TB/s"
    assert small.metric("n_tokens/s").format(16384) == "16.4k n_tokens/s"
    assert small.metric("bytes").format(1500) == "1.50 kB"
    assert small.metric("time/%").format(12.34) == "12.3 %"
    assert small.metric("util").format(0.5) == "50.0 %"
    assert small.metric("time/us").measured
    assert not small.metric("gbyte/s").measured
    assert small.metric("bytes").additive
    assert not small.metric("gbyte/s").additive


def test_default_metrics_are_rates_of_what_kernels_recorded() -> None:
    profile = protonlab.load(
        document(frame("step", kernel("k", 10, bytes=1, flops16=2.0, n_tokens=3), loss=0.5))
    )
    assert profile.metrics == [
        "time/us", "time/%", "count", "avg_time/us", "gbyte/s", "tflop16/s", "n_tokens/s",
    ]  # fmt: skip
    assert value(profile, "loss", 1) == 0.5


def test_a_metric_that_only_scopes_recorded_is_missing_by_kernel() -> None:
    profile = protonlab.load(document(frame("step", kernel("k", 10), n_tokens=3)))
    assert profile.to_dataframe(["n_tokens/s"], by="kernel")["n_tokens/s"].isna().all()
    assert "n_tokens" not in profile.kernels


def test_metrics_named_like_a_column_or_with_units_keep_apart() -> None:
    profile = protonlab.load(
        document(kernel("k", 10, **{"depth": 7, "latency (cycles)": 5, "tok/s": 9, "µ-tokens": 2}))
    )
    table = profile.to_dataframe(["depth_metric", "latency_cycles", "tok/s", "µ-tokens"])
    assert table.iloc[1, -4:].tolist() == [7, 5, 9, 2]
    assert [c.raw for c in profile.columns if c.column == "depth_metric"] == ["depth"]


def test_metrics_that_differ_in_case_keep_apart() -> None:
    profile = protonlab.load(document(kernel("k", 10, n_tokens=5, N_TOKENS=7)))
    table = profile.to_dataframe(["n_tokens", "N_TOKENS", "N_Tokens/S"], by="kernel")
    assert table.iloc[0, -3:-1].tolist() == [5, 7]
    only = protonlab.load(document(kernel("k", 10, N_TOKENS=7)))
    assert only.to_dataframe("n_tokens/s", by="kernel")["n_tokens/s"].tolist() == [
        pytest.approx(0.7e9)
    ]


@pytest.mark.parametrize("name", ["devices", "device", "time", "cpu_time", "_ideal_flops_ns"])
def test_a_metric_named_like_one_of_ours_keeps_its_value(name: str) -> None:
    profile = protonlab.load(document(kernel("k", 10, **{name: 7})))
    column = next(column for column in profile.columns if column.raw == name).column
    assert profile.kernels[column].tolist() == [7]
    assert profile.kernels[["devices", "time_ns"]].values.tolist() == [[1, 10]]
    assert profile.to_dataframe(["time/ns", column], by="kernel").iloc[0, -2:].tolist() == [10, 7]


def test_cpu_time_of_a_scope_is_exclusive() -> None:
    inner = frame("inner", kernel("k", 10), **{"cpu_time (ns)(exc)": 300})
    profile = protonlab.load(document(frame("outer", inner, **{"cpu_time (ns)(exc)": 900})))
    assert value(profile, "cpu_time/us", 1) == 0.9  # not 1.2: outer's time holds inner's
    assert math.isnan(value(profile, "cpu_time/us", 0))


def test_numbers_equal_proton_viewers(profile_path: str, viewer_values: dict[str, str]) -> None:
    profile = protonlab.load(profile_path)
    stored = viewer_values[profile_path.rsplit("/", 1)[-1]]
    compared = 0
    for metric, values in stored.items():
        ours = profile.to_dataframe([metric], overhead=True)[metric]
        for row, expected in values.items():
            if metric == "util" and expected == 0 and math.isnan(ours.loc[int(row)]):
                continue  # proton-viewer writes 0 for a kernel that recorded neither
            assert ours.loc[int(row)] == pytest.approx(expected, rel=1e-9), (metric, row)
            compared += 1
    assert compared > 20


@pytest.fixture
def viewer_values() -> dict[str, str]:
    from pathlib import Path

    stored = Path(__file__).parent.parent / "profiles" / "viewer_values.json"
    return dict(json.loads(stored.read_text()))


def test_the_root_is_no_share_of_a_parent(small: Profile) -> None:
    shares = small.to_dataframe("time/%parent")["time/%parent"]
    assert np.isnan(shares[0])
    assert shares[1] == 60


@pytest.mark.parametrize(
    ("name", "is_better_high"),
    [("gbyte/s", True), ("util", True), ("n_tokens/s", True), ("time/us", False),
     ("bytes", False), ("bytes/n_tokens", False), ("time/%", False)],
)  # fmt: skip
def test_which_way_is_better(name: str, is_better_high: bool) -> None:
    columns = [MetricColumn.from_raw(raw) for raw in ("time (ns)", "bytes", "flops16", "n_tokens")]
    assert Metric.parse(name, columns).is_better_high == is_better_high
