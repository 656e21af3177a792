"""Two variants pair by pair: samples, running medians worked out by hand, bands, lines."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from small_profiles import hand
from sweeps import synthetic_comparison

from protonlab.errors import ProtonLabError
from protonlab.model import compare
from protonlab.model.running import running_median
from protonlab.views import pairs, picture_of
from protonlab.views.theme import DARK_TWINS


def test_running_median_by_hand() -> None:
    found = running_median(np.array([5.0, 1.0, 3.0, 9.0, 2.0, 4.0]))
    assert found.median.tolist() == [5.0, 3.0, 3.0, 4.0, 3.0, 3.5]
    assert np.isnan(found.low[:5]).all()  # five samples give no 95 % interval
    # Of six, the least and the most: a coin falls six times alike in 1 of 32 cases.
    assert (found.low[5], found.high[5]) == (1.0, 9.0)


def test_running_interval_of_twenty_goes_from_the_sixth_to_the_fifteenth() -> None:
    found = running_median(np.arange(1.0, 21.0))
    assert (found.low[-1], found.median[-1], found.high[-1]) == (6.0, 10.5, 15.0)


def test_running_median_covers_the_true_one() -> None:
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        found = running_median(random.exponential(size=25))
        hits += bool(found.low[-1] <= np.log(2) <= found.high[-1])
    assert hits >= 0.93 * 300


def test_samples_medians_and_bands() -> None:
    comparison = synthetic_comparison(2660.0, 2730.0)
    figure = pairs(comparison)
    metas = [trace.meta for trace in figure.data]
    assert metas == [
        *("band first", "band second", "points first", "points second"),
        *("median first", "median second"),
    ]
    points = figure.data[2]
    assert list(points.y) == pytest.approx(comparison.values[0].tolist(), rel=1e-5)
    assert points.hovertext[0].endswith("GB/s (1700 MHz, 690 W)")
    line = figure.data[5]
    assert line.y[-1] == pytest.approx(comparison.medians[1], rel=1e-5)
    assert line.name.startswith("serial: median 2,7")
    assert "serial is" in repr(figure)


def test_what_makes_numbers_doubtful_is_told_below() -> None:
    plain = synthetic_comparison(2660.0, 2730.0)
    assert "Warning" not in picture_of(pairs(plain))
    different = replace(
        plain,
        outputs_equal=False,
        outputs="1 of 4 numbers differs by more than it may",
        info=replace(plain.info, gpu="", backend="interpreter, CPU"),
    )
    figure = pairs(different, notes=("Mine.",))
    (note,) = (each for each in figure.layout.annotations if each.name == "notes")
    assert note.text.split("<br>") == [
        "Mine.",
        "Warning: times on the interpreter say nothing about a GPU.",
        "Warning: The outputs differ: 1 of 4 numbers differs by more than it may.",
    ]
    assert figure.layout.title.text.endswith("24 pairs · interpreter, CPU")
    assert "The outputs differ" in picture_of(figure)
    assert figure.layout.height > pairs(plain).layout.height


def test_small_rates_are_plain_numbers() -> None:
    ticks = [pairs(synthetic_comparison(x, x)).layout.yaxis for x in (2.0e-4, 2.0e-7, 2.0)]
    assert [each.exponentformat for each in ticks] == ["none", "e", None]


def test_legend_says_what_its_brackets_hold() -> None:
    *_, first, _ = pairs(synthetic_comparison(2660.0, 2730.0)).data
    assert re.fullmatch(
        r"overlap: median 2,\d{3} GB/s \(95 % interval 2,\d{3} to 2,\d{3}\)", first.name
    )


def test_lines_within_reach_are_drawn_and_others_named_at_the_edge() -> None:
    figure = pairs(
        synthetic_comparison(2660.0, 2730.0), lines={"near": 2800, "copy": 4250.0, "slow": 100.0}
    )
    assert [shape.y0 for shape in figure.layout.shapes] == [2800.0]
    low, high = figure.layout.yaxis.range
    assert 2500 < low < 2660
    assert 2800 < high < 2900
    texts = [note.text for note in figure.layout.annotations]
    assert texts == ["near: 2,800 GB/s", "↑ copy: 4,250 GB/s", "↓ slow: 100 GB/s"]


def test_names_are_data() -> None:
    comparison = synthetic_comparison(1.0, 2.0)
    object.__setattr__(comparison, "names", ("<b>x</b>", "$y$"))
    text = pairs(comparison, title="<i>").to_json()
    assert "<i>" not in text
    assert "&lt;b&gt;" in text


def test_nothing_measured_is_a_sentence() -> None:
    assert "Nothing measured yet." in picture_of(pairs(synthetic_comparison(1.0, 1.0).first(0)))


def test_one_pair_has_neither_band_nor_trouble() -> None:
    figure = pairs(synthetic_comparison(1.0, 2.0).first(1))
    assert list(figure.data[0].y) == []
    assert len(picture_of(figure)) > 1000


def test_every_colour_has_a_dark_twin() -> None:
    text = pairs(synthetic_comparison(2660.0, 2730.0), lines={"near": 2700.0}).to_json()
    for trace in pairs(synthetic_comparison(1.0, 2.0)).data:
        colour = trace.fillcolor or trace.marker.color or trace.line.color
        assert colour in DARK_TWINS
    assert "#ffffff" not in text


@pytest.mark.parametrize("value", [float("nan"), "fast", True])
def test_line_that_is_none(value: object) -> None:
    with pytest.raises(ProtonLabError, match="is no line"):
        pairs(synthetic_comparison(1.0, 2.0), lines={"x": value})  # type: ignore[dict-item]


@pytest.mark.parametrize("lines", ["peak", 4250, [4250]])
def test_lines_without_labels(lines: object) -> None:
    with pytest.raises(ProtonLabError, match="give label -> value in the metric's unit"):
        pairs(synthetic_comparison(1.0, 2.0), lines=lines)  # type: ignore[arg-type]


def test_profiles_and_their_comparisons_have_no_pairs() -> None:
    with pytest.raises(ProtonLabError, match=r"not a Comparison; bars\(\) draws a comparison"):
        pairs(compare(hand(), hand()))  # type: ignore[arg-type]
