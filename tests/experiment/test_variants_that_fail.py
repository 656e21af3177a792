"""What compare_variants refuses, and variants that fail or are interrupted in the middle."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from variant_kernels import ON_CPU, quick, run, scale, silent

from protonlab import MetricError, ProtonLabError, compare_variants
from protonlab.experiment import Measurement


def test_without_bytes_the_default_is_time_and_a_rate_is_refused() -> None:
    assert quick(silent, silent).metric.name == "time/us"
    with pytest.raises(MetricError, match="variant 'two': 'gbyte/s' is not a metric") as failure:
        quick(scale, silent, metric="gbyte/s")
    assert "metric='time/us' needs none" in str(failure.value)


@pytest.mark.parametrize("metric", ["time/%", "count", "bytes/n_tokens"])
def test_metric_without_time_is_refused(metric: str) -> None:
    with pytest.raises(MetricError, match="says nothing about the speed of a call; use a time"):
        quick(metric=metric)


@pytest.mark.parametrize("metric", ["avg_time/us", "count/s"])
def test_metric_of_launches_is_refused(metric: str) -> None:
    with pytest.raises(MetricError, match="may do the same in more launches") as failure:
        quick(scale, lambda: (scale(), scale()), metric=metric)
    assert metric not in str(failure.value).split("or a rate:")[1]


def test_variant_that_raises_is_named_with_its_reason() -> None:
    def broken() -> None:
        scale()
        raise ValueError("no luck\nsecond line")

    with pytest.raises(
        ProtonLabError, match=r"variant 'two' raised ValueError: no luck$"
    ) as failure:
        quick(scale, broken)
    assert isinstance(failure.value.__cause__, ValueError)


def test_variant_that_raises_later_leaves_nothing_behind() -> None:
    calls = []

    def sometimes() -> torch.Tensor:
        calls.append(1)
        if len(calls) > 8:
            raise RuntimeError("enough")
        return scale()

    with pytest.raises(ProtonLabError, match="variant 'two' raised RuntimeError: enough"):
        quick(scale, sometimes, budget_s=60)


@pytest.mark.skipif(not ON_CPU, reason="a graph replays without calling")
def test_interrupt_in_the_middle_leaves_nothing_behind() -> None:
    def interrupted() -> torch.Tensor:
        if measurement.state == "measuring" and len(measurement.comparison) == 4:
            raise KeyboardInterrupt
        return scale()

    measurement = Measurement({"one": scale, "two": interrupted}, budget_s=60)
    with pytest.raises(KeyboardInterrupt):
        run(measurement)
    assert measurement.done
    assert measurement.stop_reason == "it was interrupted"
    assert len(measurement.comparison) == 4  # what was there before


def test_variant_that_launches_nothing_is_refused() -> None:
    with pytest.raises(ProtonLabError, match="variant 'two' launched no kernel; give a callable"):
        quick(scale, lambda: None)


def test_setup_that_raises_is_named() -> None:
    def setup() -> None:
        raise KeyError("x")

    with pytest.raises(ProtonLabError, match="setup raised KeyError: 'x'"):
        quick(setup=setup)


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({}, r"0 variants \(none\); give exactly two"),
        ({"a": scale}, r"1 variant \('a'\); give exactly two"),
        ({"a": scale, "b": scale, "c": scale}, r"3 variants \('a', 'b', 'c'\)"),
        ({"a": scale, "b": 3}, "variant 'b' is of type int and cannot be called"),
        ({"a": scale, 5: scale}, "5 is no name of a variant"),
        ({"a": scale, " ": scale}, "' ' is no name of a variant"),
        ([scale, scale], "variants is a list; give a mapping"),
    ],
    ids=["none", "one", "three", "number", "numbered", "blank", "list"],
)
def test_other_than_two_callables_are_refused(variants: Any, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        compare_variants(variants)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_s": 0}, "budget_s=0; give the seconds to warm up and measure, more than 0"),
        ({"budget_s": -1.0}, "budget_s=-1.0; give"),
        ({"budget_s": float("nan")}, "budget_s=nan; give"),
        ({"budget_s": "10"}, "budget_s='10'; give"),
        ({"protocol": "fast"}, "protocol='fast'; use 'sustained' or 'burst'"),
        ({"seed": -1}, "seed=-1; give a whole number"),
        ({"seed": 0.5}, "seed=0.5; give a whole number"),
        ({"metric": 3}, "3 is no metric name"),
        ({"setup": 3}, "setup is of type int; give a function"),
    ],
    ids=str,
)
def test_bad_options_are_refused_before_anything_runs(
    options: dict[str, Any], message: str
) -> None:
    def untouched() -> None:
        raise AssertionError("was called")

    with pytest.raises(ProtonLabError, match=message):
        quick(untouched, untouched, **options)
