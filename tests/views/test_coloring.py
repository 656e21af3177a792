"""What colours say: library, difference, and a metric in six even steps."""

from __future__ import annotations

import re

import pytest
from small_profiles import filtered, frame, hand, kernel, profile
from test_grouped_bars import repeated

from protonlab import recorded
from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.comparison import compare
from protonlab.views import FlameFigure, bars, flame, table, theme
from protonlab.views.names import text_width


def by_role(figure: FlameFigure) -> dict[str, list[str]]:
    """Words of the legend -> labels of its boxes."""
    return {trace.name: sorted(text[0] for text in trace.customdata) for trace in figure.data}


def test_by_library() -> None:
    tree = profile(
        frame("step", kernel("nvjet_sm90_tst_128x64_NNT", 5), kernel("add_kernel [n=4]", 3)),
        kernel("_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgs", 2),
    )
    assert by_role(flame(tree, color="library")) == {
        "scope": ["hand", "step"],
        "Triton": ["add_kernel [n=4]"],
        "cuBLAS": ["nvjet_sm90_tst_128x64_NNT"],
        "NCCL": ["_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgs"],
    }


def test_a_hook_that_saw_the_launch_knows_better_than_the_name() -> None:
    roles = by_role(flame(filtered(), color="library"))
    assert roles["Triton"] == ["matmul", "matmul", "relu"]
    assert roles["user"] == ["norm"]


def test_by_a_rate_in_even_steps_from_zero() -> None:
    # 9000 B / 450 ns and 3000 B / 300 ns are 20 and 10 GB/s; with relu forward makes 15, the whole
    # 12, and backward 7.5. Six steps up to 20 are rounded up to 4 GB/s each.
    figure = flame(hand(), color="gbyte/s")
    assert by_role(figure) == {
        "bytes/s 4.00 GB/s to 8.00 GB/s": ["backward"],
        "8.00 GB/s to 12.0 GB/s": ["matmul"],
        "12.0 GB/s to 16.0 GB/s": ["forward", "hand"],
        "20.0 GB/s to 24.0 GB/s": ["matmul"],
        "without bytes/s": ["norm", "relu"],
    }


def test_by_a_metric_that_is_the_same_everywhere() -> None:
    roles = by_role(flame(profile(kernel("a", 2), kernel("b", 2)), color="avg_time/ns"))
    assert list(roles) == ["time/launch 2.00 ns to 2.40 ns"]


def test_by_a_metric_below_zero() -> None:
    tree = profile(kernel("a", 1, x=-6.0), kernel("b", 1, x=6.0))
    roles = by_role(flame(tree, color="x"))
    assert roles["x -6.00 to -4.00"] == ["a"]
    assert "4.00 to 6.00" in roles


def test_by_util_only_kernels_have_a_colour() -> None:
    tree = profile(frame("s", kernel("k", 1000, bytes=1_000_000)))
    roles = by_role(flame(tree, color="util"))
    assert roles["without util"] == ["hand", "s"]


def test_hover_box_has_the_metric_that_colours() -> None:
    figure = flame(profile(kernel("k", 1000, bytes=1_000_000)), color="util")
    texts = [text for trace in figure.data for text in trace.hovertext]
    assert any(re.search(r"util: <b>\d+\.\d %</b>", text) for text in texts)


def test_by_difference_each_box_by_hand() -> None:
    # before: a 100, gone 50; after: a 200, new 40, so the whole is as wide as 200 + 50 + 40.
    before = profile(frame("s", kernel("a", 100), kernel("gone", 50)))
    after = profile(frame("s", kernel("a", 200), kernel("new", 40)))
    figure = flame(compare(before, after))
    assert by_role(figure) == {
        "slower, over 1.5 ×": ["a", "all", "s"],
        "gone": ["gone"],
        "new": ["new"],
    }
    widths = {
        text[0]: width
        for trace in figure.data
        for text, width in zip(trace.customdata, trace.x, strict=True)
    }
    assert widths == {"all": 290, "s": 290, "a": 200, "gone": 50, "new": 40}
    new = next(trace for trace in figure.data if trace.name == "new")
    assert new.marker.pattern.shape == theme.DIFFERENCES["added"].pattern
    text = next(text for trace in figure.data for text in trace.hovertext if "<b>a</b>" in text)
    assert text.split("<br>") == [
        "<b>a</b>",
        "before: <b>100 ns</b>",
        "after: <b>200 ns</b>",
        "difference: <b>+100 ns</b>",
        "ratio: <b>2.00 ×</b>",
        "changed",
        "69.0 % of total, 69.0 % of parent",
    ]


