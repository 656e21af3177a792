"""Flame graphs from kernels to their callers: merged chains, exact sums, what hover boxes say."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from small_profiles import frame, hand, kernel, profile

from protonlab.formats import load
from protonlab.model import Profile
from protonlab.views import FlameFigure, FlameOptions, callers, flame

PROFILES = [
    *sorted(Path(__file__).parents[1].glob("profiles/*.hatchet")),
    *sorted(Path(__file__).parents[2].glob("protonlab/recorded/*.hatchet")),
]


def paths(figure: FlameFigure) -> dict[tuple[str, ...], float]:
    """Labels from the root to each box -> width; a box lies on the one below that holds it."""
    found = sorted(
        (row, start, width, text[0])
        for trace in figure.data
        for row, start, width, text in zip(
            trace.y, trace.base, trace.x, trace.customdata, strict=True
        )
    )
    names: dict[tuple[int, float, float], tuple[str, ...]] = {}
    result: dict[tuple[str, ...], float] = defaultdict(float)
    for row, start, width, label in found:
        middle = start + width / 2
        above = next(
            (path for (r, s, w), path in names.items() if r == row - 1 and s < middle < s + w), ()
        )
        names[row, start, width] = (*above, label)
        result[names[row, start, width]] += width
    return dict(result)


def test_each_box_of_the_hand_made_tree() -> None:
    assert paths(flame(hand(), inverted=True)) == {
        ("hand",): 1000,
        ("hand", "matmul"): 750,
        ("hand", "matmul", "forward"): 450,
        ("hand", "matmul", "backward"): 300,
        ("hand", "relu"): 150,
        ("hand", "relu", "forward"): 150,
        ("hand", "norm"): 100,
        ("hand", "norm", "backward"): 100,
    }


def test_chains_are_merged_as_far_as_they_agree() -> None:
    # k runs in a of x, in a of y, in b of x: its callers are a (5 + 7) and b (1).
    tree = profile(
        frame("x", frame("a", kernel("k", 5)), frame("b", kernel("k", 1))),
        frame("y", frame("a", kernel("k", 7))),
    )
    assert paths(flame(tree, inverted=True)) == {
        ("hand",): 13,
        ("hand", "k"): 13,
        ("hand", "k", "a"): 12,
        ("hand", "k", "a", "y"): 7,
        ("hand", "k", "a", "x"): 5,
        ("hand", "k", "b"): 1,
        ("hand", "k", "b", "x"): 1,
    }


def test_a_name_that_calls_itself_is_a_chain_of_its_own() -> None:
    tree = profile(frame("f", kernel("k", 3), frame("f", kernel("k", 4))))
    assert paths(flame(tree, inverted=True)) == {
        ("hand",): 7,
        ("hand", "k"): 7,
        ("hand", "k", "f"): 7,
        ("hand", "k", "f", "f"): 4,
    }


def test_what_a_scope_recorded_itself_counts_once() -> None:
    tree = profile(frame("outer", kernel("k", 5, tokens=2), tokens=10))
    assert paths(flame(tree, metric="tokens", inverted=True)) == {
        ("hand",): 12,
        ("hand", "outer"): 10,
        ("hand", "k"): 2,
        ("hand", "k", "outer"): 2,
    }


def test_hover_boxes_sum_over_the_merged_frames() -> None:
    texts = [text for trace in flame(hand(), inverted=True).data for text in trace.hovertext]
    assert next(text for text in texts if "750" in text).split("<br>") == [
        "<b>matmul</b>",
        "count: <b>4</b>",
        "time: <b>750 ns</b>",
        "bytes: <b>12.0 kB</b>",
        "time/launch: <b>188 ns</b>",
        "bytes/s: <b>16.0 GB/s</b>",
        "75.0 % of total",
    ]
    of_backward = next(text for text in texts if "backward" in text and "300" in text)
    assert of_backward.split("<br>")[1:4] == [
        "count: <b>1</b>",
        "time: <b>300 ns</b>",
        "bytes: <b>3.00 kB</b>",
    ]
    assert of_backward.endswith("30.0 % of total, 40.0 % of parent")


def test_colour_by_a_rate_is_that_of_the_sums() -> None:
    figure = flame(hand(), inverted=True, color="bytes/s")
    texts = [text for trace in figure.data for text in trace.hovertext]
    assert "bytes/s: <b>16.0 GB/s</b>" in next(text for text in texts if "75.0 % of total" in text)


def test_overhead_takes_no_part() -> None:
    tree = profile(kernel("k", 90), frame("__proton_launch_metadata", kernel("meta", 10)))
    assert paths(flame(tree, inverted=True)) == {("hand",): 90, ("hand", "k"): 90}
    shown = paths(flame(tree, inverted=True, options=FlameOptions(overhead=True)))
    assert shown[("hand", "meta", "launch metadata")] == 10


def test_only_the_widest_nodes_of_a_level_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "_FOLLOWED", 1)
    found = paths(flame(hand(), inverted=True))
    assert found[("hand", "matmul", "forward")] == 450
    assert found[("hand", "relu")] == 150
    assert ("hand", "relu", "forward") not in found


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_recorded_profiles_reconcile(path: Path) -> None:
    recorded = load(path)
    assert isinstance(recorded, Profile)
    figure = flame(recorded, inverted=True, options=FlameOptions(max_boxes=100_000))
    drawn = Counter(place for trace in figure.data for place in zip(trace.y, trace.x, strict=True))
    sums = sums_of_chains(recorded)
    assert drawn == Counter((len(chain), time) for chain, time in sums.items())


def sums_of_chains(recorded: Profile) -> dict[tuple[Any, ...], float]:
    """Chains of (name, kind), from each frame with time up to the root, frame by frame."""
    frames = recorded.frames
    parent = frames["parent_id"].tolist()
    names = list(zip(frames["name"].astype(str), frames["kind"].astype(str), strict=True))
    own = frames["time_ns"].to_numpy(dtype=float, na_value=0.0)
    sums: dict[tuple[Any, ...], float] = defaultdict(float)
    for row, (time, overhead) in enumerate(zip(own, recorded.overhead, strict=True)):
        if time <= 0 or overhead:
            continue
        chain: tuple[Any, ...] = ()
        sums[chain] += time
        at = row
        while at > 0:
            chain = (*chain, names[at])
            sums[chain] += time
            at = parent[at]
    return dict(sums)
