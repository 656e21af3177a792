"""Bars of groups, parted by scope, with whiskers: every number worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_profiles import EVIL, filtered, frame, hand, kernel, profile
from test_figure import PROFILES

from protonlab.errors import MetricError, ProtonLabError
from protonlab.formats import load
from protonlab.model import Profile
from protonlab.model.repeats import Repeats
from protonlab.views import BarsFigure, bars, theme

STACKED = ("kernel", "scope")


def values(figure: BarsFigure) -> list[tuple[str, float]]:
    """(label, value) of each bar, from top to bottom."""
    rows = sorted(
        (row, names[0], start + width)
        for trace in figure.data
        if trace.meta == "boxes"
        for row, start, width, names in zip(
            trace.y, trace.base, trace.x, trace.customdata, strict=True
        )
    )
    ends = {(row, label): end for row, label, end in rows}
    return [(label, end) for (_, label), end in ends.items()]


def note(figure: BarsFigure) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


def repeated(*times: tuple[int | None, ...]) -> Profile:
    """Kernels k0, k1, …: what each took in each repeat, in ns."""
    sums = [sum(time or 0 for time in each) for each in times]
    counts = [sum(time is not None for time in each) for each in times]
    pairs = list(zip(sums, counts, strict=True))
    tree = profile(frame("scope", *(kernel(f"k{i}", *both) for i, both in enumerate(pairs))))
    rows = [
        {"repeat": repeat, "frame_id": 2 + i, "count": 1, "time_ns": each[repeat]}
        for repeat in range(len(times[0]))
        for i, each in enumerate(times)
        if each[repeat] is not None
    ]
    table = pd.DataFrame(rows).astype({"count": "Int64", "time_ns": "Int64"})
    return replace(tree, repeats=Repeats(len(times[0]), table))


def test_by_scope_is_the_innermost() -> None:
    assert values(bars(hand(), by="scope")) == [("forward", 600), ("backward", 400)]
    # 9,000 bytes in 600 ns, 3,000 in 400: the time of kernels without bytes counts.
    assert values(bars(hand(), by="scope", metric="gbyte/s")) == [
        ("forward", 15.0),
        ("backward", 7.5),
    ]


def test_scopes_of_one_name_are_one_bar_and_scopes_without_kernels_none() -> None:
    block = frame("block", frame("mlp", kernel("a", 10)), frame("mlp", kernel("b", 5)))
    tree = profile(block, kernel("outside", 7))
    assert values(bars(tree, by="scope")) == [("mlp", 15), ("no scope", 7)]


def test_what_a_scope_recorded_itself_counts_for_it() -> None:
    tree = profile(frame("layer", kernel("a", 1000), tokens=50))
    assert values(bars(tree, by="scope", metric="tokens/s")) == [("layer", 50e6)]


def test_by_device() -> None:
    other = frame("k", device_type="CUDA", device_id="1", count=1, time_ns=30)
    tree = profile(kernel("k", 10), other)
    assert values(bars(tree, by="device")) == [("CUDA 1", 30), ("CUDA 0", 10)]
    assert values(bars(tree)) == [("k", 40)]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("mat|norm", [("mat", 750), ("other", 150), ("norm", 100)]),
        ("(mat|norm)", [("mat", 750), ("other", 150), ("norm", 100)]),
        ("(mat)|(re)", [("mat", 750), ("re", 150), ("other", 100)]),
        ("^.", [("m", 750), ("r", 150), ("n", 100)]),
    ],
)
def test_by_regex(by: str, expected: list[tuple[str, float]]) -> None:
    figure = bars(hand(), by=by)
    assert values(figure) == expected
    assert f"kernels {by} by time" in figure.layout.title.text


def test_groups_hold_only_what_the_filter_kept() -> None:
    figure = bars(filtered(), by="scope")
    assert values(figure) == [("forward", 450), ("backward", 300)]
    assert note(figure).startswith("Not shown: 1 kernel filtered out")
    assert values(bars(filtered(), by="scope", everything=True)) == [
        ("forward", 600),
        ("backward", 400),
    ]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("kernels", "none of kernel, scope, device, and .* matches no kernel. Kernels: matmul, "),
        ("(", "by is not a regular expression"),
        (3, "by=3; use 'kernel', 'scope', 'device', or a regular expression"),
    ],
)
def test_wrong_by(by: Any, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        bars(hand(), by=by)


def test_hover_of_a_group() -> None:
    (text, *_), *_ = (t.hovertext for t in bars(hand(), by="scope").data if t.meta == "boxes")
    assert text.split("<br>") == [
        "<b>forward</b>",
        "count: <b>5</b>",
        "time: <b>600 ns</b>",
        "bytes: <b>9.00 kB</b>",
        "time/launch: <b>120 ns</b>",
        "bytes/s: <b>15.0 GB/s</b>",
        "60.0 % of kernel time",
        "2 kernels",
    ]


def test_stack_parts_each_bar_by_scope() -> None:
    figure = bars(hand(), by=STACKED)
    forward, backward = (trace for trace in figure.data if trace.meta == "boxes")
    assert (forward.name, backward.name) == ("forward", "backward")
    rows = ("matmul", "relu", "norm")
    assert figure.layout.yaxis.ticktext == rows
    assert list(zip(forward.y, forward.base, forward.x, strict=True)) == [(0, 0, 450), (1, 0, 150)]
    assert list(zip(backward.y, backward.base, backward.x, strict=True)) == [
        (0, 450, 300),
        (2, 0, 100),
    ]
    assert list(figure.data[-1].text) == ["\u00a0750 ns", "\u00a0150 ns", "\u00a0100 ns"]
    assert figure.layout.showlegend
    assert forward.hovertext[0] == ("<b>matmul</b><br>forward: <b>450 ns</b><br>60.0 % of time")


def test_scopes_beyond_six_are_one_part() -> None:
    tree = profile(*(frame(f"s{i}", kernel("k", 10 - i)) for i in range(9)))
    figure = bars(tree, by=STACKED)
    parts = [trace for trace in figure.data if trace.meta == "boxes"]
    assert [trace.name for trace in parts] == [*(f"s{i}" for i in range(6)), "3 other scopes"]
    # 10 + 9 + … + 5 = 45, then 4 + 3 + 2
    assert (parts[-1].base[0], parts[-1].x[0]) == (45, 9)


def test_legend_of_many_rows_begins_below_the_notes() -> None:
    tree = profile(
        *(frame(f"{'s' * 30}{i}", kernel("k", 10 - i)) for i in range(7)), kernel("l", 1)
    )
    layout = bars(tree, by=STACKED, top=1).layout
    assert note(bars(tree, by=STACKED, top=1)) == "1 more kernel: top=1."
    notes = layout.height - layout.margin.b + theme.NOTE_HEIGHT  # pixels from the top of the figure
    assert notes < layout.height * (1 - layout.legend.y) <= notes + 20
    assert layout.legend.yanchor == "top"


def test_stack_of_seven_scopes_names_them_all() -> None:
    tree = profile(*(frame(f"s{i}", kernel("k", 10 - i)) for i in range(7)))
    parts = [trace for trace in bars(tree, by=STACKED).data if trace.meta == "boxes"]
    assert [trace.name for trace in parts] == [f"s{i}" for i in range(7)]


def test_stack_needs_a_metric_that_sums() -> None:
    with pytest.raises(MetricError, match="'gbyte/s' may not; use one of: count, time, bytes"):
        bars(hand(), metric="gbyte/s", by=STACKED)
    with pytest.raises(ProtonLabError, match="scopes are not parted by scope; use by='scope'"):
        bars(hand(), by=("scope", "scope"))
    negative = bars(profile(kernel("k", 1, x=-2)), metric="x", by=STACKED)
    assert note(negative) == "x is negative somewhere, and no part of a stack can be."


@pytest.mark.parametrize("by", [(), ("kernel",), ("kernel", "device"), ("kernel", "k", "scope")])
def test_pairs_that_bars_cannot_be_by(by: Any) -> None:
    with pytest.raises(ProtonLabError, match="the only pair is one that parts each bar by scope"):
        bars(hand(), by=by)


def test_repeats_show_the_mean_and_its_interval() -> None:
    figure = bars(repeated((100, 120, 140), (50, 50, 50)))
    # t(0.975, 2) = 4.30265; half of the interval is 4.30265 * 20 / sqrt(3)
    half = 49.6827
    assert values(figure) == [("k0", 120), ("k1", 50)]
    whiskers, texts = figure.data[-2:]
    assert list(whiskers.x) == [120, 50]
    assert list(whiskers.error_x.array) == pytest.approx([half, 0], rel=1e-5)
    assert list(whiskers.error_x.arrayminus) == pytest.approx([half, 0], rel=1e-5)
    assert list(texts.text) == ["\u00a0120 ns ± 41.4 %", "\u00a050.0 ns ± 0.0 %"]
    assert list(texts.x) == pytest.approx([120 + half, 50])
    assert figure.layout.xaxis.range[1] == pytest.approx(120 + half)
    assert note(figure) == "Mean of 3 repeats; whiskers: 95 % interval (Student&#39;s t)."
    assert "kernels by time a repeat" in figure.layout.title.text
    hover = figure.data[0].hovertext[0]
    assert "time a repeat: <b>120 ns</b>, 95 % interval 70.3 ns to 170 ns, n = 3" in hover


def test_groups_have_intervals_too() -> None:
    # Both kernels together: 150, 170 and 190 in the three repeats.
    figure = bars(repeated((100, 120, 140), (50, 50, 50)), by="scope")
    assert values(figure) == [("scope", 170)]
    assert list(figure.data[-2].error_x.array) == pytest.approx([49.6827], rel=1e-5)


def test_one_repeat_has_no_whisker() -> None:
    figure = bars(repeated((100,)))
    assert values(figure) == [("k0", 100)]
    assert [trace.meta for trace in figure.data] == ["boxes", "values"]


def test_kernel_that_ran_in_some_repeats_has_the_mean_of_those() -> None:
    figure = bars(repeated((100, 120, 140), (None, 30, None)))
    assert values(figure) == [("k0", 120), ("k1", 30)]
    assert list(figure.data[-1].text)[1] == "\u00a030.0 ns"


def test_stack_of_repeats_adds_up_to_the_mean() -> None:
    figure = bars(repeated((100, 120, 140), (50, 50, 50)), by=("k", "scope"))
    assert values(figure) == [("k", pytest.approx(170))]


def test_names_of_groups_are_escaped() -> None:
    tree = profile(frame(EVIL, kernel("a", 10)), frame("b", kernel("a", 5)))
    for figure in (bars(tree, by="scope"), bars(tree, by=STACKED), bars(tree, by="a|<img")):
        for trace in figure.data:
            for text in (trace.name or "", *(trace.hovertext or ()), *(trace.text or ())):
                assert "<img" not in text
        assert "<img" not in figure.layout.title.text
        assert not any("<img" in text for text in figure.layout.yaxis.ticktext)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_groups_of_every_recorded_profile_add_up_to_the_whole(path: Path) -> None:
    recorded = load(path)
    total = recorded.inclusive["time_ns"].iloc[0]
    for options in ({}, {"by": "scope"}, {"by": "device"}, {"by": "[aeiou]"}, {"by": STACKED}):
        figure = bars(recorded, everything=True, top=10_000, **options)  # type: ignore[arg-type]
        widths = [sum(trace.x) for trace in figure.data if trace.meta == "boxes"]
        assert sum(widths) == pytest.approx(total, rel=1e-12)
