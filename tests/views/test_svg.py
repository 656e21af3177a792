"""The static picture: every mark that our views use, at places worked out by hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import plotly.graph_objects as go
import pytest
from small_profiles import hand

from protonlab.views import bars
from protonlab.views.svg import drawing

SVG = "{http://www.w3.org/2000/svg}"


def drawn(traces: list[dict[str, Any]], **layout: Any) -> ET.Element:
    """Draw 900 x 200 pixels; the plane is 800 wide, from x = 50, and 100 high, to y = 150."""
    margin = {"l": 50, "r": 50, "t": 50, "b": 50}
    hidden = {"visible": False}
    axes = {"xaxis": hidden | {"range": [0, 10]}, "yaxis": hidden | {"range": [4, 0]}}
    return ET.fromstring(
        drawing({"data": traces, "layout": {"height": 200, "margin": margin, **axes, **layout}})
    )


def found(svg: ET.Element, tag: str) -> list[dict[str, str]]:
    return [element.attrib for element in svg.iter(SVG + tag)]


def texts(svg: ET.Element) -> list[tuple[str, float, float]]:
    return [
        (element.text or "", float(element.attrib["x"]), float(element.attrib["y"]))
        for element in svg.iter(SVG + "text")
        if element.text
    ]


def boxes(svg: ET.Element) -> list[tuple[float, ...]]:
    return [
        tuple(float(box[name]) for name in ("x", "y", "width", "height"))
        for box in found(svg, "rect")[1:]  # the first is the ground
    ]


def bar(**more: Any) -> dict[str, Any]:
    return {"type": "bar", "base": [2], "x": [3], "y": [1], "marker": {"color": "#8db8e2"}} | more


def test_bar_lies_where_its_data_says() -> None:
    # 80 pixels a unit of x, 25 a row; a fifth of the row is gap, and 0.6 pixels behind the box.
    assert boxes(drawn([bar()], bargap=0.2)) == [(210, 65, 239.4, 20)]
    assert boxes(drawn([bar(width=0.4)])) == [(210, 70, 239.4, 10)]
    assert boxes(drawn([bar(x=[-2])])) == [(50, 62.5, 159.4, 25)]


def test_bars_are_cut_at_the_plane_and_missing_ones_left_out() -> None:
    assert boxes(drawn([bar(base=[8], x=[9])])) == [(690, 62.5, 159.4, 25)]
    assert boxes(drawn([bar(x=[None])])) == []
    assert boxes(drawn([bar(x=[0.001])])) == []  # thinner than anything that can be seen


def test_text_inside_and_outside_of_a_bar() -> None:
    inside = drawn([bar(text=["<b>a</b> &lt;"], textposition="inside")])
    assert texts(inside) == [("a <", 215, 79)]
    assert texts(drawn([bar(text=["a"], textposition="outside")])) == [("a", 455, 79)]
    assert texts(drawn([bar(text=["a"], textposition="none")])) == []


def test_what_stands_back_is_paler_than_what_does_not() -> None:
    pattern = {"shape": "/", "fgcolor": "#a4adb6"}
    marker = {"color": "#c3c9cf", "pattern": pattern, "opacity": [0.3, 1]}
    svg = drawn([bar(base=[2, 6], x=[3, 3], y=[1, 1], marker=marker)])
    assert [box.get("opacity") for box in found(svg, "rect")[1:]] == ["0.3", "0.3", None, None]
    points = {"type": "scatter", "x": [1, 2], "y": [1, 1], "marker": {"opacity": 0.55}}
    assert [dot.get("opacity") for dot in found(drawn([points]), "circle")] == ["0.55"] * 2


def test_hatching() -> None:
    pattern = {"shape": "/", "fgcolor": "#a4adb6"}
    svg = drawn([bar(marker={"color": "#c3c9cf", "pattern": pattern})])
    assert [each["id"] for each in found(svg, "pattern")] == ["protonlab-hatch-a4adb6"]
    fills = [box["fill"] for box in found(svg, "rect")[1:]]
    assert fills == ["#c3c9cf", "url(#protonlab-hatch-a4adb6)"]


def test_whiskers_markers_and_texts_of_points() -> None:
    points = {
        "type": "scatter",
        "mode": "markers+text",
        **{"x": [5, None], "y": [2, 2], "text": ["five", "none"], "textposition": "middle right"},
        "marker": {"size": [8, 8], "color": "#123456", "line": {"color": "#654321", "width": 1}},
        "error_x": {"array": [1, 1], "arrayminus": [2, 2], "color": "#3d454d", "thickness": 1.2},
    }
    svg = drawn([points])
    (circle,) = found(svg, "circle")
    assert (circle["cx"], circle["cy"], circle["r"]) == ("450.0", "100.0", "4.0")
    assert (circle["fill"], circle["stroke"]) == ("#123456", "#654321")
    assert texts(svg) == [("five", 456, 104)]  # beside the marker
    (whisker,) = found(svg, "path")
    assert whisker["d"] == "M290.0 100.0H530.0M290.0 96.0v8M530.0 96.0v8"


def test_line_with_a_gap_on_logarithmic_axes() -> None:
    line = {"type": "scatter", "mode": "lines", "x": [1, 10, None, 100], "y": [1, 10, 5, 100]}
    axis = {"type": "log", "range": [0, 2], "visible": False}
    svg = drawn([line | {"line": {"color": "#333333", "dash": "dot"}}], xaxis=axis, yaxis=axis)
    (path,) = found(svg, "path")
    assert path["d"] == "M50.0 150.0L450.0 100.0M850.0 50.0"
    assert path["stroke-dasharray"] == "2 3"


def test_reference_line_and_its_label() -> None:
    shape = {"type": "line", "x0": 5, "x1": 5, "y0": 0, "y1": 1, "yref": "paper"}
    line = {"color": "#b3402e", "width": 1.5, "dash": "dash"}
    note = {"text": "a<br>b", "x": 5, "y": 1, "yref": "paper", "yanchor": "bottom"}
    note |= {"xanchor": "right", "yshift": 22}
    svg = drawn([], shapes=[shape | {"line": line}], annotations=[note])
    (path,) = found(svg, "path")
    assert path["d"] == "M450.0 150.0L450.0 50.0"
    # Two lines of 16 pixels end 22 above the plane.
    assert texts(svg) == [("a", 450, 8), ("b", 450, 24)]


def test_rectangle() -> None:
    shape = {"type": "rect", "x0": 0, "x1": 2.5, "y0": 0, "y1": 1, "fillcolor": "#eeeeee"}
    assert boxes(drawn([], shapes=[shape])) == [(50, 50, 200, 25)]


def test_ticks_are_round_numbers_where_an_axis_says_nothing() -> None:
    svg = drawn([], xaxis={"range": [0, 10], "ticksuffix": " ms", "title": {"text": "time"}})
    assert texts(svg) == [
        *((f"{2 * i} ms", 50 + 160 * i, 166) for i in range(6)),
        ("time", 450, 184),
    ]
    svg = drawn([], xaxis={"type": "log", "range": [-1, 1.5]})
    assert [text for text, *_ in texts(svg)] == ["0.1", "1", "10"]
    svg = drawn([], xaxis={"range": [0, 10], "tickvals": [1, 50], "ticktext": ["one", "fifty"]})
    assert texts(svg) == [("one", 130, 166)]


def test_an_axis_without_a_range_holds_its_data() -> None:
    assert boxes(drawn([bar()], xaxis={"visible": False})) == [(50, 62.5, 799.4, 25)]


def test_legend_takes_as_many_rows_as_it_needs() -> None:
    traces = [bar(name=f"{'n' * 40} {i}", showlegend=True) for i in range(4)]
    svg = drawn(traces, showlegend=True)
    assert len({y for text, _, y in texts(svg) if text.startswith("n")}) == 2


def test_legend_that_needs_fewer_rows_than_there_is_room_for_stays_below_the_notes() -> None:
    traces = [bar(name=f"n{i}", showlegend=True) for i in range(2)]
    bottom, below = (
        drawn(traces, showlegend=True, height=400, legend=legend)
        for legend in ({"y": 0, "yanchor": "bottom"}, {"y": 0.25, "yanchor": "top"})
    )
    first, second = (
        {y for text, _, y in texts(svg) if text in ("n0", "n1")} for svg in (bottom, below)
    )
    assert second == {300 + 12}
    assert min(first) > 300 + 12


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"height": None},
        {"annotations": [{"text": "a"}]},
        {"shapes": [{"type": "circle", "x0": 1, "x1": 2, "y0": 1, "y1": 2}]},
        {"margin": None},
        {"xaxis": None},
        {"showlegend": True},
    ],
)
def test_picture_of_a_figure_that_a_person_changed(change: dict[str, Any]) -> None:
    figure = bars(hand())
    figure.update_layout(change)
    figure.add_trace(go.Scatter(x=[1, "a", None], y=[0, 1, 2]))
    figure.add_vline(100)
    bundle = figure._repr_mimebundle_()
    assert re.search("<svg.*</svg>", str(bundle), re.DOTALL)
