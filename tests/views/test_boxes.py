"""Boxes as traces: what plotly would otherwise decide by itself."""

from __future__ import annotations

import pytest
from small_profiles import filtered, frame, kernel, profile

from protonlab.views import bars, flame


def test_boxes_of_one_colour_in_distant_rows_are_one_row_high() -> None:
    inner = frame("b", frame("c", kernel("k", 70), frame("d", kernel("u2", 50))))
    tree = profile(frame("a", kernel("u1", 100), inner), include="k").with_hook({}, {"k"}, set())
    traces = {trace.name: trace for trace in flame(tree).data}
    assert traces["kernel not launched by Triton"].y == (2, 5)
    assert {trace.width for trace in traces.values()} == {0.94}


@pytest.mark.parametrize("stacked", [False, True])
def test_bars_have_one_thickness(stacked: bool) -> None:
    figure = bars(filtered(), everything=True, stacked=stacked)
    assert {trace.width for trace in figure.data if trace.meta == "boxes"} == {0.8}
