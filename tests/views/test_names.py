"""Texts: escaping, shortening, fitting."""

from __future__ import annotations

import pytest
from small_profiles import EVIL

from protonlab.views.names import (
    cleaned,
    escaped,
    fitted,
    hover_lines,
    shortened,
    text_width,
    told_apart,
    unmarked,
)


def test_escaped_takes_the_meaning_from_each_mark() -> None:
    assert escaped("<b>&\"'$") == "&lt;b&gt;&amp;&quot;&#39;&#36;"


def test_unmarked_gives_back_what_was_escaped() -> None:
    assert unmarked(f"<b>{escaped(EVIL)}</b>") == EVIL


def test_cleaned_leaves_other_scripts_alone() -> None:
    assert cleaned("größe 行列\n") == "größe 行列\ufffd"


def test_shortened_keeps_both_ends() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcdef…ijk"


def test_told_apart_leaves_out_what_long_names_share() -> None:
    names = [f"_matmul_bf16_{tile}_swiglu [M = {m}, N = 5888, K = 2944]" for tile, m in
             (("64x128", 64), ("16x128", 4), ("16x128", 1))]  # fmt: skip
    assert told_apart(["relu", *names], 36) == [
        "relu",
        "_matmul_…64x128_swiglu [M = 64, N =…",
        "_matmul_…16x128_swiglu [M = 4, N = …",
        "_matmul_…16x128_swiglu [M = 1, N = …",
    ]


def test_told_apart_shortens_in_the_middle_where_that_is_enough() -> None:
    names = ["a" * 30 + "_first", "b" * 30 + "_other"]
    assert told_apart(names, 20) == [shortened(name, 20) for name in names]


def test_hover_lines_are_broken_and_bounded() -> None:
    lines = hover_lines("x" * 5000).split("<br>")
    assert [len(line) for line in lines] == [90, 90, 90, 90, 40]


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (1000, "matmul  45.0 %"),
        (text_width("matmul"), "matmul"),
        (text_width("matmul") - 0.1, "matm…"),
        (20, ""),
    ],
)
def test_fitted(room: float, text: str) -> None:
    assert fitted("matmul", "45.0 %", room) == text
