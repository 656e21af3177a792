"""Traces of ranks on one time axis: clocks, lanes, arrows, and what is said of the error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rank_builders import trace_of, traced_run

import protonlab
from protonlab import ProtonLabError, Run, Trace
from protonlab.model.clock_alignment import align_clocks

PROFILES = Path(__file__).parents[1] / "profiles"


@pytest.fixture(scope="module")
def real() -> Run:
    names = {rank: PROFILES / f"ddp_trace_rank{rank}_3.9.0.chrome_trace.gz" for rank in (0, 1)}
    return Run("ddp", {}, traces={rank: protonlab.load(name) for rank, name in names.items()})  # type: ignore[misc]


def collective_ends(trace: Trace) -> dict[int, list[int]]:
    rows = trace.events[trace.events["name"].astype(str).str.contains("nccl")]
    ends = rows["start_ns"] + rows["duration_ns"].astype(int)
    process = [trace.lanes[lane].process for lane in rows["lane"]]
    return {rank: found.tolist() for rank, found in ends.groupby(process)}  # type: ignore[misc]


def test_collectives_of_two_h200s_end_together(real: Run) -> None:
    merged = real.merged_trace()
    ends = collective_ends(merged)
    apart = np.abs(np.subtract(ends[0], ends[1]))
    assert len(apart) == 24
    assert np.quantile(apart, 0.95) < 30_000
    assert merged.info.notes[0] == (
        "Clocks were aligned on the ends of 24 collectives, which agree within ±29.3 µs (95 % of "
        "them)."
    )
    # The time of day of one host agrees: its offset was 444 µs.
    assert align_clocks(real.traces).offset[1].tolist() == pytest.approx([-444_057], abs=10_000)


def test_lanes_are_called_after_their_rank_and_arrows_numbered_anew(real: Run) -> None:
    merged = real.merged_trace()
    assert [lane.name for lane in merged.lanes] == [
        f"rank {rank}, {name}"
        for rank in (0, 1)
        for name in ("CPU Thread 0", "GPU Stream 7", "GPU Stream 17")
    ]
    assert [lane.process for lane in merged.lanes] == [0, 0, 0, 1, 1, 1]
    arrows = merged.events[merged.events["kind"] == "flow"]
    ids = [set(rows["flow_id"]) for _, rows in arrows.groupby(arrows["lane"])]
    assert len(ids) == 2
    assert not ids[0] & ids[1]
    assert {merged.lanes[lane].process for lane in arrows[arrows["lane"] == 3]["to_lane"]} == {1}
    assert len(merged.events) == sum(len(trace.events) for trace in real.traces.values())


def test_a_merged_trace_is_saved_and_read_back(real: Run, tmp_path: Path) -> None:
    merged = real.merged_trace()
    merged.save(tmp_path / "both.json.gz")
    again = protonlab.load(tmp_path / "both.json.gz")
    assert isinstance(again, Trace)
    assert again.lanes == merged.lanes
    for name in ("start_ns", "duration_ns", "lane", "flow_id", "to_lane"):
        np.testing.assert_array_equal(again.events[name].isna(), merged.events[name].isna())
        assert (again.events[name].dropna() == merged.events[name].dropna()).all()


def test_clocks_of_any_offset_are_found_again() -> None:
    run = traced_run(5, offsets=[0, 10**9, -(10**8), 77, 5], noise_ns=0)
    clocks = align_clocks(run.traces)
    found = [clocks.offset[rank].tolist() for rank in range(5)]
    assert np.ravel(found).tolist() == pytest.approx([0, -(10**9), 10**8, -77, -5], abs=3_000)
    assert 3_000 < clocks.error_ns < 15_000  # both ends scatter by 3 µs


def test_a_clock_that_jumps_is_aligned_anew() -> None:
    run = traced_run(3, jumps={2: 7_000_000}, offsets=[0, 0, 0])
    clocks = align_clocks(run.traces)
    assert clocks.offset[2].tolist() == pytest.approx([0, -7_000_000], abs=5_000)
    assert clocks.error_ns < 15_000
    ends = collective_ends(run.merged_trace())
    assert np.abs(np.subtract(ends[0], ends[2])).max() < 30_000


def test_without_collectives_the_time_of_day_counts() -> None:
    times = np.arange(1, 5) * 1_000_000
    one = trace_of(times, times + 100, 0, kernel_name="norm", base=1_000)
    other = trace_of(times, times + 100, 0, kernel_name="norm", base=1_500)
    clocks = align_clocks({0: one, 1: other})
    assert clocks.offset[1].tolist() == [500]
    assert "by the hosts' time of day" in clocks.method
    assert np.isnan(clocks.error_ns)
    nothing = align_clocks({0: one, 1: replace(other, base_time_ns=None)})
    assert "nothing can be said between ranks" in nothing.method
    assert align_clocks({3: one}).method == "One rank: there is no other clock."


def test_a_trace_without_events_is_no_trouble() -> None:
    times = np.arange(1, 5) * 1_000_000
    empty = trace_of(times[:0], times[:0], 0)
    run = Run("half", {}, traces={0: empty, 1: trace_of(times, times + 100, 1)})
    assert len(run.merged_trace().events) == 9
    assert not len(Run("none", {}, traces={0: empty}).merged_trace().events)


def test_what_has_no_common_time_is_refused() -> None:
    cycles = protonlab.load(PROFILES / "instrumentation_3.9.0.chrome_trace.gz")
    with pytest.raises(ProtonLabError, match="the trace of rank 0 counts cycles of its own SMs"):
        Run("cycles", {}, traces={0: cycles}).merged_trace()  # type: ignore[dict-item]
    with pytest.raises(ProtonLabError, match="run 'run' has no trace of a rank; record with data="):
        Run.from_profiles({}).merged_trace()
