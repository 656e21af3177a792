"""Rows of a lane, and boxes that stand for many events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_traces import boxes, by_hand, launch, scope, trace_of

from protonlab.views import timeline
from protonlab.views._timeline_boxes import boxes_of
from protonlab.views._timeline_rows import Rows, _depths


def rows_of(*events: tuple[int, int, int]) -> Rows:
    """Rows from (row, start, end)."""
    row, start, end = (np.array(each, dtype=np.int64) for each in zip(*events, strict=True))
    return Rows(np.arange(len(row)), row, start, end, (0,), (0, int(row.max()) + 1), ())


@pytest.mark.parametrize(
    ("spans", "depths"),
    [
        ([(0, 9), (1, 5), (2, 3), (6, 8), (9, 12)], [0, 1, 2, 1, 0]),  # nested, then a new one
        ([(0, 10), (5, 15), (12, 20)], [0, 1, 0]),  # overlap: a row is used again
        ([(0, 10), (0, 10), (0, 10)], [0, 1, 2]),  # the same time
        ([(0, 0), (0, 0), (0, 5)], [0, 0, 0]),  # no time
        ([(0, 4), (2, 10), (3, 9), (5, 6)], [0, 1, 2, 3]),  # a child stays below its parent
    ],
)
def test_rows_within_a_lane(spans: list[tuple[int, int]], depths: list[int]) -> None:
    start, end = (np.array(each, dtype=np.int64) for each in zip(*spans, strict=True))
    assert _depths(start, end).tolist() == depths


def test_narrow_neighbours_become_one_box_with_honest_totals() -> None:
    # 1,000 wide, 10 pixels of 100: three short events in pixel 0, one in 1, a long one, two rows.
    rows = rows_of((0, 0, 10), (0, 20, 30), (0, 40, 95), (0, 150, 160), (0, 300, 450),
                   (1, 0, 1000), (2, 0, 20), (2, 30, 60))  # fmt: skip
    found = boxes_of(rows, 0, 1000, 100, pixels=10)
    assert found.count.tolist() == [3, 1, 1, 1, 2]
    assert found.start.tolist() == [0, 150, 300, 0, 0]
    assert found.end.tolist() == [95, 160, 450, 1000, 60]
    assert found.busy.tolist() == [75, 10, 150, 1000, 50]
    assert found.share.tolist() == [75 / 95, 1, 1, 1, 50 / 60]


def test_limit_makes_pixels_wider_and_loses_nothing() -> None:
    rows = rows_of(*((0, 10 * at, 10 * at + 4) for at in range(1000)))
    fine, rough = (boxes_of(rows, 0, 10_000, limit, pixels=1024) for limit in (1000, 60))
    assert len(fine) == 1000
    assert 30 <= len(rough) <= 60
    for found in (fine, rough):
        assert found.count.sum() == 1000
        assert found.busy.sum() == 4000


def test_part_is_fine_and_the_rest_coarse() -> None:
    rows = rows_of(*((0, 10 * at, 10 * at + 4) for at in range(1000)))
    found = boxes_of(rows, 0, 500, 400)
    inside = found.start <= 500
    assert (found.count[inside] == 1).all()
    assert (~inside).sum() == pytest.approx(256 * 0.95, abs=3)
    assert found.count.sum() == 1000


def test_box_of_many_says_how_many_and_how_busy() -> None:
    many = [launch("tick" if at % 4 else "tock", at * 0.01, 0.005) for at in range(100)]
    figure = timeline(trace_of(*many, launch("matmul", 5000, 5000)))
    box = next(box for box in boxes(figure) if box["label"] != "matmul")
    assert box["role"] == "many, busy 1/3 to 2/3"
    assert (box["label"], box["aside"]) == ("100 events", "busy 50.3 %")
    assert box["hover"] == (
        "<b>100 events</b><br>busy <b>50.3 %</b>: 500 ns of 995 ns, from 0 s on<br>GPU Stream 7<br>"
        "most of it: tick, 75 ×, 375 ns<br>zoom in to see each"
    )


def test_refined_part_shows_each_event() -> None:
    many = [launch(f"k{at}", at * 0.01, 0.005) for at in range(100)]
    figure = timeline(trace_of(*many, launch("matmul", 5000, 5000)))
    assert len(boxes(figure)) == 2
    part = figure.refined({"range": [0.00002, 0.00008]})  # ms: from 20 to 80 ns
    assert part is not None
    labels = [box["label"] for box in boxes(part)]
    assert {"k2", "k3", "k7", "matmul"} <= set(labels)
    assert list(part.layout.xaxis.range) == pytest.approx([0.00002, 0.00008])
    assert "In this part each event has a box of its own." in repr(part)
    again = part.refined({"range": [0, 10]})
    assert again is not None
    assert len(boxes(again)) == 2


@pytest.mark.parametrize(
    "focus",
    [None, {}, 3, {"range": None}, {"range": [1]}, {"range": ["a", "b"]}, {"range": [1, 1]},
     {"range": [0, float("nan")]}, {"range": [float("-inf"), 1]}],
)  # fmt: skip
def test_focus_that_is_no_range_gives_nothing(focus: Any) -> None:
    assert timeline(by_hand()).refined(focus) is None


def test_detail_for_a_page_without_kernel() -> None:
    many = [launch("tick", at * 10.0, 5) for at in range(2000)]
    far = launch("matmul", 1e6, 1e5)
    figure = timeline(trace_of(*many, far))
    detail = boxes(figure, "detail")
    assert len(detail) == 2001
    assert len(boxes(figure)) < 25
    assert figure.layout.meta["protonlab"]["detail"] == pytest.approx(1.1 / 3)  # of 1.1 s
    assert all(not trace.visible for trace in figure.data if trace.meta == "detail")
    assert "detail" not in timeline(by_hand()).layout.meta["protonlab"]


def test_deep_nesting_is_bounded_and_said() -> None:
    deep = [scope(f"s{at}", at, 1000 - 2 * at) for at in range(500)]
    figure = timeline(trace_of(*deep))
    assert len(boxes(figure)) == 16
    assert "484 events nested deeper than 16 not drawn." in repr(figure)
