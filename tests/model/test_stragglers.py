"""Who is waited for: the truth on runs worked out by hand, and on two H200s."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rank_builders import NCCL, profiled_run, stepped_run, trace_of, traced_run

import protonlab
from protonlab import ProtonLabError, Run
from protonlab.model.collectives import collectives_of, is_collective, operation_of

PROFILES = Path(__file__).parents[1] / "profiles"


def real(kind: str) -> dict[int, object]:
    ends = {"": "hatchet", "trace_": "chrome_trace.gz"}[kind]
    return {
        rank: protonlab.load(PROFILES / f"ddp_{kind}rank{rank}_3.9.0.{ends}") for rank in (0, 1)
    }


def test_on_two_h200s_the_slowed_rank_is_found_by_the_traces() -> None:
    found = Run("ddp", real(""), traces=real("trace_")).stragglers()  # type: ignore[arg-type]
    assert found.ranks == (1,)
    assert found.source == "traces"
    assert found.verdict.startswith(
        "Rank 1 is probably waited for: it came last to 16 of 16 collectives of 2 steps, 3.20 ms a "
        "step after the other rank"
    )
    assert found.verdict.endswith("; only 2 steps, record more to be sure.")
    assert "in slow_data (+4.00 ms)" in found.notes[0]
    # What rank 0 was in the all-reduces of the second and third step more than rank 1, by hand.
    assert found.table.loc[1, "late_ns"] == (2_916_146 + 3_491_467) / 2
    assert found.table.loc[0, "waited_ns"] == (2_916_146 + 3_491_467) / 2
    assert found.unit == "step"
    assert found.n == 2


def test_with_the_first_step_the_same_traces_tell_nothing() -> None:
    found = Run("ddp", {}, traces=real("trace_")).stragglers(skip=0)  # type: ignore[arg-type]
    assert found.ranks == ()


def test_leaving_all_steps_out_leaves_nothing_to_tell() -> None:
    found = Run("ddp", {}, traces=real("trace_")).stragglers(skip=3)  # type: ignore[arg-type]
    assert not found.known
    assert "of 3 steps none is left without the first 3" in repr(found)
    assert [*found.table] == ["late_ns", "waited_ns", "last", "z"]


def test_the_sums_of_the_same_run_contradict_themselves() -> None:
    found = Run("ddp", real("")).stragglers()  # type: ignore[arg-type]
    assert not found.known
    assert found.verdict.startswith(
        "Cannot tell who is waited for: rank 1 computes 5.12 ms longer than the other rank (14 %), "
        "but rank 0 was in collectives for 20.6 ms, 60.4 ms less"
    )
    assert "record with data='trace'" in found.verdict


@pytest.mark.parametrize(
    ("ranks", "seed"), [*((ranks, seed) for ranks in (2, 3, 4, 5, 8) for seed in (0, 1)), (64, 0)]
)
def test_a_known_straggler_is_found(ranks: int, seed: int) -> None:
    slow = ranks - 2
    found = traced_run(ranks, late_ns={slow: 300_000}, seed=seed).stragglers()
    assert found.ranks == (slow,)
    assert found.verdict.startswith(f"Rank {slow} is waited for: it came last to ")
    # Four collectives a step, each 0.3 ms late, against noise of 0.05 ms.
    assert found.table.loc[slow, "late_ns"] == pytest.approx(1.2e6, rel=0.1)
    assert found.n == 9


@pytest.mark.parametrize(("ranks", "runs"), [(2, 12), (3, 8), (5, 8), (8, 6), (64, 1)])
def test_where_nobody_is_late_nobody_is_named(ranks: int, runs: int) -> None:
    named = [seed for seed in range(runs) if traced_run(ranks, seed=seed).stragglers().ranks]
    assert named == []
    assert traced_run(ranks).stragglers().verdict.startswith("No rank is waited for more than")


def test_two_late_ranks_of_many_are_both_found() -> None:
    found = traced_run(16, late_ns={3: 400_000, 9: 600_000}).stragglers()
    assert found.ranks == (9, 3)
    assert found.verdict.startswith("Ranks 3, 9 are waited for: rank 9, the latest, came last to")
    assert found.table.loc[9, "z"] > found.table.loc[3, "z"] > 3.5


def test_a_rank_late_in_some_steps_only_is_found() -> None:
    run = traced_run(8, steps=30, noise_ns=20_000)
    traces = dict(run.traces)
    found = collectives_of(traces)
    start, end = found.start.copy(), found.end.copy()
    for step in (5, 11, 17, 23, 28):  # rank 6 loads data for 20 ms before these
        rows = found.step == step
        end[found.step >= step] += 20_000_000
        start[found.step > step] += 20_000_000
        start[rows, 6] += 20_000_000
    late = {rank: trace_of(start[:, at], end[:, at], 30) for at, rank in enumerate(found.ranks)}
    assert Run("some", {}, traces=late).stragglers().ranks == (6,)


def test_a_late_rank_costs_too_little_to_name() -> None:
    found = traced_run(8, late_ns={2: 10_000}, noise_ns=1_000).stragglers()
    assert found.ranks == ()
    assert found.known
    assert found.verdict.endswith("too little to matter.")
    assert found.table.loc[2, "late_ns"] == pytest.approx(40_000, rel=0.3)


def test_without_steps_a_quarter_of_the_collectives_is_left_out() -> None:
    run = traced_run(4, late_ns={1: 300_000}, scope="")
    found = run.stragglers()
    assert found.ranks == (1,)
    assert found.verdict.startswith("Rank 1 is probably waited for: it came last to ")
    assert found.verdict.endswith("; to be sure, record with a scope round each step.")
    assert (found.unit, found.n) == ("collective", 30)
    assert any("the first 10 of 40 collectives were left out" in note for note in found.notes)


def test_one_step_is_too_few() -> None:
    found = traced_run(2, steps=2, late_ns={1: 10_000_000}, collectives=1).stragglers()
    assert found.verdict == (
        "Cannot tell who is waited for: 1 collective of 1 step is too few; record more steps."
    )


def test_clocks_that_jump_do_not_change_the_verdict() -> None:
    found = traced_run(8, late_ns={5: 300_000}, jumps={3: 5_000_000}).stragglers()
    assert found.ranks == (5,)
    assert "The clock of rank 3 jumped once, by up to 5" in " ".join(found.notes)
    first = traced_run(8, jumps={0: 5_000_000}).stragglers()
    assert "The clock of rank 0 jumped once, by up to 5" in " ".join(first.notes)


def test_groups_that_talk_apart_are_not_taken_for_one() -> None:
    one, other = traced_run(2, seed=1), traced_run(2, step_ns=10_500_000, seed=2)
    found = Run("apart", {}, traces={0: one.traces[0], 1: other.traces[1]}).stragglers()
    assert not found.known
    assert "do not end together" in found.verdict


def test_launches_that_do_not_match_are_left_out_and_said_so() -> None:
    times = np.arange(1, 41) * 1_000_000
    ranks = {
        0: trace_of(times, times + 100_000, 10),
        1: trace_of(times[:36], times[:36] + 100_000, 9),
    }
    found = Run("uneven", {}, traces=ranks).stragglers()
    assert found.source == "totals"
    assert f"{NCCL} was left out: ranks launched it 36 to 40 times" in found.notes[0]


def test_operations_in_which_ranks_need_not_wait_are_left_out() -> None:
    times = np.arange(1, 41) * 1_000_000
    name = "ncclDevKernel_SendRecv"
    ranks = {rank: trace_of(times, times + 100_000, 10, kernel_name=name) for rank in (0, 1)}
    found = Run("pairs", {}, traces=ranks).stragglers()
    assert "in it not every rank waits for all others" in found.notes[0]


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_sums_find_a_rank_that_computes_longer_and_waits_less(ranks: int) -> None:
    found = profiled_run(ranks, slow={1: 1.1}).stragglers()
    assert found.ranks == (1,)
    assert found.source == "totals"
    assert found.verdict.startswith("Rank 1 is probably waited for: rank 1 computes ")
    assert found.table.loc[1, "compute_ns"] == pytest.approx(7.7e6, rel=0.01)
    assert "matmul in forward" in found.notes[0]


def test_sums_without_a_straggler_name_nobody() -> None:
    named = [seed for seed in range(10) if profiled_run(8, seed=seed).stragglers().ranks]
    assert named == []


@pytest.mark.parametrize("ranks", [2, 8])
def test_profiles_that_tell_steps_apart_find_a_straggler(ranks: int) -> None:
    found = stepped_run(ranks, late_ns={1: 400_000}).stragglers()
    assert found.ranks == (1,)
    assert (found.source, found.unit, found.n) == ("steps", "step", 9)
    assert found.verdict.startswith("Rank 1 is waited for: it waited least in 9 of 9 steps, ")
    assert found.table.loc[1, "late_ns"] == pytest.approx(400_000, rel=0.2)
    assert found.table.loc[1, "compute_ns"] == 5_400_000
    assert "matmul in forward (+4.00 ms)" in found.notes[0]
    # In the first step, which is in the sums, start-up had spread the ranks by up to 50 ms.
    assert found.waits[1].iloc[0] != 0 or found.waits[0].iloc[0] != 0


def test_steps_without_a_straggler_name_nobody() -> None:
    named = [seed for seed in range(2) if stepped_run(4, seed=seed).stragglers().ranks]
    assert named == []
    few = stepped_run(2, steps=2, late_ns={1: 400_000}).stragglers()
    assert few.verdict == ("Cannot tell who is waited for: 1 step is too few; record more steps.")


def test_a_rank_that_was_ended_early_takes_its_steps_out_of_all() -> None:
    whole = stepped_run(2, late_ns={1: 400_000})
    short = stepped_run(2, steps=7, late_ns={1: 400_000})
    run = Run.from_profiles({0: whole.profiles[0], 1: short.profiles[1]})
    found = run.stragglers()
    assert (found.source, found.n) == ("steps", 6)
    assert "Steps from 7 on, which not every rank has, were left out." in found.notes


def test_gloo_leaves_no_collective_kernel_and_that_is_said() -> None:
    found = profiled_run(4, slow={2: 2.0}, nccl=False).stragglers()
    assert not found.known
    assert found.ranks == ()
    assert (
        "no all-reduce, all-gather or reduce-scatter of NCCL's was recorded (gloo's run on the CPU"
        in (found.verdict)
    )
    assert "rank 2 computes 7.0" in found.verdict


def test_one_rank_waits_for_nobody() -> None:
    found = profiled_run(1).stragglers()
    assert found.verdict == "Cannot tell who is waited for: there is one rank."
    assert "one rank" in traced_run(1).stragglers().verdict


def test_bad_input_is_answered() -> None:
    with pytest.raises(ProtonLabError, match="skip=-1; give a number of steps, 0 or more"):
        profiled_run(2).stragglers(skip=-1)
    with pytest.raises(ProtonLabError, match="run 'none' holds nothing of any rank"):
        Run("none", {}).stragglers()


def test_it_shows_itself_as_text_and_html() -> None:
    found = traced_run(4, late_ns={1: 300_000}).stragglers()
    assert repr(found).splitlines()[0] == found.verdict
    page = found._repr_html_()
    assert f"<b>{found.verdict}</b>" in page
    assert "1.2" in page


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        (NCCL, "AllReduce"),
        ("_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorage", "AllReduce"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "AllReduce"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgs)", "ReduceScatter"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "Reduce"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgs)", "SendRecv"),
        ("ncclDevKernel_Generic(ncclDevKernelArgs)", ""),
    ],
)
def test_collectives_are_known_by_their_names(name: str, operation: str) -> None:
    assert is_collective(name)
    assert operation_of(name) == operation


@pytest.mark.parametrize("name", ["reduce_kernel<sum_functor>", "nvjet_sm90", "all_reduce_triton"])
def test_other_kernels_are_no_collectives(name: str) -> None:
    assert not is_collective(name)
