"""compare_variants for real, on a GPU or the interpreter: what it measures."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from variant_kernels import ON_CPU, nothing_kernel, quick, run, scale, silent

import protonlab
from protonlab import (
    CaptureError,
    MetricError,
    ProtonLabError,
    VariantComparison,
    compare_variants,
)
from protonlab.capture import _proton, device
from protonlab.experiment import Measurement

TIMER = "Proton, one scope a sample"
needs_phases = pytest.mark.skipif(
    not _proton.require().has_phases, reason="Triton before 3.7 gives times at the end only"
)


@pytest.fixture(scope="module")
def compared() -> VariantComparison:
    """The same work done once and ten times a call."""
    return compare_variants(
        {"once": scale, "often": lambda: scale(times=10)}, budget_s=2.5, seed=3, metric="time/us"
    )


def test_ten_times_the_launches_take_longer(compared: VariantComparison) -> None:
    found = compared.ratio
    assert compared.names == ("once", "often")
    assert len(compared) >= 12
    assert found.estimate > 2
    assert 1 < found.low < 18  # the interval knows how busy the host was, the estimate does not
    assert compared.verdict.startswith("once is ")
    np.testing.assert_allclose(compared.pairs["value_a"], compared.pairs["time_ns_a"] / 1e3)


def test_pairs_are_balanced_blocks_by_seed(compared: VariantComparison) -> None:
    orders = compared.pairs["order"].tolist()
    blocks = ["".join(orders[at : at + 2]) for at in range(0, len(orders), 2)]
    assert set(blocks) == {"ABBA", "BAAB"}
    for at in range(0, len(blocks) - 1, 2):
        assert sorted(blocks[at : at + 2]) == ["ABBA", "BAAB"]
    assert compared.pairs["at_s"].is_monotonic_increasing


def test_protocol_is_kept_and_printed(compared: VariantComparison) -> None:
    kept = compared.protocol
    assert (kept["protocol"], kept["budget_s"], kept["seed"]) == ("sustained", 2.5, 3)
    assert kept["warmup_s"] > 0
    assert min(kept["launches"]) >= 1
    assert kept["stop_reason"].startswith(("the budget of 2.5 s", "the interval is narrower"))
    if _proton.require().has_phases:
        assert (kept["timer"], kept["timer_reason"]) == (TIMER, "")
        assert 0 < kept["busy"][0] <= 1.05
    for piece in (kept["in_words"], "seed 3", "budget 2.5 s", kept["timer"], "Warmed up for"):
        assert piece in repr(compared)


def test_info_says_where_and_when(compared: VariantComparison) -> None:
    info = compared.info
    assert info.name == "once against often"
    assert {"python", "triton", "torch"} <= {*info.versions}
    assert info.when
    if ON_CPU:
        assert info.backend == "interpreter, CPU"
        assert "sustained, on the CPU: samples of " in compared.protocol["in_words"]
        assert "times say nothing about a GPU" in compared.verdict
        assert any("say nothing about a GPU" in each for each in compared.warnings)
        assert compared.pairs["sm_clock_mhz"].isna().all()
    else:
        assert info.gpu
        assert "driver" in info.versions
        assert compared.pairs["sm_clock_mhz"].gt(0).all()


def test_profiles_of_both_are_there(compared: VariantComparison) -> None:
    assert compared.profiles is not None
    for name, profile, launches in zip(compared.names, compared.profiles, (1, 10), strict=True):
        assert profile.info.name == name
        assert profile.repeats is not None
        (kernel,) = profile.kernels[profile.kernels["hook"] == "kept"].to_dict("records")
        assert kernel["name"] == "scale [n=128]"
        assert kernel["count"] == launches * profile.repeats.number


@pytest.mark.parametrize(
    ("metric", "amount"), [("gbyte/s", 1024), ("n_tokens/s", 32e9), (None, 1024), ("time/ms", None)]
)
def test_metric_is_made_from_launch_metadata(metric: str | None, amount: float | None) -> None:
    found = quick(metric=metric)
    assert found.metric.name == (metric or "gbyte/s")
    times = found.pairs["time_ns_a"]
    expected = times / 1e6 if amount is None else amount / times
    np.testing.assert_allclose(found.pairs["value_a"], expected)


def test_where_calls_move_different_amounts_time_is_what_counts() -> None:
    found = quick(scale, lambda: scale(n=256))
    assert found.metric.name == "time/us"
    assert quick(scale, lambda: scale(by=3.0)).metric.name == "gbyte/s"
    asked = quick(scale, lambda: scale(n=256), metric="gbyte/s")
    (note,) = (each for each in asked.warnings if "times the work" in each)
    assert note == (
        "A call of two counts 2 times the work of one of one, so gbyte/s does not say which is "
        "faster; metric='time/us' does."
    )


def test_a_variant_that_counts_nothing_has_no_rate() -> None:
    def nothing() -> torch.Tensor:
        return scale(kernel=nothing_kernel)

    for variants in ((nothing, scale), (scale, nothing), (nothing, nothing)):
        with pytest.raises(MetricError, match=r"counts nothing: 'gbyte/s' .* metric='time/us'"):
            quick(*variants, metric="gbyte/s")
    assert quick(nothing, scale).metric.name == "time/us"


def test_measurement_in_steps_is_the_same_thing() -> None:
    with Measurement({"one": scale, "two": scale}, budget_s=0.5, seed=1) as measurement:
        assert (measurement.state, measurement.stop_reason) == ("not started", "")
        with pytest.raises(ProtonLabError, match="there is no comparison yet"):
            _ = measurement.comparison
        states, pairs = [], []
        while not measurement.done:
            measurement.step()
            states.append(measurement.state)
            if measurement.state in ("warming up", "measuring"):
                pairs.append(len(measurement.comparison))
        final = measurement.comparison
    assert list(dict.fromkeys(states)) == ["looking", "warming up", "measuring", "done"]
    assert {after - before for before, after in itertools.pairwise(pairs)} == {0, 2}
    assert len(final) == pairs[-1]
    assert measurement.stop_reason == final.protocol["stop_reason"]
    measurement.step()  # does nothing any more
    assert len(measurement.comparison) == len(final)


def test_closing_early_keeps_what_was_measured() -> None:
    with Measurement({"one": scale, "two": scale}, budget_s=60) as measurement:
        while measurement.state != "measuring":
            measurement.step()
        assert "stopped: not by then" in repr(measurement.comparison)
        measurement.close()
        assert measurement.done
        measurement.close()
    assert len(measurement.comparison) == 2
    assert measurement.stop_reason == "it was closed"
    assert "stopped: it was closed" in repr(measurement.comparison)


def test_closed_early_it_lets_go_of_its_variants_at_once() -> None:
    class Call:
        def __call__(self) -> torch.Tensor:
            return scale()

    def measured_for_a_moment() -> weakref.ref[Call]:
        call = Call()
        with Measurement({"one": call, "two": call}) as measurement:
            while measurement.state != "measuring":
                measurement.step()
        return weakref.ref(call)

    gc.disable()
    try:
        assert measured_for_a_moment()() is None
    finally:
        gc.enable()


def test_setup_runs_before_each_sample() -> None:
    x = torch.zeros(64, device=device())
    calls: list[str] = []

    def setup() -> None:
        calls.append("setup")
        x.zero_()

    def add(amount: int) -> torch.Tensor:
        if ON_CPU:
            calls.append("call")
        return x.add_(scale(1.0, 64), alpha=amount)

    found = quick(lambda: add(1), lambda: add(1), setup=setup)
    assert found.outputs_equal is True  # both began with zeros
    assert calls[0] == "setup"
    if ON_CPU:
        assert calls[:4] == ["setup", "call", "setup", "call"]  # each before anything is timed
    assert calls.count("setup") >= 2 * 2 + 2 * len(found)


def test_outputs_that_differ_are_shown_not_refused() -> None:
    found = quick(scale, lambda: scale(3.0))
    assert found.outputs_equal is False
    assert "Mismatched elements: 127 / 128" in found.outputs
    assert "; but their outputs differ" in found.verdict
    assert found.warnings[0].startswith("The outputs differ: the result: ")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda: (scale(), 1), "only one returns a tensor by itself"),
        (lambda: [scale(), None][1], "only one returns a tensor"),
    ],
)
def test_outputs_of_another_form_are_told(other: Any, says: str) -> None:
    found = quick(scale, other)
    assert (found.outputs_equal, found.outputs) == (False, says)


def test_seed_of_numpy_is_a_number_like_any_other(tmp_path: Path) -> None:
    found = quick(seed=np.int64(3))
    found.save(tmp_path / "c.json")
    assert found.protocol["seed"] == 3


def test_without_proton_a_clock_stands_in_and_only_times_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    found = quick()
    assert found.metric.name == "time/us"
    assert found.profiles is None
    assert found.protocol["timer"] == ("the host's clock" if ON_CPU else "CUDA events")
    assert found.protocol["timer_reason"] in found.protocol["in_words"]
    if _proton.require().has_phases:
        assert "TRITON_PROTON_DISABLE" in found.protocol["timer_reason"]
    assert (found.pairs["time_ns_a"] > 0).all()
    with pytest.raises(CaptureError, match="metric='gbyte/s' needs what Proton records"):
        quick(metric="gbyte/s")


def test_burst_protocol_is_named() -> None:
    found = quick(protocol="burst", budget_s=0.5)
    assert found.protocol["protocol"] == "burst"
    assert "burst" in repr(found).splitlines()[0]
    assert (found.protocol["flush_bytes"] == 0) == ON_CPU


@needs_phases
def test_two_measurements_at_once_do_not_mix() -> None:
    first = Measurement({"one": scale, "two": scale}, budget_s=0.4, metric="time/us")
    second = Measurement({"one": silent, "two": silent}, budget_s=0.4)
    threads = [threading.Thread(target=run, args=(each,)) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for measurement in (first, second):
        assert measurement.comparison.protocol["timer"] == TIMER, measurement.comparison
        assert len(measurement.comparison) >= 2


@needs_phases
def test_inside_a_session_of_the_users_nothing_gets_mixed_up() -> None:
    with protonlab.Session("outer") as session:
        scale(5.0)
        found = quick()
    assert found.protocol["timer"] == TIMER, found
    kernels = session.profile.kernels
    assert "scale [n=128]" in set(kernels["name"])
    assert not any("protonlab" in str(name) for name in session.profile.frames["name"])
