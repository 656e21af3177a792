"""Bars: order, values with units, what is left out, and names that attack."""

from __future__ import annotations

from typing import Any

import pytest
from small_profiles import EVIL, filtered, frame, hand, kernel, profile

from protonlab.errors import MetricError, ProtonLabError
from protonlab.views import BarsFigure, bars
from protonlab.views.names import text_width


def boxes(figure: BarsFigure) -> list[Any]:
    return [trace for trace in figure.data if trace.meta == "boxes"]


def shown(figure: BarsFigure) -> list[tuple[str, float, str]]:
    """(label, value, text) of each bar, from top to bottom."""
    rows = [
        (row, label, value, text)
        for trace in boxes(figure)
        for row, value, (label, text) in zip(trace.y, trace.x, trace.customdata, strict=True)
    ]
    (values,) = (trace for trace in figure.data if trace.meta == "values")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert list(figure.layout.yaxis.ticktext) == [row[1] for row in sorted(rows)]
    assert [text.strip("\u00a0") for text in values.text] == [row[3] for row in sorted(rows)]
    assert list(values.x) == [row[2] for row in sorted(rows)]
    return [row[1:] for row in sorted(rows)]


def note(figure: BarsFigure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def test_kernels_are_summed_over_the_tree_and_sorted() -> None:
    assert shown(bars(hand())) == [
        ("matmul", 750, "750 ns"),
        ("relu", 150, "150 ns"),
        ("norm", 100, "100 ns"),
    ]


def test_a_rate_is_a_ratio_of_sums() -> None:
    # 12,000 bytes in 750 ns
    figure = bars(hand(), metric="gbyte/s")
    assert shown(figure) == [("matmul", 16.0, "16.0 GB/s")]
    assert note(figure) == "2 kernels without bytes/s."


def test_top_says_how_many_there_are() -> None:
    figure = bars(hand(), top=1)
    assert shown(figure) == [("matmul", 750, "750 ns")]
    assert note(figure) == "2 more kernels: top=1."


def test_only_what_the_filter_kept() -> None:
    figure = bars(filtered())
    assert [label for label, *_ in shown(figure)] == ["matmul"]
    assert note(figure) == (
        "Not shown: 1 kernel filtered out (15.0 % of time), "
        "1 kernel not launched by Triton (10.0 % of time).<br>"
        "bars() and table() add them with everything=True."
    )


def test_everything_is_coloured_by_what_the_hook_saw() -> None:
    figure = bars(filtered(), everything=True)
    assert [label for label, *_ in shown(figure)] == ["matmul", "relu", "norm"]
    assert [trace.name for trace in boxes(figure)] == [
        "kernel",
        "kernel, filtered out",
        "kernel not launched by Triton",
    ]
    assert figure.layout.showlegend


def test_hover_has_every_metric() -> None:
    (text, *_), *_ = (trace.hovertext for trace in boxes(bars(hand())))
    assert text.split("<br>") == [
        "<b>matmul</b>",
        "count: <b>4</b>",
        "time: <b>750 ns</b>",
        "bytes: <b>12.0 kB</b>",
        "time/launch: <b>188 ns</b>",
        "bytes/s: <b>16.0 GB/s</b>",
        "75.0 % of kernel time",
    ]


def test_height_grows_with_the_bars() -> None:
    many = profile(*(kernel(f"k{i}", i + 1) for i in range(20)))
    note = 17 + 10  # a line, and the air below it
    assert bars(many).layout.height - bars(many, top=10).layout.height == 10 * 22 - note


def test_two_kernels_with_one_label_keep_two_bars() -> None:
    names = [f"_ZN2at6native13reduce_kernelILi{size}ELi1EEEvv" for size in (512, 256)]
    figure = bars(profile(*(kernel(name, 10 * i) for i, name in enumerate(names, 1))))
    (box,) = boxes(figure)
    assert list(box.x) == [20, 10]
    assert list(figure.layout.yaxis.ticktext) == ["reduce_kernel (1)", "reduce_kernel (2)"]
    assert [label for label, _ in box.customdata] == ["reduce_kernel"] * 2  # as a flame graph has


@pytest.mark.parametrize("name", ["value", "devices", "device", "time", "role"])
def test_a_metric_may_have_any_name(name: str) -> None:
    drawn = profile(kernel("k", 10, **{name: 5}))
    (box,) = boxes(bars(drawn))
    assert (
        f"{name}{'_metric' if name in ('devices', 'time') else ''}: <b>5.00</b>" in box.hovertext[0]
    )
    assert "time: <b>10.0 ns</b>" in box.hovertext[0]


@pytest.mark.parametrize(
    ("tree", "metric", "sentence"),
    [
        (profile(), "time", "No kernel was recorded."),
        (profile(frame("scope", kernel("k", 10), x=3)), "x", "No kernel recorded x."),
    ],
)
def test_nothing_to_draw(tree: object, metric: str, sentence: str) -> None:
    figure = bars(tree, metric=metric)  # type: ignore[arg-type]
    assert not figure.data
    assert note(figure) == sentence


def test_all_times_zero() -> None:
    assert shown(bars(profile(kernel("k", 0)))) == [("k", 0, "0 s")]


def test_negative_values_have_room() -> None:
    figure = bars(profile(kernel("k", 1, x=-2.5), kernel("l", 1, x=4)), metric="x")
    assert [row[:2] for row in shown(figure)] == [("l", 4), ("k", -2.5)]
    low, high = figure.layout.xaxis.range
    assert high == 4
    # 900 pixels, less margins, names and the value behind the bars; the other value is ahead.
    whole = 900 - 16 - (text_width("k") + 6) - (text_width("4.00") + 14)
    assert (-2.5 - low) / (high - low) * whole == pytest.approx(text_width("-2.50") + 14)
    assert list(figure.data[-1].textposition) == ["middle right", "middle left"]


def test_unknown_metric_and_top() -> None:
    with pytest.raises(MetricError, match="tyme"):
        bars(hand(), metric="tyme")
    with pytest.raises(ProtonLabError, match="top=0"):
        bars(hand(), top=0)


def test_names_are_escaped() -> None:
    figure = bars(profile(kernel(EVIL, 10), name=EVIL))
    (trace,) = boxes(figure)
    for text in (*figure.layout.yaxis.ticktext, *trace.hovertext, figure.layout.title.text):
        assert "<a" not in text
        assert "<img" not in text
        assert "$" not in text


def test_a_ratio_by_an_own_metric_keeps_its_name() -> None:
    figure = bars(profile(kernel("k", 10, bytes=100, token_count=4)), metric="bytes/token_count")
    assert "kernels by bytes/token_count" in figure.layout.title.text
