"""Texts of a flame graph: hover boxes, names that attack, and sentences in its place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flame_boxes import boxes, hovers, sentence
from small_profiles import EVIL, frame, hand, kernel, profile, without_values

from protonlab.views import flame


def test_hover_has_every_metric_with_unit_shares_and_device() -> None:
    text = next(text for text in hovers(flame(hand())) if "450" in text)
    assert text.split("<br>") == [
        "<b>matmul</b>",
        "count: <b>3</b>",
        "time: <b>450 ns</b>",
        "bytes: <b>9.00 kB</b>",
        "time/launch: <b>150 ns</b>",
        "bytes/s: <b>20.0 GB/s</b>",
        "45.0 % of total, 75.0 % of parent",
        "CUDA device 0",
    ]


def test_hover_has_what_cannot_be_summed() -> None:
    tree = profile(kernel("k", 10, **{"rows (exc)": 7, "split": [1, 2]}))
    text = next(text for text in hovers(flame(tree)) if "<b>k</b>" in text)
    assert "rows: <b>7</b>" in text
    assert "split: <b>(1, 2)</b>" in text


def test_hover_of_a_cxx_kernel_has_its_full_name() -> None:
    name = "_ZN2at6native13reduce_kernelILi512ELi1EEEvv"
    text = next(text for text in hovers(flame(profile(kernel(name, 10)))) if "reduce" in text)
    assert text.startswith(f"<b>reduce_kernel</b><br>{name}<br>")


def test_hover_of_a_python_line_has_its_file() -> None:
    tree = profile(frame("/home/me/train.py:12@step", kernel("k", 10)))
    text = next(text for text in hovers(flame(tree)) if "train" in text)
    assert text.startswith("<b>train.py:12 in step</b><br>/home/me/train.py:12@step<br>")


def test_no_kernels() -> None:
    assert sentence(flame(profile())) == "No kernel was recorded."


def test_only_metadata() -> None:
    tree = profile(frame("__proton_launch_metadata", kernel("make_metadata", 10)))
    assert sentence(flame(tree)) == "No kernel was recorded."


def test_all_times_zero() -> None:
    assert sentence(flame(profile(kernel("k", 0)))) == "time is zero everywhere."


def test_missing_metric_values() -> None:
    tree = without_values(profile(kernel("k", 10, x=1)), "x")
    assert sentence(flame(tree, metric="x")) == "No frame recorded x."


@pytest.mark.parametrize("made", [{"inverted": True}, {"search": "k"}, {"color": "util"}])
def test_nothing_to_draw_is_a_sentence_however_it_is_asked_for(made: dict[str, Any]) -> None:
    assert sentence(flame(profile(), **made)) == "No kernel was recorded."
    assert sentence(flame(profile(kernel("k", 0)), **made)) == "time is zero everywhere."


def test_negative_values() -> None:
    tree = profile(kernel("k", 10, x=-1.5), kernel("l", 10, x=4))
    assert "x is negative somewhere" in sentence(flame(tree, metric="x"))


def texts(value: Any) -> list[str]:
    """Every string of a figure that plotly would read as HTML."""
    if isinstance(value, dict):
        return [text for key, item in value.items() if key not in ("customdata", "meta", "font")
                for text in texts(item)]  # fmt: skip
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_names_are_escaped_wherever_plotly_reads_them() -> None:
    tree = profile(frame(EVIL, kernel(EVIL, 10, **{EVIL: 3})), name=EVIL)
    for text in texts(flame(tree).to_plotly_json()):
        ours = re.sub(r"</?b>|<br>", "", text)
        assert "<" not in ours
        assert "$" not in ours
        assert "onerror" not in ours or "&lt;img" in ours or "…" in ours


def test_long_names_are_shortened() -> None:
    figure = flame(profile(kernel("k" * 5000, 10)))
    assert len(figure.to_json()) < 6000
    assert max(map(len, boxes(figure))) <= 200


def test_control_and_direction_marks_are_made_visible() -> None:
    figure = flame(profile(kernel("a\u202eb\x00c", 10)))
    assert "a\ufffdb\ufffdc" in boxes(figure)
    figure.to_json().encode("utf-8")
