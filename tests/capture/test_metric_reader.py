"""The reader written for a kernel's launch metadata: what it reads, what it leaves to others."""

from __future__ import annotations

import math
from typing import Any

import pytest

from protonlab.capture._metric_reader import metric_reader, need_a_look

RESERVED = {"name": "small", "function": 7, "stream": 0}
FIRST = RESERVED | {"bytes": 8, "flops16": 2, "ratio": 0.5}
read = metric_reader(FIRST, {"bytes": 8, "flops16": 2.0, "ratio": 0.5})


def test_values_of_the_same_types_are_read_with_the_type_that_proton_had() -> None:
    found = read(RESERVED | {"bytes": 2**63 - 1, "flops16": 3, "ratio": -1.25})
    assert found == {"bytes": 2**63 - 1, "flops16": 3.0, "ratio": -1.25}
    assert found is not None
    assert [type(value) for value in found.values()] == [int, float, float]


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": 2**63},
        {"bytes": -(2**63) - 1},
        {"bytes": True},
        {"bytes": 8.0},
        {"flops16": 2.0},
        {"flops16": 2**63},
        {"ratio": 1},
        {"ratio": math.nan},
        {"ratio": math.inf},
        {"ratio": "0.5"},
        {"n_tokens": 4},
    ],
)
def test_anything_else_needs_a_closer_look(change: dict[str, Any]) -> None:
    assert read(FIRST | change) is None


def test_another_number_of_keys_needs_a_closer_look() -> None:
    assert read(RESERVED | {"bytes": 8, "flops16": 2}) is None


def test_bytes_given_as_a_float_are_cut_while_they_fit() -> None:
    read = metric_reader(RESERVED | {"bytes": 8.5}, {"bytes": 8})
    assert read(RESERVED | {"bytes": 9.75}) == {"bytes": 9}
    assert read(RESERVED | {"bytes": 2.0**63}) is None
    assert read(RESERVED | {"bytes": math.nan}) is None


def test_a_whole_float_that_counts_as_an_int_is_looked_at_each_time() -> None:
    # The next one may have a fraction, which Proton would lose without a word.
    assert metric_reader(RESERVED | {"rows": 2.0}, {"rows": 2}) is need_a_look


def test_a_key_is_never_run_as_code() -> None:
    key = "x'); raise SystemExit(('"
    assert metric_reader({key: 1}, {key: 1})({key: 5}) == {key: 5}


def test_a_kernel_whose_metrics_were_not_wanted_has_none() -> None:
    assert metric_reader(FIRST, {})(FIRST) == {}