def test_faster_and_unchanged() -> None:
    before = profile(kernel("a", 100), kernel("b", 300))
    after = profile(kernel("a", 95), kernel("b", 300))
    roles = by_role(flame(compare(before, after)))
    assert roles["faster, up to 1.1 ×"] == ["a", "all"]
    assert roles["unchanged"] == ["b"]


def test_what_cannot_be_told_is_hatched_and_said_once() -> None:
    unsure = compare(repeated((90, 100, 110)), repeated((95, 100, 110)))
    for view, word in (
        (flame(unsure), "cannot tell: the interval"),
        (bars(unsure), "cannot tell: "),
    ):
        (trace,) = (each for each in view.data if each.name == "cannot tell")
        assert trace.marker.pattern.shape == "/"
        assert trace.hovertext[-1].count("cannot tell") == 1
        assert word in trace.hovertext[-1]
    assert table(unsure).rows[0][1] == "cannot tell"


def test_profiles_with_nothing_in_common() -> None:
    figure = flame(compare(profile(kernel("a", 1)), profile(kernel("b", 2))))
    assert by_role(figure)["gone"] == ["a"]
    assert by_role(figure)["new"] == ["b"]


def test_comparison_of_nothing_is_a_sentence() -> None:
    figure = flame(compare(profile(), profile()))
    assert not figure.data
    assert figure.layout.annotations[0].text == "No kernel was recorded."


def test_a_comparison_by_kind_and_library() -> None:
    comparison = compare(hand(), hand())
    assert by_role(flame(comparison, color="kind"))["kernel"][0] == "matmul"
    assert "Triton" in by_role(flame(comparison, color="library"))


def test_notes_say_how_wide_boxes_are_and_how_names_were_aligned() -> None:
    first, wide, *more = flame(compare(hand(), hand())).layout.annotations[0].text.split("<br>")
    assert first.startswith("time 1.00 µs before, 1.00 µs after: the same within 1 %")
    assert wide == "Each frame is as wide as the larger of its two values."
    assert any(line.startswith("Aligned by equal names") for line in more)


def test_words_of_a_comparison_fit_a_notebook_beside_a_file_browser() -> None:
    figure = flame(compare(recorded.gpt_eager(), recorded.gpt_compiled()))
    title = figure.layout.title.text
    assert title == "<b>gpt_eager → gpt_compiled</b> · time · NVIDIA H200"
    lines = figure.layout.annotations[0].text.split("<br>")
    assert len(lines) > 3
    assert max(text_width(line) for line in lines) <= 800


@pytest.mark.parametrize(
    ("color", "message"),
    [
        ("difference", "needs two profiles"),
        ("colour", "use kind, library, difference, spread, or a metric"),
        ("util_bound", "has no number"),
        ("time/%parent", "has no number"),
        (3, "color=3"),
    ],
)
def test_colours_that_say_nothing(color: str, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        flame(hand(), color=color)


def test_colours_of_a_comparison() -> None:
    with pytest.raises(ProtonLabError, match="'difference', 'kind' or 'library'"):
        flame(compare(hand(), hand()), color="gbyte/s")


def test_comparison_by_a_metric_that_cannot_be_summed() -> None:
    with pytest.raises(MetricError, match="may be summed over frames"):
        flame(compare(hand(), hand(), metric="gbyte/s"))
    with pytest.raises(ProtonLabError, match="this comparison is by 'time'"):
        flame(compare(hand(), hand()), metric="bytes")
    with pytest.raises(ProtonLabError, match=r"comparison\.before"):
        flame(compare(hand(), hand()), inverted=True)
