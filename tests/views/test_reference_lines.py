"""Reference lines of bars: values by hand, data-sheet peaks, and lines that are none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from small_profiles import EVIL, hand, kernel, profile

from protonlab.errors import ProtonLabError
from protonlab.formats import load
from protonlab.model.roofs import Roof, Roofs
from protonlab.views import BarsFigure, bars


def lines(figure: BarsFigure) -> list[tuple[float, str]]:
    """(value, label) of each line; every line has one label, at its place."""
    labels = [note for note in figure.layout.annotations if note.y == 1]
    assert [shape.x0 for shape in figure.layout.shapes] == [note.x for note in labels]
    assert all(shape.x0 == shape.x1 for shape in figure.layout.shapes)
    return [(note.x, note.text) for note in labels]


def test_lines_are_sorted_and_make_room() -> None:
    plain = bars(hand(), metric="gbyte/s")
    figure = bars(hand(), metric="gbyte/s", lines={"roof": 20, "copy, measured": 18.5})
    assert lines(figure) == [(18.5, "copy, measured: 18.5 GB/s"), (20, "roof: 20.0 GB/s")]
    assert figure.layout.xaxis.range == (0, 20.2)
    assert figure.layout.height - plain.layout.height == 2 * 22
    assert [note.yshift for note in figure.layout.annotations if note.y == 1] == [0, 22]


def test_peak_of_the_data_sheet() -> None:
    # 6144 bits at 2 * 3.201 GHz
    figure = bars(hand(), metric="gbyte/s", lines="peak")
    assert lines(figure) == [(pytest.approx(4916.736), "peak bandwidth, data sheet: 4.92 TB/s")]
    # 1513e12 at 8 bits for 114 SMs at 1755 MHz, so half of it at 16 bits for 132 at 1980 MHz
    tree = profile(kernel("k", 1000, flops16=10**9))
    ((value, text),) = lines(bars(tree, metric="tflop16/s", lines=["peak"]))
    assert value == pytest.approx(1513 / 2 * 132 / 114 * 1980 / 1755)
    assert text == "peak at 16 bits, data sheet: 988 TFLOP/s"
    assert lines(bars(tree, metric="util", lines="peak")) == [(1, "peak: 100 %")]


def test_measured_roofs() -> None:
    roofs = Roofs(
        "NVIDIA H200",
        roofs=(
            Roof("copy", 4.2e12, "B/s", 4.1e12, 4.3e12, 5),
            Roof("bf16", 800e12, "FLOP/s", 790e12, 810e12, 5),
            Roof("fp8", 1600e12, "FLOP/s", 1590e12, 1610e12, 5),
        ),
    )
    tree = profile(kernel("k", 1000, bytes=10**6, flops16=10**9), gpu="NVIDIA H100")
    figure = bars(tree, metric="gbyte/s", lines=roofs)
    assert lines(figure) == [(4200, "copy, measured: 4.20 TB/s")]
    assert figure.layout.annotations[0].text == "The roofs are those of NVIDIA H200."
    figure = bars(tree, metric="tflop16/s", lines=[roofs, {"mine": 500}])
    assert lines(figure) == [(500, "mine: 500 TFLOP/s"), (800, "bf16, measured: 800 TFLOP/s")]
    with pytest.raises(ProtonLabError, match="'time' has no peak"):
        bars(tree, lines=roofs)


def test_several_kinds_of_lines() -> None:
    figure = bars(hand(), metric="byte/s", lines=["peak", {"mine": 1e9}])
    assert [value for value, _ in lines(figure)] == pytest.approx([1e9, 4.916736e12])


def test_label_stands_on_the_inner_side() -> None:
    figure = bars(hand(), lines={"low": 10, "high": 900})
    assert [note.xanchor for note in figure.layout.annotations] == ["left", "right"]


def test_unknown_peaks_are_a_note() -> None:
    tree = load(
        b'[{"frame":{"name":"ROOT","type":"function"},"metrics":{"count":0,"time (ns)":0},'
        b'"children":[{"frame":{"name":"k","type":"function"},"children":[],"metrics":{"count":1,'
        b'"time (ns)":5,"bytes":7,"flops":8,"device_id":"0","device_type":"CPU"}}]},'
        b'{"CPU":{"0":{}}}]'
    )
    figure = bars(tree, metric="gbyte/s", lines="peak")
    assert not figure.layout.shapes
    assert figure.layout.annotations[0].text == (
        "No data sheet&#39;s peak bandwidth is known for interpreter, CPU."
    )
    figure = bars(tree, metric="gflop/s", lines="peak")
    assert "gflop/s says no width" in figure.layout.annotations[0].text


@pytest.mark.parametrize(
    ("metric", "given", "message"),
    [
        ("time", "peak", "'time' has no peak; rates of bytes and flops have one"),
        ("gbyte/s", "pek", "lines='pek' is no line; give 'peak', or label -> value"),
        ("gbyte/s", {"x": math.nan}, "is no line"),
        ("gbyte/s", {"x": math.inf}, "is no line"),
        ("gbyte/s", {"x": "4"}, "is no line"),
        ("gbyte/s", {"x": None}, "is no line"),
        ("gbyte/s", {"x": True}, "is no line"),
        ("gbyte/s", {4: 4}, "is no line"),
        ("gbyte/s", 4, "lines=4 is no line"),
        ("gbyte/s", [4], "lines=4 is no line"),
    ],
)
def test_wrong_lines(metric: str, given: Any, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        bars(hand(), metric=metric, lines=given)


def test_labels_are_escaped_and_short() -> None:
    ((_, text),) = lines(bars(hand(), lines={EVIL * 50: 5}))
    assert "<img" not in text
    assert len(text) < 150
