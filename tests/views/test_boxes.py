"""Boxes as traces: what plotly would otherwise decide by itself."""

from __future__ import annotations

import pytest
from small_profiles import filtered, frame, kernel, profile

from protonlab.model import compare
from protonlab.views import bars, flame


def test_boxes_of_one_colour_in_distant_rows_are_one_row_high() -> None:
    inner = frame("b", frame("c", kernel("k", 70), frame("d", kernel("u2", 50))))
    tree = profile(frame("a", kernel("u1", 100), inner), include="k").with_hook({}, {"k"}, set())
    traces = {trace.name: trace for trace in flame(tree).data}
    assert traces["kernel not launched by Triton"].y == (2, 5)
    assert {trace.width for trace in traces.values()} == {0.94}


def test_amounts_of_a_comparison_are_more_and_less_in_every_view() -> None:
    before = profile(kernel("k", 10, bytes=100), kernel("from nothing", 10, bytes=0))
    after = profile(kernel("k", 10, bytes=50), kernel("from nothing", 10, bytes=300))
    both = compare(before, after, metric="bytes")
    for view in (flame, bars):
        names = {trace.name for trace in view(both).data if trace.meta == "boxes"}
        assert {"less, over 1.5 ×", "more, over 1.5 ×"} <= names, view


@pytest.mark.parametrize("by", ["kernel", ("kernel", "scope")])
def test_bars_have_one_thickness(by: str | tuple[str, str]) -> None:
    figure = bars(filtered(), everything=True, by=by)
    assert {trace.width for trace in figure.data if trace.meta == "boxes"} == {0.8}
