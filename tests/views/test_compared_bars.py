"""Bars of a comparison: places, colours, words and whiskers by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from small_profiles import EVIL, frame, kernel, profile
from test_compared_table import compared
from test_grouped_bars import repeated

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import compare
from protonlab.views import BarsFigure, bars
from protonlab.views.differences import difference_roles
from protonlab.views.theme import BEFORE, DIFFERENCES


def of_role(figure: BarsFigure) -> dict[str, list[tuple[float, float]]]:
    """(row, width) of each bar, by the words in the legend."""
    return {
        trace.name: list(zip(trace.y, trace.x, strict=True))
        for trace in figure.data
        if trace.meta == "boxes"
    }


def texts(figure: BarsFigure) -> list[str]:
    (values,) = (trace for trace in figure.data if trace.meta == "values")
    return [text.strip("\u00a0") for text in values.text]


def note(figure: BarsFigure) -> str:
    return " ".join(
        annotation.text.replace("<br>", " ") for annotation in figure.layout.annotations
    )


def test_before_stands_above_after() -> None:
    figure = bars(compared())
    assert figure.layout.yaxis.ticktext == ("faster", "slower", "old", "fresh", "same")
    assert of_role(figure) == {
        "before": [(-0.19, 4), (0.81, 1), (1.81, 0.5), (3.81, 2)],
        "faster, over 1.5 ×": [(0.19, 2)],
        "slower, 1.1 to 1.5 ×": [(1.19, 1.5)],
        "new": [(3.19, 0.25)],
        "unchanged": [(4.19, 2)],
    }
    assert texts(figure) == [
        "4.00 µs → 2.00 µs, × 0.500",
        "1.00 µs → 1.50 µs, × 1.50",
        "gone, 500 ns",
        "new, 250 ns",
        "2.00 µs → 2.00 µs, unchanged",
    ]
    assert {trace.width for trace in figure.data if trace.meta == "boxes"} == {0.36}
    assert "time/us 7.50 µs before, 5.75 µs after: 23.3 % less time" in note(figure)


def test_before_is_drawn_at_the_row_of_its_kernel() -> None:
    figure = bars(compared())
    assert dict(of_role(figure)["before"])[3.81] == 2  # same, the fifth: fresh has no before


def test_difference_goes_both_ways_from_zero() -> None:
    figure = bars(compared(), metric="difference")
    assert of_role(figure) == {
        "faster, over 1.5 ×": [(0, -2)],
        "slower, 1.1 to 1.5 ×": [(1, 0.5)],
        "gone": [(2, -0.5)],
        "new": [(3, 0.25)],
        "unchanged": [(4, 0)],
    }
    assert texts(figure) == [
        "-2.00 µs, × 0.500", "+500 ns, × 1.50", "-500 ns, gone", "+250 ns, new", "0 s, unchanged",
    ]  # fmt: skip
    low, high = figure.layout.xaxis.range
    assert low < -2
    assert high == 0.5


def test_new_is_hatched_and_gone_is_grey() -> None:
    figure = bars(compared(), metric="difference")
    fills = {trace.name: trace.marker for trace in figure.data if trace.meta == "boxes"}
    assert fills["new"].pattern.shape == "/"
    assert fills["gone"].color == DIFFERENCES["removed"].fill.light
    assert fills["faster, over 1.5 ×"].color == DIFFERENCES["faster_most"].fill.light
    assert fills["slower, 1.1 to 1.5 ×"].color == DIFFERENCES["slower_more"].fill.light
    assert bars(compared()).data[0].marker.color == BEFORE["before"].fill.light


def test_repeats_bring_whiskers_and_a_verdict() -> None:
    # Means of 100 and 200; the ratio's interval comes from the comparison.
    comparison = compare(repeated((99, 100, 101)), repeated((198, 200, 202)), metric="time/ns")
    low, high = comparison.kernels.loc[0, ["low", "high"]]
    before, after = comparison.kernels.loc[0, ["before", "after"]]
    (whisker,) = (trace for trace in bars(comparison).data if trace.meta == "whiskers")
    assert list(whisker.y) == [0.19]
    assert list(whisker.x) == [after]
    assert list(whisker.error_x.array) == pytest.approx([before * high - after])
    assert list(whisker.error_x.arrayminus) == pytest.approx([after - before * low])
    difference = bars(comparison, metric="difference")
    (whisker,) = (trace for trace in difference.data if trace.meta == "whiskers")
    assert list(whisker.error_x.array) == pytest.approx([before * (high - 1) - (after - before)])
    assert texts(difference)[0].endswith(f"× 2.00 ({low:.2f} to {high:.2f})")
    assert "100 % more time, 95 % interval" in difference.data[0].hovertext[0]


def test_hover_says_all_of_a_kernel() -> None:
    hovers = {
        trace.name: trace.hovertext[0] for trace in bars(compared()).data if trace.meta == "boxes"
    }
    assert hovers["new"].split("<br>") == [
        "<b>fresh</b>",
        "time, before: <b>–</b>",
        "time, after: <b>250 ns</b>",
        "time, difference: <b>250 ns</b>",
        "added",
        "launches: 1 after",
    ]


def test_of_a_rate_less_is_red() -> None:
    figure = bars(compared("gbyte/s"))
    assert of_role(figure)["higher, over 1.5 ×"] == [(1.19, 0.5)]
    assert of_role(figure)["lower, 1.1 to 1.5 ×"] == [(0.19, pytest.approx(2 / 3))]
    comparison = compared("gbyte/s")
    assert difference_roles(comparison.metric, ["changed"] * 3, [0.5, 2, math.nan]) == [
        "slower_most", "faster_most", "faster_most",
    ]  # fmt: skip


def test_of_an_amount_more_is_red() -> None:
    before, after = profile(kernel("k", 10, bytes=100)), profile(kernel("k", 10, bytes=300))
    assert "more, over 1.5 ×" in of_role(bars(compare(before, after, metric="bytes")))


def test_top_and_long_notes() -> None:
    figure = bars(compared(), top=2)
    assert figure.layout.yaxis.ticktext == ("faster", "slower")
    assert note(figure).endswith("3 more kernels: top=2.")
    lines = figure.layout.annotations[0].text.split("<br>")
    assert max(map(len, lines)) < 130


@pytest.mark.parametrize("metric", [None, "difference"])
def test_nothing_and_nothing_in_common(metric: str | None) -> None:
    empty = bars(compare(profile(), profile(frame("scope"))), metric=metric)
    assert not empty.data
    assert note(empty) == "No kernel was recorded."
    figure = bars(compare(profile(kernel("a", 1)), profile(kernel("b", 2))), metric=metric)
    assert figure.layout.yaxis.ticktext == ("b", "a")
    zero = bars(compare(profile(kernel("a", 0)), profile(kernel("a", 0))), metric=metric)
    assert zero.data


def test_no_value_on_either_side() -> None:
    tree = profile(frame("scope", kernel("a", 1), x=3))  # the scope has the metric, its kernel not
    figure = bars(compare(tree, tree, metric="x"))
    assert note(figure) == "No kernel has a before or after of x."


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "time"}, MetricError, "of one metric, 'time/us'; leave it out, or give 'diff"),
        ({"by": "scope"}, ProtonLabError, "by, lines and everything are for a profile"),
        ({"by": ("kernel", "scope")}, ProtonLabError, "are for a profile"),
        ({"lines": "peak"}, ProtonLabError, "are for a profile"),
        ({"everything": True}, ProtonLabError, "are for a profile"),
        ({"top": 0}, ProtonLabError, "top=0"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bars(compared(), **options)


def test_names_are_escaped() -> None:
    comparison = compare(
        profile(kernel(EVIL, 1), name=EVIL), profile(kernel(f"{EVIL}2", 2), name=EVIL)
    )
    for metric in (None, "difference"):
        figure = bars(comparison, metric=metric)
        shown = [*figure.layout.yaxis.ticktext, figure.layout.title.text, note(figure)]
        shown += [text for trace in figure.data for text in trace.hovertext or ()]
        assert not any("<img" in text for text in shown)
