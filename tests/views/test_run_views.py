"""Figures of a run: heat map, bars by rank, the merged flame graph and timeline."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import document, frame, kernel
from rank_builders import NCCL, profiled_run, traced_run
from small_profiles import EVIL

import protonlab
from protonlab import MetricError, Profile, ProtonLabError, Run
from protonlab.formats import read_profile
from protonlab.model.manifest import RankManifest
from protonlab.views import theme
from protonlab.views.svg import drawing

PROFILES = Path(__file__).parents[1] / "profiles"


def rank(matmul: int, nccl: int, *more: Any) -> Profile:
    return read_profile(
        document(
            frame("forward", kernel("matmul", matmul, 2, bytes=1000), *more),
            frame("backward", kernel(NCCL, nccl)),
        )
    )


RUN = Run.from_profiles({0: rank(100, 60), 1: rank(105, 50), 2: rank(200, 10, kernel("x", 9))})


def boxes(figure: Any) -> dict[tuple[str, int], tuple[str, str, str]]:
    """Cells of a heat map: (label, column) -> colour of the legend, text, hover."""
    found = {}
    for trace in figure.data:
        for names, start, text, hover in zip(
            trace.customdata, trace.base, trace.text, trace.hovertext, strict=True
        ):
            found[str(names[0]), int(start)] = (trace.name, text, hover)
    return found


def test_a_cell_is_coloured_by_how_far_it_is_from_the_kernels_median() -> None:
    cells = boxes(protonlab.heatmap(RUN))
    assert [cells["matmul", column][0] for column in range(3)] == [
        *("0.91 to 0.99 ×", "within 1 %", "over 1.5 ×"),
    ]
    assert cells["matmul", 2][1] == "200 ns"
    assert "× 1.90" in cells["matmul", 2][2]
    assert cells["x", 0][0] == "not on the rank"
    assert cells["x", 2][0] == "within 1 %"
    # 160, 155 and 219 ns: the rank with most matmul waits least.
    assert [cells["all kernels", column][1] for column in range(3)] == [
        "160 ns",
        "155 ns",
        "219 ns",
    ]


def test_red_is_less_where_more_is_better() -> None:
    cells = boxes(protonlab.heatmap(RUN, metric="gbyte/s"))
    figure = protonlab.heatmap(RUN, metric="gbyte/s")
    colour = {trace.name: trace.marker.color for trace in figure.data}
    assert cells["matmul", 2][0] == "under 0.67 ×"
    assert colour["under 0.67 ×"] == theme.DIFFERENCES["slower_most"].fill.light
    assert ("all kernels", 0) not in cells


def test_a_heat_map_says_what_it_leaves_out() -> None:
    figure = protonlab.heatmap(RUN, top=1)
    text = figure.layout.annotations[0].text
    assert "Time in collectives is mostly waiting" in text
    assert "2 more kernels: top=1." in text
    assert "ran on some ranks alone" in text


def test_many_ranks_share_columns() -> None:
    run = profiled_run(150, slow={123: 2.0})
    figure = protonlab.heatmap(run)
    cells = boxes(figure)
    assert max(column for _, column in cells) == 74
    assert figure.layout.xaxis.title.text == "first of 2 ranks"
    role, _, hover = cells["norm", 61]  # ranks 122 and 123
    assert role == "over 1.5 ×"
    assert "rank 123" in hover


def test_names_of_files_stay_text() -> None:
    evil = read_profile(document(frame("s", kernel(EVIL, 5))))
    run = Run(EVIL, {0: evil, 1: evil})
    for figure in (protonlab.heatmap(run), protonlab.flame(run), protonlab.bars(run, by="kernel")):
        assert "<img" not in figure.to_json()
        assert "<img" not in drawing(json.loads(figure.to_json()))


def test_a_bar_a_rank_has_computing_and_collectives_apart() -> None:
    figure = protonlab.bars(RUN)
    parts = {trace.name: [*trace.x] for trace in figure.data if trace.meta == "boxes"}
    assert parts == {"computing": [100, 105, 209], "collectives": [60, 50, 10]}
    assert [*figure.layout.yaxis.ticktext] == ["rank 0", "rank 1", "rank 2"]
    values = next(trace for trace in figure.data if trace.meta == "values")
    assert [text.strip("\u00a0") for text in values.text] == ["160 ns", "155 ns", "219 ns"]


def test_values_keep_clear_of_the_median_line() -> None:
    figure = protonlab.bars(Run("r", {rank: RUN.profiles[0] for rank in range(3)}))
    values = next(trace for trace in figure.data if trace.meta == "values")
    assert [*values.x] == [160, 160, 160]  # all end at the line, and stand off it
    assert [*values.text] == ["\u00a0\u00a0160 ns"] * 3


def test_a_bar_a_kernel_is_the_median_with_all_ranks_in_its_whisker() -> None:
    figure = protonlab.bars(RUN, by="kernel")
    (bar,) = (trace for trace in figure.data if trace.meta == "boxes")
    assert [*bar.x] == [105, 50, 9]
    whiskers = next(trace for trace in figure.data if trace.meta == "whiskers")
    assert [*whiskers.error_x.array] == [95, 10, 0]
    assert [*whiskers.error_x.arrayminus] == [5, 40, 0]


def test_ranks_far_from_the_median_come_first_where_not_all_fit() -> None:
    figure = protonlab.bars(profiled_run(40, slow={31: 2.0}), top=5)
    assert "rank 31" in figure.layout.yaxis.ticktext
    assert len(figure.layout.yaxis.ticktext) == 5
    assert "The 5 of 40 ranks that lie farthest" in figure.layout.annotations[0].text


def test_a_rank_is_called_after_its_host_where_that_is_known() -> None:
    manifests = {
        0: RankManifest(0, 3, "complete", "2026-11-30T07:30:00+00:00", host="n7", gpu_name="H200")
    }
    figure = protonlab.bars(replace(RUN, manifests=manifests))
    assert figure.layout.yaxis.ticktext[0] == "rank 0 (n7, H200)"


def test_the_flame_graph_is_as_wide_as_the_mean_and_coloured_by_spread() -> None:
    figure = protonlab.flame(RUN)
    width = {}
    for trace in figure.data:
        for names, wide in zip(trace.customdata, trace.x, strict=True):
            width[names[0]] = (trace.name, wide)
    assert width["run"][1] == pytest.approx((160 + 155 + 219) / 3)
    assert width["matmul"] == ("over 50 %", pytest.approx(405 / 3))
    assert width["x"] == ("on one rank", 3)
    assert width["backward"][0] == "over 50 %"
    assert width["run"][0] == "spread over ranks 25 to 50 %"  # 64 of 160 ns
    assert "mean of the ranks" in figure.layout.title.text


def test_a_flame_graph_of_a_run_is_searched_and_zoomed_as_any(tmp_path: Path) -> None:
    figure = protonlab.flame(RUN, search="matmul", color="library")
    assert any(trace.name == "NCCL" for trace in figure.data)
    figure.write_image(tmp_path / "flame.svg")
    assert (tmp_path / "flame.svg").read_text().startswith("<svg")


def test_the_timeline_of_a_run_has_lanes_of_all_ranks() -> None:
    names = {each: PROFILES / f"ddp_trace_rank{each}_3.9.0.chrome_trace.gz" for each in (0, 1)}
    traces = {each: protonlab.load(name) for each, name in names.items()}
    run = Run("ddp", {}, traces=traces)  # type: ignore[arg-type]
    figure = protonlab.timeline(run)
    assert figure.layout.yaxis.ticktext[0] == "rank 0, CPU Thread 0"
    assert figure.layout.yaxis.ticktext[2].startswith("rank 0, GPU Stream 7 · idle")
    assert "Clocks were aligned on the ends of 24 collectives" in figure.layout.annotations[0].text
    counted = sum(
        int(names[0].split()[0]) if "event" in str(names[0]) else 1
        for trace in figure.data
        if trace.meta == "boxes"
        for names in trace.customdata
    )
    assert counted == sum(int((t.events["kind"] != "flow").sum()) for t in traces.values())  # type: ignore[union-attr]


def test_a_timeline_of_many_ranks_says_how_to_choose() -> None:
    figure = protonlab.timeline(traced_run(20, steps=2))
    text = figure.layout.annotations[0].text
    assert "12 more lanes: max_lanes=48" in text
    assert "16 more GPUs: Trace.idle holds all." in text
    assert re.search(r"· 20 GPUs idle [\d.]+ % to [\d.]+ %$", figure.layout.title.text)
    lanes = figure.layout.yaxis.ticktext  # every stream, and threads where there is room
    assert sum("Stream" in lane for lane in lanes) == 40
    assert [lane for lane in lanes if "Thread" in lane] == [
        f"rank {each}, CPU Thread 0" for each in range(8)
    ]


def test_the_table_of_a_run_names_the_ranks_that_stand_out() -> None:
    text = str(protonlab.table(RUN))
    row = next(line for line in text.splitlines() if line.startswith("matmul"))
    assert row.split() == ["matmul", "105", "100", "200", "95.2", "rank", "0", "rank", "2", "3"]


def test_views_of_nothing_say_so() -> None:
    empty = Run.from_profiles({0: read_profile(document()), 1: read_profile(document())})
    for figure in (protonlab.heatmap(empty), protonlab.flame(empty)):
        assert "No kernel was recorded." in figure.layout.annotations[0].text
    assert "No rank recorded time." in protonlab.bars(empty).layout.annotations[0].text
    assert "No kernel recorded bytes." in protonlab.heatmap(
        replace(RUN, profiles={0: _without_bytes(RUN.profiles[0])}), metric="bytes"
    ).layout.annotations[0].text  # fmt: skip


def _without_bytes(profile: Profile) -> Profile:
    return replace(profile, frames=profile.frames.assign(bytes=np.nan))


def test_bad_input_is_answered() -> None:
    with pytest.raises(ProtonLabError, match="a heat map is of a Run, not of a Profile"):
        protonlab.heatmap(RUN.profiles[0])  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="top=0; give a whole number"):
        protonlab.heatmap(RUN, top=0)
    with pytest.raises(MetricError, match="is not a metric"):
        protonlab.heatmap(RUN, metric="colour")
    with pytest.raises(ProtonLabError, match="bars of a run are by 'rank' or by 'kernel'"):
        protonlab.bars(RUN, by="device")
    with pytest.raises(ProtonLabError, match="lines and everything are for a profile"):
        protonlab.bars(RUN, lines="peak")
    with pytest.raises(ProtonLabError, match=r"flame\(run.merged\(\), inverted=True\)"):
        protonlab.flame(RUN, inverted=True)
    with pytest.raises(ProtonLabError, match="a run is coloured by 'spread'"):
        protonlab.flame(RUN, color="gbyte/s")
    with pytest.raises(ProtonLabError, match="color='spread' is for a run"):
        protonlab.flame(RUN.profiles[0], color="spread")
    with pytest.raises(MetricError, match="may not; use one of: count, time, bytes"):
        protonlab.flame(RUN, metric="gbyte/s")
    with pytest.raises(ProtonLabError, match="the table of a run is of one metric"):
        protonlab.table(RUN, metrics=["time", "count"])
    with pytest.raises(ProtonLabError, match="has no trace of a rank"):
        protonlab.timeline(RUN)
