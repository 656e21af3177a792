"""Profiles inside a report: written escaped, read back equal, left out on demand, bounded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from cells import HOSTILE, code
from nbformat.v4 import new_markdown_cell, new_notebook, new_output
from variant_builders import comparison

import protonlab
from protonlab import recorded
from protonlab.formats import embedded
from protonlab.model import ClockReading, ProfileInfo
from protonlab.report import ReportOptions
from protonlab.views import sources

KEPT = ReportOptions(keep_paths=True)


def shown(*views: Any) -> Any:
    """A cell whose outputs are these views."""
    return code(*(new_output("display_data", view._repr_mimebundle_()) for view in views))


def export(folder: Path, *cells: Any, options: ReportOptions = KEPT) -> Path:
    notebook = folder / "a.ipynb"
    nbformat.write(new_notebook(cells=list(cells)), notebook)
    return protonlab.export_report(notebook, options=options)


def named(profile: protonlab.Profile, name: str) -> protonlab.Profile:
    return replace(profile, info=replace(profile.info, name=name))


def loaded(page: Path) -> dict[str, protonlab.Profile]:
    result = protonlab.load(page)
    assert isinstance(result, dict)
    return result


def test_report_gives_back_the_profiles_behind_its_figures(tmp_path: Path) -> None:
    sweep, train = recorded.moe_sweep(), recorded.gpt_train()
    change = protonlab.compare(recorded.gpt_eager(), recorded.gpt_compiled())
    page = export(
        tmp_path,
        shown(protonlab.flame(sweep), protonlab.bars(sweep)),
        shown(protonlab.table(train)),
        shown(protonlab.bars(change)),
        shown(protonlab.timeline(recorded.gpt_trace())),
    )
    held = loaded(page)
    assert list(held) == ["moe_sweep", "gpt_train", "gpt_eager", "gpt_compiled"]
    for profile in (sweep, train, change.before, change.after):
        again = held[profile.info.name]
        pd.testing.assert_frame_equal(again.frames, profile.frames, check_categorical=False)
        assert (again.info, again.devices, again.columns) == (
            profile.info, profile.devices, profile.columns,
        )  # fmt: skip
    text = page.read_text()
    assert "gives a dict with &#39;moe_sweep&#39;, &#39;gpt_train&#39;" in text
    assert "<td>NVIDIA H200</td><td>driver 580.159, triton 3.9.0, torch 2.11.0</td>" in text


def test_same_name_is_told_apart_and_the_same_profile_held_once(tmp_path: Path) -> None:
    one, two = named(recorded.moe_sweep(), "run"), named(recorded.gpt_train(), "run")
    nameless = named(recorded.gpt_eager(), "")
    views = [protonlab.bars(each) for each in (one, two, one, nameless)]
    held = loaded(export(tmp_path, shown(*views)))
    assert [(name, len(each.kernels)) for name, each in held.items()] == [
        ("run", len(one.kernels)), ("run_2", len(two.kernels)), ("profile", len(nameless.kernels)),
    ]  # fmt: skip


def test_comparison_of_variants_says_how_it_was_measured(tmp_path: Path) -> None:
    info = ProfileInfo(
        gpu="NVIDIA H200",
        versions={"torch": "2.11.0", "driver": "580.159"},
        when="2026-11-30T04:05:06.789+00:00",
    )
    clocks = {"sm_clock_mhz": [1700.0, 1755.0], "power_w": [float("nan"), 612.4]}
    sides = (named(recorded.moe_sweep(), "overlap"), named(recorded.gpt_train(), "serial"))
    compared = comparison([10, 11], [12, 13], info=info, columns=clocks, profiles=sides)
    page = export(tmp_path, shown(protonlab.pairs(compared), protonlab.pairs(compared)))
    cells = [
        "overlap against serial", "NVIDIA H200", "driver 580.159, torch 2.11.0",
        "SM 1700–1755 MHz, 612 W", "2026-11-30 04:05 +00:00",
    ]  # fmt: skip
    assert measured(page) == [cells]  # and none for its sides, which were measured with it
    assert list(loaded(page)) == ["overlap", "serial"]
    empty = comparison([], [])
    assert (
        "How this was measured" not in export(tmp_path, shown(protonlab.pairs(empty))).read_text()
    )


def measured(page: Path) -> list[list[str]]:
    """Cells of each row of "How this was measured"."""
    rows = re.findall(r"<tr>(<td>.*?)</tr>", page.read_text().partition('id="measured"')[2])
    return [re.findall("<td>(.*?)</td>", row) for row in rows]


def test_timeline_says_how_its_trace_was_measured(tmp_path: Path) -> None:
    trace = recorded.gpt_trace()
    page = export(tmp_path, shown(protonlab.timeline(trace), protonlab.timeline(trace)))
    (row,) = measured(page)
    assert row[:2] == ["gpt_trace", "NVIDIA H200"]
    assert row[2].startswith("driver 580.159, triton 3.9.0, torch 2.11.0")
    assert row[4].startswith("2026-")


def test_figures_of_a_sweep_say_once_how_all_of_it_was_measured(tmp_path: Path) -> None:
    sweep = recorded.epilogue_sweep()
    figures = (protonlab.overlap_by_tokens(sweep, k=k) for k in (256, 5760))
    (row,) = measured(export(tmp_path, shown(*figures)))
    assert row[:2] == [f"epilogue sweep, {len(sweep.cases)} cases", "NVIDIA H200"]
    clocks = sweep.to_pairs()["sm_clock_mhz"]
    assert row[3].startswith(f"SM {clocks.min():.0f}–{clocks.max():.0f} MHz, memory ")


def ranks_of(count: int) -> dict[int, protonlab.Profile]:
    """Ranks that recorded the same, rank 5 of them under another driver and with a low clock."""
    one = recorded.gpt_compiled()
    ranks = {}
    for rank in range(count):
        mhz, driver = (1200, "570.1") if rank == 5 else (1980 - rank % 2, "580.2")
        info = ProfileInfo(
            gpu="NVIDIA H200",
            versions={"driver": driver, "triton": "3.9.0"},
            when=f"2026-11-30T04:0{rank % 4}:06.789+00:00",
            clocks=(ClockReading("", f"GPU-{rank}", mhz, power_w=600.0 + rank),),
        )
        ranks[rank] = replace(one, info=info)
    return ranks


@pytest.mark.parametrize("travels", [True, False])
def test_ranks_of_a_run_are_one_row_that_says_who_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, travels: bool
) -> None:
    if not travels:
        monkeypatch.setattr(sources, "MAX_EMBEDDED_FRAMES", 80)
    run = protonlab.Run("tonight", ranks_of(64))
    page = export(tmp_path, shown(protonlab.bars(run), protonlab.heatmap(run)))
    assert measured(page) == [
        [
            "tonight, 64 ranks",
            "NVIDIA H200",
            "driver 580.2, triton 3.9.0; rank 5: driver 570.1, triton 3.9.0",
            "SM 1200–1980 MHz (lowest on rank 5), 600–663 W",
            "2026-11-30 04:00 to 04:03 +00:00",
        ]
    ]
    assert len(loaded(page)) == (64 if travels else 0)


def test_ranks_without_a_difference_name_none(tmp_path: Path) -> None:
    run = protonlab.Run("tonight", {rank: ranks_of(1)[0] for rank in range(3)})
    (row,) = measured(export(tmp_path, shown(protonlab.flame(run))))
    assert row == [
        "tonight, 3 ranks", "NVIDIA H200", "driver 580.2, triton 3.9.0", "SM 1980 MHz, 600 W",
        "2026-11-30 04:00 +00:00",
    ]  # fmt: skip


def test_copies_of_a_figure_carry_its_profile(tmp_path: Path) -> None:
    import copy

    figure = copy.deepcopy(protonlab.flame(recorded.moe_sweep()))
    assert list(loaded(export(tmp_path, shown(figure)))) == ["moe_sweep"]


@pytest.mark.parametrize(
    "name", [*HOSTILE, "</script><script>pwned = 1</script>", "<!--", "\\u003c"]
)
def test_hostile_names_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    profile = named(recorded.moe_sweep(), name)
    page = export(tmp_path, shown(protonlab.table(profile)))
    assert list(loaded(page)) == [name]
    text = page.read_text().partition("<body>")[2]
    scripts = re.findall("<script.*?>", text)
    assert scripts == ['<script type="application/json" id="protonlab-profiles">', "<script>"]
    assert "<script>pwned" not in text


def test_stripped_report_holds_no_profile_and_says_so(tmp_path: Path) -> None:
    views = shown(protonlab.bars(recorded.moe_sweep()))
    page = export(tmp_path, views, options=ReportOptions(embed_data=False))
    assert "protonlab-profiles" not in page.read_text().partition("<body>")[2]
    assert "The profiles behind the figures were left out (--strip-data)." in page.read_text()
    assert "driver 580.159" in page.read_text()  # what was measured with is not data
    with pytest.raises(
        protonlab.ProfileFormatError, match=r"a\.html: this report was written with"
    ):
        protonlab.load(page)


def test_report_without_profiles_gives_none(tmp_path: Path) -> None:
    assert loaded(export(tmp_path, new_markdown_cell("# Nothing"))) == {}


def test_profile_that_is_too_large_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "MAX_EMBEDDED_FRAMES", 80)
    large, small = recorded.gpt_train(), recorded.gpt_compiled()
    assert len(large.frames) > 80 >= len(small.frames)
    page = export(tmp_path, shown(protonlab.bars(large), protonlab.bars(small)))
    assert list(loaded(page)) == ["gpt_compiled"]
    assert re.search(r"Too large to travel .*: gpt_train; share them", page.read_text())
    assert [row[0] for row in measured(page)] == ["gpt_train", "gpt_compiled"]


def test_what_an_output_carries_may_be_damaged(tmp_path: Path) -> None:
    cell = shown(protonlab.bars(recorded.moe_sweep()))
    (good,) = cell.outputs[0].data[embedded.PROFILES_MIME]
    for bad in (7, None, {}, {"name": 1, "frames": 2, "profile": "x"}, good | {"profile": "AAAA"}):
        cell.outputs.append(new_output("display_data", {embedded.PROFILES_MIME: [bad]}))
    for bad in ("text", [7], [{"name": 1}], [{}]):
        cell.outputs.append(new_output("display_data", {embedded.PROFILES_MIME: bad}))
        cell.outputs.append(new_output("display_data", {embedded.MEASURED_MIME: bad}))
    assert "moe_sweep" in loaded(export(tmp_path, cell, options=ReportOptions()))


REPORT = '<!DOCTYPE html><html><head><meta name="generator" content="protonlab 1">'
BLOCK = '<script type="application/json" id="protonlab-profiles">{}</script>'
BOMB = embedded.pack("[" * 1_000_000)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<!DOCTYPE html><title>x</title>", "an HTML page, but no report that protonlab wrote"),
        ("<!-- a comment -->\n<HTML></HTML>", "an HTML page, but no report that protonlab wrote"),
        ("<p>text</p>", "XML, or a part of an HTML page"),
        (REPORT + BLOCK.format("{"), "the block of embedded profiles is damaged"),
        (REPORT + BLOCK.format("[1]"), "the block of embedded profiles is damaged"),
        (REPORT + BLOCK.format('{"a": 1}'), "the block of embedded profiles is damaged"),
        (REPORT + BLOCK.format("[" * 100_000), "the block of embedded profiles is damaged"),
        (REPORT + BLOCK.format('{"a": "!!"}'), "profile 'a': damaged"),
        (REPORT + BLOCK.format('{"a": "AAAA"}'), "profile 'a': damaged"),
        (REPORT + BLOCK.format('{"a": "eJw="}'), "profile 'a': cut off"),
        (REPORT + BLOCK.format(f'{{"a": "{embedded.pack("[]")}"}}'), "expected Proton's tree"),
        (REPORT + BLOCK.format(f'{{"a": "{BOMB}"}}'), "profile 'a': more than max_bytes=1000 when"),
    ],
)
def test_what_is_no_report_is_said_so(tmp_path: Path, text: str, says: str) -> None:
    page = tmp_path / "a.html"
    page.write_text(text)
    with pytest.raises(protonlab.ProfileFormatError, match=re.escape(says)) as caught:
        protonlab.load(page, max_bytes=1000)
    assert str(page) in str(caught.value)


def test_bounds_hold_for_embedded_profiles_too(tmp_path: Path) -> None:
    page = export(tmp_path, shown(protonlab.bars(recorded.moe_sweep())))
    with pytest.raises(protonlab.ProfileFormatError, match="max_frames=10"):
        protonlab.load(page, max_frames=10)
