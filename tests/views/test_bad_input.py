"""Bars and tables of what nobody would call a profile: the right picture, or a sentence."""

from __future__ import annotations

import functools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from small_profiles import EVIL, chain, frame, hand, kernel, profile, without_values
from small_traces import by_hand

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import Profile, compare
from protonlab.views import BarsFigure, KernelTable, bars, table

LONG = "x" * 5000

CASES: dict[str, Callable[[], Profile]] = {
    "empty": profile,
    "scopes alone": lambda: profile(frame("a", frame("b"))),
    "one kernel": lambda: profile(kernel("k", 7)),
    "zero times": lambda: profile(kernel("k", 0), kernel("l", 0)),
    "no time": lambda: without_values(hand(), "time_ns"),
    "long names": lambda: profile(frame(LONG, kernel(f"{LONG}1", 5), kernel(f"{LONG}2", 6))),
    "html": lambda: profile(frame(EVIL, kernel(EVIL, 5), kernel(f"{EVIL}2", 6)), name=EVIL),
    "many children": lambda: profile(*(kernel(f"k{i}", i + 1) for i in range(10_000))),
    "many scopes": lambda: profile(*(frame(f"s{i}", kernel("k", i + 1)) for i in range(3000))),
    "deep": lambda: chain(470, kernel("k", 5)),
    "control characters": lambda: profile(kernel("a\x00b\u202ec\nd\uffff", 5)),
    "one name": lambda: profile(*(kernel("k", 5, **{"x": i}) for i in range(3))),
}
made = functools.cache(lambda case: CASES[case]())  # profiles do not change
VIEWS: dict[str, Callable[[Profile], BarsFigure | KernelTable]] = {
    "bars": bars,
    "bars by scope": lambda tree: bars(tree, by="scope"),
    "bars by device": lambda tree: bars(tree, by="device"),
    "stacked bars": lambda tree: bars(tree, by=("kernel", "scope")),
    "bars of a share": lambda tree: bars(tree, metric="time/%"),
    "bars of util": lambda tree: bars(tree, metric="util", lines="peak"),
    "bars of a comparison": lambda tree: bars(compare(tree, tree)),
    "bars of a difference": lambda tree: bars(compare(tree, tree), metric="difference"),
    "table": table,
    "table of a comparison": lambda tree: table(compare(tree, tree)),
}


@pytest.mark.parametrize("view", [bars, table])
def test_error_for_a_trace_names_what_lists_its_kernels(view: Any) -> None:
    message = r"not a Trace; trace\.kernels lists a trace's kernels, timeline\(\) draws it"
    with pytest.raises(ProtonLabError, match=message):
        view(by_hand())


def sound(shown: BarsFigure | KernelTable) -> None:
    """Whether every form of an output is there, small, well-formed and harmless."""
    bundle: dict[str, Any] = shown._repr_mimebundle_()
    assert len(json.dumps(bundle)) < 200_000
    assert bundle["text/plain"].strip()
    html = re.sub("<(script|style).*?</\\1>", "", bundle["text/html"], flags=re.DOTALL)
    assert "<img" not in html
    assert "javascript:" not in re.sub(r'title="[^"]*"', "", html) or "&lt;a href" in html
    if isinstance(shown, BarsFigure):
        picture = ET.fromstring(bundle["image/svg+xml"])
        assert [element.text for element in picture.iter() if (element.text or "").strip()]
        assert shown.data or shown.layout.annotations[0].text.endswith(".")
        assert shown.layout.height < 2000


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", CASES)
def test_every_view_of_every_case(case: str, view: str) -> None:
    sound(VIEWS[view](made(case)))


def test_many_children_are_counted() -> None:
    tree = made("many children")
    assert bars(tree).layout.annotations[0].text == "9,980 more kernels: top=20."
    assert table(tree).note == "9,800 more kernels: top=200."
    everything = bars(tree, metric="count", by="k", top=1)
    assert everything.data[0].x == (10_000,)


def test_a_scope_at_a_depth_of_470_is_the_innermost() -> None:
    figure = bars(made("deep"), by="scope")
    assert figure.layout.yaxis.ticktext == ("scope",)
    assert figure.data[0].x == (5,)


def test_long_names_are_told_apart() -> None:
    one, other = bars(made("long names")).layout.yaxis.ticktext
    assert one != other
    assert max(len(one), len(other)) <= 44
    grid = str(table(made("long names"))).splitlines()
    assert max(map(len, grid)) <= 120


def test_nothing_in_common() -> None:
    both = compare(profile(kernel("a", 3)), profile(kernel("b", 5)))
    sound(bars(both))
    sound(table(both))
    assert bars(both).layout.yaxis.ticktext == ("b", "a")


def vector() -> Profile:
    """A kernel with a vector and a property beside its time."""
    return profile(kernel("k", 10, **{"sizes": [1, 2, 3], "power (pty)": 300.0}))


@pytest.mark.parametrize("metric", ["sizes", "power"])
def test_what_has_no_sum_is_an_error(metric: str) -> None:
    for by in ("kernel", "scope"):
        with pytest.raises(MetricError, match=f"'{metric}' has no value here"):
            bars(vector(), metric=metric, by=by)
    with pytest.raises(MetricError, match=f"'{metric}' has no value here"):
        table(vector(), metrics=[metric])
