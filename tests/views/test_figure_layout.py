"""What stands around the boxes of all figures, and what a narrow page has room for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_profiles import hand, kernel, profile

from protonlab.model import Run, compare
from protonlab.views import BarsFigure, bars, flame, heatmap, roofline
from protonlab.views.names import text_width, unmarked

LONG = profile(
    *(kernel(f"{name}_of_a_matmul_with_a_long_name", 10, flops16=9, bytes=2) for name in "abcdef"),
    notes=("words " * 60,),
)
NARROW_PAGE = 700


@pytest.mark.parametrize(
    "figure",
    [
        lambda: roofline(LONG),
        lambda: bars(compare(LONG, hand())),
        lambda: heatmap(Run.from_profiles({0: LONG, 1: LONG})),
    ],
    ids=["roofline", "bars of a comparison", "heat map"],
)
def test_sentences_begin_at_the_left_and_fit_a_narrow_page(figure: Callable[[], Any]) -> None:
    made = figure()
    (note,) = [each for each in made.layout.annotations if each.yanchor == "top" and each.x == 0]
    lines = [unmarked(line) for line in note.text.split("<br>")]
    assert len(lines) > 1
    axis = made.layout.yaxis
    names = max(map(text_width, axis.ticktext)) if axis.automargin else made.layout.margin.l
    start = names + note.xshift
    assert 0 <= start < 50
    assert start + max(map(text_width, lines)) < NARROW_PAGE


def test_a_value_stands_behind_the_line_in_its_way() -> None:
    tree = profile(kernel("far", 1000), kernel("near", 930), kernel("away", 100))

    def places(figure: BarsFigure) -> list[float]:
        (values,) = (trace for trace in figure.data if trace.meta == "values")
        return list(values.x)

    assert places(bars(tree, metric="time/ns")) == [1000, 930, 100]
    assert places(bars(tree, metric="time/ns", lines={"median": 940})) == [1000, 940, 100]


def test_one_colour_is_explained_where_colours_say_how_much() -> None:
    assert not flame(hand()).layout.showlegend
    same = Run.from_profiles({0: hand(), 1: hand()})
    assert flame(same).layout.showlegend


def test_a_heat_map_of_many_ranks_has_no_more_ticks_than_a_narrow_page_has_room_for() -> None:
    figure = heatmap(Run.from_profiles(dict.fromkeys(range(300), hand())))
    ticks = figure.layout.xaxis.ticktext
    assert len(ticks) > 5
    assert sum(text_width(tick) + 5 for tick in ticks) < NARROW_PAGE / 2
