"""Variants whose calls launch other kernels later on than when they were looked at."""

from __future__ import annotations

import itertools

import pytest
import torch
from variant_kernels import ON_CPU, quick, scale

from protonlab import ProtonLabError
from protonlab.capture import _proton

pytestmark = [
    pytest.mark.skipif(not ON_CPU, reason="a graph replays without calling"),
    pytest.mark.skipif(
        not _proton.require().has_phases, reason="Triton before 3.7 gives times at the end only"
    ),
]


def test_a_result_that_is_kept_wins_nothing() -> None:
    calls = itertools.count()
    kept = scale()

    def cached() -> torch.Tensor:
        return scale() if next(calls) < 12 else kept

    with pytest.raises(ProtonLabError, match="variant 'two' launched no kernel any more"):
        quick(scale, cached, budget_s=2)


def test_other_launches_than_at_first_are_a_warning_and_a_clock_stands_in() -> None:
    calls = itertools.count()
    found = quick(scale, lambda: scale(times=1 if next(calls) < 12 else 3), budget_s=2)
    assert found.protocol["timer"] == "the host's clock"
    assert "that should have" in found.protocol["timer_reason"]
    assert any("of a sample of two that should have" in warning for warning in found.warnings)


def test_launches_that_differ_from_call_to_call_are_timed_by_the_clock() -> None:
    times = itertools.cycle((1, 2))
    found = quick(scale, lambda: scale(times=next(times)))
    assert found.protocol["timer"] == "the host's clock"
    # It is seen in the first calls or, where a slow machine makes few of them, in a sample.
    seen = ("calls of a variant launch different numbers", "Proton showed")
    assert found.protocol["timer_reason"].startswith(seen)
