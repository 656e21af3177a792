"""A sweep as a figure: medians, bands, the crossing, and what it says in words."""

from __future__ import annotations

import dataclasses
import math

import pytest
from small_profiles import hand
from sweeps import SHORT, synthetic_sweep

from protonlab import recorded
from protonlab.errors import ProtonLabError
from protonlab.views import overlap_by_tokens, picture_of

SWEEP = synthetic_sweep()


def test_both_medians_in_their_bands() -> None:
    figure = overlap_by_tokens(SWEEP, k=256)
    lines = [trace for trace in figure.data if trace.showlegend]
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert [line.name for line in lines] == [
        "overlap: median, 5 to 95 % of samples", "serial: median, 5 to 95 % of samples",
    ]  # fmt: skip
    for side, line in enumerate(lines):
        assert list(line.x) == [1, 4, 16, 64]
        wanted = [1.2 * sizes[side] for sizes in SHORT.values()]
        assert list(line.y) == pytest.approx(wanted, rel=0.005)
        low, high = list(bands[side].y)[:4], list(bands[side].y)[:3:-1]
        for least, middle, most in zip(low, line.y, high, strict=True):
            assert least < middle < most


def test_crossing_is_marked_and_told() -> None:
    figure = overlap_by_tokens(SWEEP, k=256)
    (crossing,) = SWEEP.crossings("ours", 256)
    (shape,) = figure.layout.shapes
    assert shape.x0 == shape.x1 == crossing
    (label,) = [note for note in figure.layout.annotations if "they cross" in note.text][-1:]
    assert label.text == f"they cross at about {crossing:.0f} tokens"
    assert label.x == pytest.approx(math.log10(crossing))
    assert repr(figure).endswith(
        "overlap is faster at 3 and slower at 1 of 4 sizes, by 17.7 % at most; "
        f"they cross at about {crossing:.0f}>"
    )
    picture = picture_of(figure)
    assert "they cross at about" in picture
    assert "a synthetic GPU, triton 0.0, 2000-01-01" in picture


def test_difference_is_overlap_against_serial_with_its_interval() -> None:
    figure = overlap_by_tokens(SWEEP, kernel="upstream", show="difference")
    band, line = figure.data
    table = SWEEP.to_dataframe().query("kernel == 'upstream' and k == 5760")
    assert list(line.y) == pytest.approx((100 * (1 / table["ratio"] - 1)).tolist())
    assert all(value < 0 for value in line.y[:3])  # overlap costs at a long K
    assert list(band.y)[:4] == pytest.approx((100 * (1 / table["ratio_high"] - 1)).tolist())
    assert "the interval holds a tie at 1" in repr(figure)


def test_longest_k_by_default() -> None:
    assert "K = 5760" in overlap_by_tokens(SWEEP).layout.title.text


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kernel": "theirs"}, "kernel='theirs' is not in this sweep; it has kernel='ours' with"),
        ({"k": 512}, "kernel='ours', k=512 is not in this sweep"),
        ({"show": "time"}, "show='time'; give 'gbyte/s' or 'difference'"),
    ],
)
def test_what_is_not_there(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ProtonLabError, match=says):
        overlap_by_tokens(SWEEP, **wrong)  # type: ignore[arg-type]


def test_each_shape_of_a_file_is_drawn_alone() -> None:
    narrow = {
        dataclasses.replace(case, n=2944, experts=32): comparison
        for case, comparison in SWEEP.comparisons.items()
        if case.tokens > 4
    }
    both = dataclasses.replace(SWEEP, comparisons={**SWEEP.comparisons, **narrow})
    assert both.crossings("ours", 256) == SWEEP.crossings("ours", 256)
    assert both.crossings("ours", 256, n=2944) == SWEEP.crossings("ours", 256)
    tokens = {
        n: [list(trace.x) for trace in overlap_by_tokens(both, k=256, n=n).data if trace.showlegend]
        for n in (None, 5760, 2944)
    }
    assert tokens == {None: [[1, 4, 16, 64]] * 2, 5760: [[1, 4, 16, 64]] * 2, 2944: [[16, 64]] * 2}
    title = overlap_by_tokens(both, experts=32).layout.title.text
    assert "K = 5760, N = 2944, 32 experts" in title
    with pytest.raises(ProtonLabError, match="k=256 and n=2944 and experts=32"):
        overlap_by_tokens(both, n=128)
    heading, *rows = str(both).splitlines()[1:-1]
    assert heading.split()[:5] == ["kernel", "k", "n", "experts", "tokens"]
    assert len({tuple(row.split()[:5]) for row in rows}) == len(both.cases)


def test_only_a_sweep_has_tokens() -> None:
    with pytest.raises(ProtonLabError, match=r"not a Profile; sweep_epilogue\(\) measures one"):
        overlap_by_tokens(hand())  # type: ignore[arg-type]


def test_empty_sweep_is_a_sentence() -> None:
    empty = dataclasses.replace(SWEEP, comparisons={}, compiled={})
    assert "The sweep holds no case." in picture_of(overlap_by_tokens(empty))
    assert empty.to_dataframe().empty
    assert empty.to_pairs().empty
    assert empty.nearest(SWEEP.cases[0]) is None


def test_several_crossings_share_a_label() -> None:
    sweep = recorded.epilogue_sweep()
    crossings = sweep.crossings("ours", 5760)
    assert len(crossings) > 1
    figure = overlap_by_tokens(sweep)
    assert [shape.x0 for shape in figure.layout.shapes] == list(crossings)
    (label,) = (each for each in figure.layout.annotations if each.text.endswith(" tokens"))
    rounded = " and ".join(f"{at:.0f}" for at in crossings)
    assert label.text == f"they cross at about {rounded} tokens"
