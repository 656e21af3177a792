"""The table of a distribution over repeats, by hand."""

from __future__ import annotations

import pytest
from small_profiles import hand
from test_grouped_bars import repeated

from protonlab.errors import MetricError, ProtonLabError
from protonlab.views import distribution_table


def test_rows_by_hand() -> None:
    made = distribution_table(repeated((100, 120, 140), (None, 30, None)))
    assert made.title == "time a repeat (ns), over 3 repeats"
    assert made.headers == (
        "kernel", "n", "min", "5 %", "median", "95 %", "max", "mean", "low", "high",
    )  # fmt: skip
    # Quantiles lie 1/10 of the way between neighbours; half of the interval is 49.7.
    assert made.rows == (
        ("k0", "3", "100", "102", "120", "138", "140", "120", "70.3", "170"),
        ("k1", "1", "30.0", "30.0", "30.0", "30.0", "30.0", "30.0", "–", "–"),
    )
    assert "95 % interval of the mean (Student's t)" in made.note


def test_of_another_metric_and_of_long_times() -> None:
    made = distribution_table(repeated((10**8, 10**8)), "time")
    assert made.title == "time a repeat (ms), over 2 repeats"
    assert made.rows[0][2] == "100"
    assert distribution_table(repeated((1, 1)), "count").rows[0][2:4] == ("1", "1")


def test_top_and_errors() -> None:
    made = distribution_table(repeated((100, 120), (50, 50)), top=1)
    assert [row[0] for row in made.rows] == ["k0"]
    assert made.note.endswith("1 more kernel: top=1.")
    with pytest.raises(ProtonLabError, match="nothing was repeated"):
        distribution_table(hand())
    with pytest.raises(MetricError, match="tyme"):
        distribution_table(repeated((1, 2)), "tyme")
