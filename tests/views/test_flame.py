"""Flame graphs: the hand-made tree box by box, names that attack, and nothing to draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flame_boxes import boxes, hovers
from small_profiles import chain, filtered, frame, hand, kernel, profile

from protonlab.errors import MetricError, ProtonLabError
from protonlab.formats import load
from protonlab.views import FlameFigure, FlameOptions, flame

WIDEST = FlameOptions(order="widest")


def test_each_box_of_the_hand_made_tree() -> None:
    assert boxes(flame(hand())) == {
        "hand": [(0, 1000, 0)],
        "forward": [(0, 600, 1)],
        "backward": [(600, 400, 1)],
        "matmul": [(0, 450, 2), (600, 300, 2)],
        "relu": [(450, 150, 2)],
        "norm": [(900, 100, 2)],
    }


def test_the_root_at_the_bottom() -> None:
    low, high = flame(hand(), options=FlameOptions(root="bottom")).layout.yaxis.range
    assert low < high
    assert boxes(flame(hand(), options=FlameOptions(root="bottom"))) == boxes(flame(hand()))


def test_the_widest_sibling_first() -> None:
    tree = profile(frame("a", kernel("k", 1), kernel("l", 2)), frame("b", kernel("m", 5)))
    assert boxes(flame(tree, options=WIDEST)) == {
        "hand": [(0, 8, 0)],
        "b": [(0, 5, 1)],
        "m": [(0, 5, 2)],
        "a": [(5, 3, 1)],
        "l": [(5, 2, 2)],
        "k": [(7, 1, 2)],
    }


def test_a_folded_box_is_the_last_also_when_it_is_the_widest() -> None:
    tree = profile(kernel("big", 100), *(kernel(f"small{i}", 1) for i in range(1200)))
    assert boxes(flame(tree, options=FlameOptions(max_boxes=3, order="widest")))["big"] == [
        (0, 100, 1)
    ]


def test_width_by_another_metric() -> None:
    figure = flame(hand(), metric="bytes")
    assert boxes(figure) == {
        "hand": [(0, 12_000, 0)],
        "forward": [(0, 9000, 1)],
        "backward": [(9000, 3000, 1)],
        "matmul": [(0, 9000, 2), (9000, 3000, 2)],
    }
    assert "bytes 12.0 kB" in figure.layout.title.text


def test_time_in_ms_gives_the_same_picture_in_ms() -> None:
    assert boxes(flame(hand(), metric="time/ms"))["relu"] == [(450e-6, 150e-6, 2)]


def test_root_is_on_top() -> None:
    low, high = flame(hand()).layout.yaxis.range
    assert low > high


def test_traces_are_named_for_the_legend() -> None:
    figure = flame(filtered())
    assert [(trace.name, len(trace.x)) for trace in figure.data] == [
        ("scope", 3),
        ("kernel", 2),
        ("kernel, filtered out", 1),
        ("kernel not launched by Triton", 1),
    ]
    assert figure.layout.showlegend
    assert not flame(hand()).layout.showlegend


def test_overhead_is_left_out_unless_asked_for() -> None:
    tree = profile(kernel("k", 90), frame("__proton_launch_metadata", kernel("make_metadata", 10)))
    assert boxes(flame(tree)) == {"hand": [(0, 90, 0)], "k": [(0, 90, 1)]}
    shown = boxes(flame(tree, options=FlameOptions(overhead=True)))
    assert shown["make_metadata"] == [(90, 10, 2)]


def test_the_root_is_never_narrower_than_the_overhead_on_it() -> None:
    tree = profile(kernel("k", 90), frame("__proton_launch_metadata", kernel("make_metadata", 10)))
    assert boxes(flame(tree, options=FlameOptions(overhead=True)))["hand"] == [(0, 100, 0)]


def test_at_most_max_boxes_and_sums_reconcile() -> None:
    tree = profile(*(frame(f"s{i}", *(kernel(f"k{j}", 1 + i + j) for j in range(40)))
                     for i in range(100)))  # fmt: skip
    figure = flame(tree)
    places = boxes(figure)
    assert sum(map(len, places.values())) <= 1500
    for i in range(100):
        ((start, width, _),) = places[f"s{i}"]
        assert width == sum(1 + i + j for j in range(40))
        on_it = [w for label, rows in places.items() for s, w, row in rows
                 if row == 2 and start <= s < start + width]  # fmt: skip
        assert sum(on_it) == width


def test_folded_box_says_how_many_frames_it_holds() -> None:
    tree = profile(kernel("big", 100), *(kernel(f"small{i}", 1) for i in range(1200)))
    figure = flame(tree, options=FlameOptions(max_boxes=3))
    assert boxes(figure) == {
        "hand": [(0, 1300, 0)],
        "big": [(0, 100, 1)],
        "other (1,200 frames)": [(100, 1200, 1)],
    }
    assert hovers(figure)[-1].split("<br>") == [
        "<b>other (1,200 frames)</b>",
        "time: <b>1.20 µs</b>",
        "92.3 % of total",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_boxes": 1}, "max_boxes=1; give a whole number, at least 2"),
        ({"max_boxes": 2.5}, "max_boxes=2.5"),
        ({"root": "left"}, "root='left'; use 'top' or 'bottom'"),
        ({"order": "name"}, "order='name'; use 'recorded' or 'widest'"),
    ],
)
def test_options_that_are_not_legal(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        FlameOptions(**options)


def test_options_of_another_kind_are_an_error() -> None:
    with pytest.raises(ProtonLabError, match="options='widest'; give "):
        flame(hand(), options="widest")  # type: ignore[arg-type]


def test_metric_that_cannot_be_summed_names_those_that_can() -> None:
    with pytest.raises(MetricError, match=r"'bytes/s' may not; use one of: count, time, bytes"):
        flame(hand(), metric="bytes/s")


def test_a_trace_has_its_own_view(project: Path) -> None:
    trace = load(project / "tests/profiles/trace_3.9.0.chrome_trace")
    with pytest.raises(ProtonLabError, match=r"not a Trace; timeline\(\) draws a trace"):
        flame(trace)  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="a Profile or a Comparison, not a dict"):
        flame({})  # type: ignore[arg-type]


def test_unknown_metric() -> None:
    with pytest.raises(MetricError, match="tyme"):
        flame(hand(), metric="tyme")


def test_some_missing_values_take_no_room() -> None:
    tree = profile(kernel("k", 10, x=3), kernel("l", 10))
    assert boxes(flame(tree, metric="x")) == {"hand": [(0, 3, 0)], "k": [(0, 3, 1)]}


@pytest.mark.parametrize("made", [{}, {"inverted": True}, {"options": WIDEST, "color": "library"}])
def test_ten_thousand_children_of_one_frame(made: dict[str, Any]) -> None:
    figure = flame(profile(*(kernel(f"k{i}", 1 + i % 7) for i in range(10_000))), **made)
    assert sum(len(trace.x) for trace in figure.data) == 1500
    whole = sum(1 + i % 7 for i in range(10_000))
    assert sum(w for trace in figure.data for w, row in zip(trace.x, trace.y, strict=True)
               if row == 1) == whole  # fmt: skip


def test_one_kernel() -> None:
    assert boxes(flame(profile(kernel("k", 7)))) == {"hand": [(0, 7, 0)], "k": [(0, 7, 1)]}


def test_500_frames_deep() -> None:
    tree = chain(499, kernel("deepest", 7))
    figure = flame(tree)
    assert boxes(figure)["deepest"] == [(0, 7, 500)]
    assert figure.layout.yaxis.range[0] == 500.5
    assert boxes(flame(tree, inverted=True))["scope"][-1] == (0, 7, 500)


def test_update_layout_still_works() -> None:
    figure = flame(hand()).update_layout(title_text="mine")
    assert isinstance(figure, FlameFigure)
    assert figure.layout.title.text == "mine"
