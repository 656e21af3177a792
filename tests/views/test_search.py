"""Searching a flame graph: what is found, what share it takes, and how it looks."""

from __future__ import annotations

import re

import pytest
from small_profiles import frame, hand, kernel, profile

from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.views import FlameFigure, FlameOptions, flame, theme


def found(figure: FlameFigure) -> list[str]:
    """Labels of the boxes that do not stand back, sorted."""
    return sorted(
        text[0]
        for trace in figure.data
        for text, opacity in zip(trace.customdata, trace.marker.opacity, strict=True)
        if opacity == 1
    )


def nested() -> Profile:
    """attention (70) holds attention_scores (50), beside mlp (30)."""
    return profile(
        frame("attention", frame("attention_scores", kernel("matmul", 50)), kernel("softmax", 20)),
        frame("mlp", kernel("matmul", 30)),
        name="attention is all",
    )


def test_share_of_what_matches() -> None:
    figure = flame(hand(), search="matmul")
    assert found(figure) == ["matmul", "matmul"]
    assert figure.layout.title.text.endswith("matched 75.0 % of time")


def test_the_static_picture_shows_what_matched() -> None:
    picture = flame(hand(), search="relu").to_image("svg").decode()
    kernel = theme.KINDS["kernel"].fill.light
    boxes = re.findall(rf'<rect [^>]*?( opacity="0.3")? fill="{kernel}"><title>(\w+)', picture)
    assert {label for faded, label in boxes if not faded} == {"relu"}
    assert {label for faded, label in boxes if faded} == {"matmul", "norm"}


def test_a_match_within_a_match_counts_once_and_the_root_is_not_searched() -> None:
    figure = flame(nested(), search="attention")
    assert found(figure) == ["attention", "attention_scores"]
    assert "matched 70.0 % of time" in figure.layout.title.text


@pytest.mark.parametrize(
    ("pattern", "share"),
    [("^mat", "80.0"), ("SOFT", "20.0"), ("mlp|softmax", "50.0"), ("l$", "80.0"), ("x9", "0.0")],
)
def test_regular_expressions(pattern: str, share: str) -> None:
    assert f"matched {share} % of time" in flame(nested(), search=pattern).layout.title.text


def test_full_names_are_searched_too() -> None:
    name = "_ZN2at6native13reduce_kernelILi512ELi1EEEvv"
    figure = flame(profile(kernel(name, 10), kernel("k", 30)), search="at6native")
    assert found(figure) == ["reduce_kernel"]
    assert "matched 25.0 % of time" in figure.layout.title.text


def test_folded_frames_count_but_are_not_marked() -> None:
    tree = profile(kernel("big", 100), *(kernel(f"small{i}", 1) for i in range(50)))
    figure = flame(tree, search="small", options=FlameOptions(max_boxes=3))
    assert found(figure) == []
    assert "matched 33.3 % of time" in figure.layout.title.text


def test_turned_over_the_share_is_the_same() -> None:
    figure = flame(nested(), search="attention", inverted=True)
    assert found(figure) == ["attention", "attention", "attention_scores"]
    assert "matched 70.0 % of time" in figure.layout.title.text


def test_by_another_metric() -> None:
    figure = flame(hand(), metric="bytes", search="forward")
    assert "matched 75.0 % of bytes" in figure.layout.title.text


def test_the_page_knows_what_was_searched_for() -> None:
    meta = flame(hand(), search="relu").layout.meta["protonlab"]
    assert (meta["search"], meta["said"]) == ("relu", "matched 15.0 % of time")


def test_no_regular_expression() -> None:
    with pytest.raises(ProtonLabError, match=r"search='a\(' is not a regular expression.*\\\("):
        flame(hand(), search="a(")
    with pytest.raises(ProtonLabError, match="search=3"):
        flame(hand(), search=3)  # type: ignore[arg-type]
