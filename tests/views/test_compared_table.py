"""The table of a comparison: values, differences and words by hand."""

from __future__ import annotations

import math

import pytest
from small_profiles import EVIL, frame, kernel, profile
from test_grouped_bars import repeated

from protonlab.errors import ProtonLabError
from protonlab.model.changes import ratio_texts
from protonlab.model.comparison import Comparison, compare
from protonlab.views import bars, comparison_tree, table


def compared(metric: str = "time/us") -> Comparison:
    """Kernels that became slower, faster, stayed, went and came."""
    before = profile(
        kernel("slower", 1000, bytes=1000),
        kernel("faster", 4000, bytes=1000),
        kernel("same", 2000, bytes=1000),
        kernel("old", 500, bytes=1000),
    )
    after = profile(
        kernel("slower", 1500, bytes=1000),
        kernel("faster", 2000, bytes=1000),
        kernel("same", 2000, bytes=1000),
        kernel("fresh", 250, bytes=1000),
    )
    return compare(before, after, metric=metric)


def test_rows_by_hand() -> None:
    made = table(compared())
    assert made.title == (
        "time/us 7.50 µs before, 5.75 µs after: 23.3 % less time; "
        "kernels: 1 added, 1 removed, 2 changed, 1 unchanged"
    )
    assert made.headers == (
        "kernel", "change", "before (µs)", "after (µs)", "difference (µs)", "ratio",
    )  # fmt: skip
    assert made.rows == (
        ("faster", "changed", "4.00", "2.00", "-2.00", "0.500"),
        ("slower", "changed", "1.00", "1.50", "+0.500", "1.50"),
        ("old", "removed", "0.500", "–", "-0.500", "–"),
        ("fresh", "added", "–", "0.250", "+0.250", "–"),
        ("same", "unchanged", "2.00", "2.00", "0", "1.00"),
    )


def test_a_rate_names_its_unit_and_what_has_none() -> None:
    parts = [
        profile(kernel("moves", time, bytes=1000), kernel("bare", 10 * time)) for time in (100, 50)
    ]
    comparison = compare(*parts, metric="gbyte/s")
    made = table(comparison)
    assert made.headers == (
        "kernel", "change", "before (gbyte/s)", "after (gbyte/s)", "difference (gbyte/s)", "ratio",
    )  # fmt: skip
    assert made.rows == (
        ("moves", "changed", "10.0", "20.0", "+10.0", "2.00"),
        ("bare", "no value", "–", "–", "–", "–"),
    )
    assert made.title.endswith("kernels: 1 changed, 1 without gbyte/s")
    assert "before (gbyte/s)" in str(comparison_tree(comparison))
    bare = compare(*(part.filter(include="bare") for part in parts), metric="gbyte/s")
    assert "in common" not in " ".join(bare.notes)


@pytest.mark.parametrize(
    ("metric", "tokens", "header"),
    [
        ("n_tokens/s", 64, "before (M n_tokens/s)"),
        ("bytes/n_tokens", 1, "before (bytes/n_tokens)"),
        ("n_tokens", 64_000, "before (k)"),
        ("count", 1, "before"),
        ("avg_time/us", 1, "before (µs)"),
    ],
)
def test_every_unit_stands_in_the_header(metric: str, tokens: int, header: str) -> None:
    one = profile(kernel("k", 1000, bytes=1000, n_tokens=tokens))
    assert table(compare(one, one, metric=metric)).headers[2] == header


def test_bars_go_right_for_what_costs_more() -> None:
    difference = table(compared()).columns[4]
    assert difference.bars == (-100, 25, -25, 12.5, 0)
    assert difference.is_diverging
    html = table(compared()).html()
    assert '<i class="less" style="width: 50.0%"></i><b>-2.00</b>' in html
    assert '<i class="more" style="width: 12.5%"></i><b>+0.500</b>' in html


def test_tree_as_text_is_red_for_what_costs_more_as_the_table_is() -> None:
    before, after = (profile(kernel("k", 10, bytes=size)) for size in (1000, 3000))
    for metric, tone in (("bytes", "red"), ("gbyte/s", "blue")):
        tree = comparison_tree(compare(before, after, metric=metric))
        (styles,) = (
            styles
            for column, styles in zip(tree.columns, tree.styles, strict=True)
            if column.header == "ratio"
        )
        assert styles[-1] == tone


def test_a_lower_rate_costs_more() -> None:
    # slower: 1 GB/s before, 0.667 after; faster: 0.25 and 0.5.
    made = table(compared("gbyte/s"))
    bars = dict(zip((row[0] for row in made.rows), made.columns[4].bars, strict=True))
    assert bars["slower"] == 100
    assert bars["faster"] == pytest.approx(-75)
    assert math.isnan(bars["old"])


def test_repeats_bring_an_interval_and_a_verdict() -> None:
    before, after = repeated((100, 101, 99)), repeated((200, 201, 199))
    made = table(compare(before, after, metric="time/ns"))
    assert made.headers[-2:] == ("95 % interval", "verdict")
    ((*_, ratio, interval, verdict),) = made.rows
    assert ratio == "2.00"
    low, high = map(float, interval.split(" to "))
    assert 1.9 < low < 2 < high < 2.1
    assert verdict.startswith("100 % more time, 95 % interval")
    assert verdict in str(made)
    assert verdict in made.html()


def test_renamed_kernels_name_both() -> None:
    before = profile(kernel("gemm_128x64", 10))
    after = profile(kernel("gemm_64x64", 5))
    made = table(compare(before, after))
    assert made.names == ("gemm_64x64, before: gemm_128x64",)
    assert "aligned with another name" in made.note


def test_nothing_in_common_and_nothing_at_all() -> None:
    made = table(compare(profile(kernel("a", 1)), profile(kernel("b", 2))))
    assert [row[:2] for row in made.rows] == [("b", "added"), ("a", "removed")]
    empty = table(compare(profile(), profile(frame("scope"))))
    assert not empty.rows
    assert "No kernel was recorded." in str(empty)
    assert "No kernel was recorded." in empty.html()


def test_top_says_how_many_there_are() -> None:
    made = table(compared(), top=2)
    assert [row[0] for row in made.rows] == ["faster", "slower"]
    assert made.note.endswith("3 more kernels: top=2.")


def test_a_comparison_has_its_own_metric() -> None:
    with pytest.raises(ProtonLabError, match="a comparison is of one metric, 'time/us'"):
        table(compared(), metrics=["time"])


def test_names_are_escaped() -> None:
    html = table(compare(profile(kernel(EVIL, 1)), profile(kernel("b", 2)))).html()
    assert "<img" not in html.split("<script>")[0]


def test_ratios_that_are_not_1_do_not_read_as_1() -> None:
    steady = compare(repeated((10_000_000, 10_000_001)), repeated((10_003_000, 10_003_001)))
    (row,) = table(steady).rows
    ratio, interval = row[5:7]
    assert ratio == "1.0003"
    assert interval == "1.0003 to 1.0003"
    assert ratio_texts(1, 1.1, 0.25) == ["1.00", "1.10", "0.250"]
    assert ratio_texts(1.101, 1.102) == ["1.101", "1.102"]
    assert ratio_texts(1.1, 1.1 + 1e-15) == ["1.1000"] * 2
    (value,) = (trace for trace in bars(steady).data if trace.meta == "values")
    assert "× 1.0003 (1.0003 to 1.0003)" in value.text[0]
