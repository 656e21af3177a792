"""Zooming where something was folded: boxes appear where they belong, and the rest stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from small_profiles import frame, hand, kernel, profile

from protonlab.model import Profile
from protonlab.views import FlameFigure, FlameOptions, flame

Box = tuple[int, str, float, float, int]


def boxes(figure: FlameFigure | None) -> list[Box]:
    """Id, label, start, width and row of each box, from the root to the right."""
    assert figure is not None
    found = [
        (ident, text[0], start, width, row)
        for trace in figure.data
        for ident, text, start, width, row in zip(
            trace.ids, trace.customdata, trace.base, trace.x, trace.y, strict=True
        )
    ]
    return sorted(found, key=lambda box: (box[4], box[2]))


def wide() -> Profile:
    """Frame ids in brackets: a 60 (1) over k0 to k5 of 10 each (2 to 7); b 40 (8) over l 40 (9)."""
    return profile(
        frame("a", *(kernel(f"k{i}", 10) for i in range(6))), frame("b", kernel("l", 40))
    )


def test_zoom_to_a_frame_opens_what_is_folded_in_it() -> None:
    figure = flame(wide(), options=FlameOptions(max_boxes=5))
    assert boxes(figure) == [
        (0, "hand", 0, 100, 0),
        (1, "a", 0, 60, 1),
        (8, "b", 60, 40, 1),
        (~1, "other (6 frames)", 0, 60, 2),
        (9, "l", 60, 40, 2),
    ]
    assert boxes(figure.refined(1)) == [
        (0, "hand", 0, 100, 0),
        (1, "a", 0, 60, 1),
        (2, "k0", 0, 10, 2),
        (3, "k1", 10, 10, 2),
        (~1, "other (4 frames)", 20, 40, 2),
    ]


def test_zoom_to_a_folded_box_opens_it_and_again_what_is_folded_then() -> None:
    figure = flame(wide(), options=FlameOptions(max_boxes=5)).refined(~1)
    assert boxes(figure) == [
        (0, "hand", 0, 100, 0),
        (1, "a", 0, 60, 1),
        (2, "k0", 0, 10, 2),
        (3, "k1", 10, 10, 2),
        (~1, "other (4 frames)", 20, 40, 2),
    ]
    assert figure is not None
    again = figure.refined(~1)
    assert boxes(again)[2:] == [
        (4, "k2", 20, 10, 2),
        (5, "k3", 30, 10, 2),
        (~1, "other (2 frames)", 40, 20, 2),
    ]
    assert again is not None
    assert boxes(again.refined(~1))[2:] == [(6, "k4", 40, 10, 2), (7, "k5", 50, 10, 2)]


def test_only_what_folds_is_kept_by_a_kernel() -> None:
    assert flame(wide(), options=FlameOptions(max_boxes=5)).knows_more
    assert not flame(wide()).knows_more
    assert not copy.deepcopy(flame(wide(), options=FlameOptions(max_boxes=5))).knows_more


def test_nothing_is_folded_there() -> None:
    assert flame(wide(), options=FlameOptions(max_boxes=5)).refined(8) is None
    assert flame(hand()).refined(0) is None


@pytest.mark.parametrize("focus", [77, -77, None, "a", {"range": [0, 1]}])
def test_what_is_no_box_of_the_figure(focus: Any) -> None:
    assert flame(wide(), options=FlameOptions(max_boxes=5)).refined(focus) is None


def test_shares_stay_those_of_the_whole() -> None:
    refined = flame(wide(), options=FlameOptions(max_boxes=5)).refined(1)
    assert refined is not None
    texts = [text for trace in refined.data for text in trace.hovertext]
    assert any(
        "<b>k0</b>" in text and "10.0 % of total, 16.7 % of parent" in text for text in texts
    )


def test_turned_over() -> None:
    # Below the root: k of 6 (node 1) and l of 4 (node 2); k is called by s0 to s5, 1 each.
    tree = profile(*(frame(f"s{i}", kernel("k", 1)) for i in range(6)), kernel("l", 4))
    figure = flame(tree, inverted=True, options=FlameOptions(max_boxes=4))
    assert [box[1] for box in boxes(figure)] == ["hand", "k", "l", "other (6 frames)"]
    opened = boxes(figure.refined(1))
    assert [box[1] for box in opened] == ["hand", "k", "s0", "other (5 frames)"]


def test_a_search_and_the_order_are_kept() -> None:
    tree = profile(frame("a", kernel("x", 1), kernel("y", 3), kernel("z", 2)), kernel("b", 9))
    figure = flame(tree, search="y", options=FlameOptions(order="widest", max_boxes=4))
    refined = flame(tree, search="y", options=FlameOptions(order="widest", max_boxes=6)).refined(1)
    assert [box[1] for box in boxes(figure)] == ["hand", "b", "a", "other (3 frames)"]
    assert refined is None  # with six boxes nothing is folded
    refined = figure.refined(1)
    assert [box[1] for box in boxes(refined)] == ["hand", "a", "y", "other (2 frames)"]
    assert refined is not None
    assert refined.layout.meta["protonlab"]["search"] == "y"
