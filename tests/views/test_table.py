"""The kernel table: numbers by hand, HTML without the names' tags, and its text twin."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from small_profiles import DEVICES, EVIL, filtered, frame, hand, kernel, profile

from protonlab.errors import MetricError, ProtonLabError
from protonlab.formats.embedded import MEASURED_MIME, PROFILES_MIME
from protonlab.views import table


class Cells(HTMLParser):
    """Texts of the cells of a table, row by row, and every tag of the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.titles: list[str] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")
            self.titles += [value or "" for key, value in attrs if key == "title"]

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def test_html_and_text_hold_the_same_rows() -> None:
    made = table(hand(), metrics=["time/us", "time/%", "count", "gbyte/s"])
    page = Cells(made.html().split("</table>")[0])
    rows = page.rows
    assert rows == [
        ["kernel", "time (µs)", "time (%)", "count", "gbyte/s"],
        ["matmul", "0.750", "75.0", "4", "16.0"],
        ["relu", "0.150", "15.0", "2", "–"],
        ["norm", "0.100", "10.0", "1", "–"],
    ]
    assert str(made).splitlines() == [
        "hand · CUDA 0 (sm_90, 132 SMs)",
        "kernel   time (µs)   time (%)   count   gbyte/s",
        "───────────────────────────────────────────────",
        "matmul       0.750       75.0       4      16.0",
        "relu         0.150       15.0       2         –",
        "norm         0.100       10.0       1         –",
    ]


def test_a_recorded_time_names_its_unit() -> None:
    made = table(hand(), metrics=["time", "time/ns", "time"])
    assert made.headers == ("kernel", "time (ns)", "time (ns)")
    assert made.rows[0] == ("matmul", "750", "750")


def test_shares_of_a_peak_have_bars_that_end_at_the_peak() -> None:
    # Half of the peak, and twice of it: the model of its bytes is wrong.
    tree = profile(kernel("k", 1000, bytes=2_458_368), kernel("l", 1000, bytes=9_833_472))
    (util,) = (column for column in table(tree, metrics=["util"]).columns if column.bars)
    assert util.cells == ("50.0", "200")
    assert util.bars == pytest.approx((50, 100))


def test_share_of_time_has_a_bar_as_wide_as_the_share() -> None:
    html = table(hand()).html()
    assert html.count('<td class="share">') == 3
    assert '<i style="width: 75.0%"></i><b>75.0</b>' in html


def test_bundle_is_html_with_a_text_twin() -> None:
    made = table(hand())
    bundle = made._repr_mimebundle_()
    for kind in (PROFILES_MIME, MEASURED_MIME):
        assert [each["name"] for each in bundle.pop(kind)] == ["hand"]
    assert bundle == {"text/html": made.html(), "text/plain": repr(made)}


def test_html_loads_nothing_and_is_light() -> None:
    html = table(hand()).html()
    assert "http" not in html
    assert len(html) < 11_000


def test_kernels_outside_of_the_filter_are_counted() -> None:
    made = table(filtered(), metrics=["count"])
    assert made.rows == (("matmul", "4"),)
    assert made.note == (
        "Not shown: 1 kernel filtered out (15.0 % of time), "
        "1 kernel not launched by Triton (10.0 % of time). "
        "bars() and table() add them with everything=True."
    )
    assert made.note in str(made)
    assert made.note in made.html()


def test_everything_names_what_the_hook_saw() -> None:
    made = table(filtered(), metrics=["count"], everything=True)
    assert made.headers == ("kernel", "count", "hook")
    assert made.rows == (
        ("matmul", "4", "kept"),
        ("relu", "2", "filtered"),
        ("norm", "1", "unseen"),
    )


def test_filter_that_kept_nothing_shows_all_and_says_so() -> None:
    tree = profile(kernel("relu", 5), include="mat.*").with_hook({}, kept=set(), filtered={"relu"})
    made = table(tree, metrics=["count"])
    assert made.rows == (("relu", "1"),)
    assert made.note == "The filter kept no kernel: 1 kernel filtered out (100 % of time)."


def test_top_says_how_many_there_are() -> None:
    made = table(hand(), metrics=["count"], top=2)
    assert [row[0] for row in made.rows] == ["matmul", "relu"]
    assert made.note == "1 more kernel: top=2."


def test_long_times_are_in_ms() -> None:
    assert "time (ms)" in table(profile(kernel("k", 20_000_000))).headers


def test_big_numbers_of_a_users_metric_go_by_thousands() -> None:
    made = table(profile(kernel("k", 1000, n_tokens=64)), metrics=["n_tokens/s", "n_tokens"])
    assert made.headers[1:] == ("n_tokens/s (M)", "n_tokens")
    assert made.rows == (("k", "64.0", "64.0"),)


@pytest.mark.parametrize(
    ("metrics", "reason"),
    [
        ({}, "util is missing: no kernel told of its bytes or flops."),
        (
            {"device_type": "CPU", "bytes": 64},
            "util is missing: Triton's interpreter has no peak rates.",
        ),
    ],
)
def test_why_there_is_no_util(metrics: dict[str, Any], reason: str) -> None:
    device = {"device_type": "CUDA", "device_id": "0"} | metrics
    tree = profile(
        frame("k", count=1, time_ns=10, **device),
        devices={"CPU": {"0": {}}} if metrics else DEVICES,
    )
    assert table(tree, metrics="util").note == reason


def test_util_brings_its_bound() -> None:
    # 6144 bits at 2 * 3.201 GHz move 4,916,736 bytes in 1,000 ns; half of them is half the peak.
    made = table(profile(kernel("k", 1000, bytes=2_458_368)), metrics=["util", "util_bound"])
    assert made.headers[1:] == ("util (%)", "util_bound")
    assert made.rows == (("k", "50.0", "bytes"),)


@pytest.mark.parametrize("tree", [profile(), profile(frame("empty scope"))])
def test_no_kernel(tree: object) -> None:
    made = table(tree)  # type: ignore[arg-type]
    assert "No kernel was recorded." in str(made)
    assert "No kernel was recorded." in made.html()


def test_missing_values() -> None:
    made = table(profile(kernel("k", 10), kernel("l", 5, x=2)), metrics=["x"])
    assert made.rows == (("k", "–"), ("l", "2.00"))


def test_errors() -> None:
    with pytest.raises(MetricError, match="tyme"):
        table(hand(), metrics=["tyme"])
    for top in (0, True, 2.5, "3", None):
        with pytest.raises(ProtonLabError, match=f"top={top!r}"):
            table(hand(), top=top)  # type: ignore[arg-type]
    with pytest.raises(MetricError, match=r"metrics=5; give names such as"):
        table(hand(), metrics=5)  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="a profile, a comparison or a run, not a str"):
        table("run1.hatchet")  # type: ignore[arg-type]


def test_names_are_escaped() -> None:
    made = table(profile(kernel(EVIL, 10, **{EVIL: 3}), name=EVIL))
    page = Cells(made.html().split("<script>")[0])
    assert page.tags == {
        *("div", "style", "caption", "table", "thead", "tbody", "tr", "th", "td", "i", "b")
    }
    assert page.titles[-1] == EVIL
    assert page.rows[1][0] == EVIL


def test_long_names_are_shortened() -> None:
    made = table(profile(kernel("k" * 5000, 10)))
    assert len(made.html()) < 11_000
    assert max(map(len, str(made).splitlines())) <= 130
