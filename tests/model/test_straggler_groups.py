"""Jobs whose ranks talk in groups: made of the recorded run of two GPUs, seeded.

Each step has eight layers of kernels whose times are drawn from the recorded ones, a collective of
tensor parallelism behind each, and one of data parallelism at the end. A collective ends when the
last rank of its group has come and the transfer, one of the recorded, is over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from builders import document, frame, kernel
from rank_builders import NCCL, trace_of

from protonlab import ProtonLabError, Run, recorded
from protonlab.formats import read_profile
from protonlab.model.collectives import collective_rows, collectives_of
from protonlab.model.merging import merged

Groups = Sequence[Sequence[int]]
LAYERS = 8


@cache
def real() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Times of recorded kernels, and of the transfers of recorded all-reduces, in ns."""
    traces = recorded.ddp_two_gpus().traces
    events = traces[0].events
    rows = (events["kind"] == "kernel").to_numpy() & ~collective_rows(events["name"])
    times = events["duration_ns"].to_numpy(np.float64, na_value=0.0)[rows]
    return times, collectives_of(traces).duration.min(axis=1).astype(np.float64)


def grouped_run(
    tensor: Groups, data: Groups = (), *, late_ns: Mapping[int, float] | None = None, seed: int = 0
) -> Run:
    """Traces of ten steps; a late rank computes longer in every layer."""
    times, transfers = real()
    random = np.random.default_rng(seed)
    ranks = sum(map(len, tensor))
    now = random.uniform(0, 30e6, ranks)
    start: list[list[float]] = [[] for _ in range(ranks)]
    end: list[list[float]] = [[] for _ in range(ranks)]

    def meet(groups: Groups) -> None:
        for group in map(list, groups):
            gone = now[group].max() + random.choice(transfers)
            for rank in group:
                start[rank].append(now[rank])
                end[rank].append(gone + random.normal(0, 3_000))
            now[group] = gone + 20_000

    for _ in range(10):
        for _ in range(LAYERS):
            now += (random.choice(times, 6).sum() + 1.2e6) * random.normal(1, 0.02, ranks)
            for rank, late in (late_ns or {}).items():
                now[rank] += late / LAYERS
            meet(tensor)
        now += 1e6
        meet(data)
    clock = random.integers(-(10**9), 10**9, ranks)
    traces = {
        rank: trace_of(
            *((np.array(side[rank]) + clock[rank]).astype(np.int64) for side in (start, end)), 10
        )
        for rank in range(ranks)
    }
    return Run("groups", {}, traces=traces)


TWO_BY_TWO = ([[0, 1], [2, 3]], [[0, 2], [1, 3]])
FOUR_BY_TWO = ([range(4), range(4, 8)], [[rank, rank + 4] for rank in range(4)])
TWO_BY_EIGHT = ([[rank, rank + 1] for rank in range(0, 16, 2)], [range(0, 16, 2), range(1, 16, 2)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("groups", "late", "own"),
    [
        (([[0, 1], [2, 3]],), 1, [0, 1]),  # groups that never meet
        (TWO_BY_TWO, 1, [0, 1]),
        (FOUR_BY_TWO, 5, range(4, 8)),
        (TWO_BY_EIGHT, 5, [4, 5]),
    ],
)
def test_nothing_is_claimed_of_groups_and_within_one_the_late_rank_is_found(
    groups: tuple[Groups, ...], late: int, own: Sequence[int], seed: int
) -> None:
    run = grouped_run(*groups, late_ns={late: 1e6}, seed=seed)
    found = run.stragglers()
    assert not found.known
    assert found.ranks == ()
    assert "groups of ranks may talk apart" in found.verdict
    within = run.stragglers(ranks=own)
    assert within.ranks == (late,)
    assert list(within.table.index) == list(own)


def test_the_groups_are_named_by_which_ranks_leave_together() -> None:
    verdict = grouped_run(*FOUR_BY_TWO, late_ns={5: 1e6}).stragglers().verdict
    assert verdict.endswith(
        "Ranks 0 to 3 leave most of theirs together (one of 2 such groups); "
        "stragglers(ranks=range(0, 4)) judges these alone."
    )
    verdict = grouped_run(*TWO_BY_TWO, late_ns={1: 1e6}).stragglers().verdict
    assert "stragglers(ranks=[0, 1])" in verdict


@pytest.mark.parametrize("groups", [([range(4)],), TWO_BY_TWO, FOUR_BY_TWO, TWO_BY_EIGHT])
def test_no_rank_of_groups_is_named_without_a_straggler(groups: tuple[Groups, ...]) -> None:
    assert not [seed for seed in range(5) if grouped_run(*groups, seed=seed).stragglers().ranks]


def pipeline(shares: Sequence[float], *, send_ns: float = 0.0, launches: Sequence[int]) -> Run:
    """Profiles of ten steps: stages whose all-reduces differ, which send and receive."""
    random = np.random.default_rng(0)
    profiles = {}
    for rank, share in enumerate(shares):
        parts = []
        for step in range(10):
            inside = kernel(NCCL, int(1e6 * share + random.normal(0, 5_000)), launches[rank])
            send = kernel("ncclDevKernel_SendRecv", int(send_ns * (rank + 1)), 8)
            forward = frame("forward", kernel("matmul", 8_000_000, 10))
            parts.append((step, read_profile(document(forward, frame("backward", inside, send)))))
        profiles[rank] = merged(parts)
    return Run.from_profiles(profiles)


def test_stages_that_launch_other_collectives_are_not_taken_for_stragglers() -> None:
    run = pipeline([1, 1, 1, 1, 1, 0.5], launches=[8, 8, 8, 8, 8, 4])
    found = run.stragglers()
    assert found.source == "steps"
    assert found.verdict == (
        f"Cannot tell who is waited for: ranks launched {NCCL} 40 to 80 times in 10 steps, so "
        "groups of ranks talk apart. Give the ranks of one: stragglers(ranks=[0, 1])."
    )
    assert not found.known
    assert run.stragglers(ranks=range(5)).verdict.startswith("No rank is waited for")


def test_what_pairs_of_ranks_wait_in_counts_for_nobody() -> None:
    found = pipeline([1] * 6, send_ns=2e6, launches=[8] * 6).stragglers()
    assert found.source == "steps"
    assert found.verdict.startswith("No rank is waited for")
    assert found.table["collective_ns"].to_numpy() == pytest.approx(1e6, rel=0.01)


@pytest.mark.parametrize("ranks", [[1, 9], [], 1, "all"])
def test_ranks_that_are_not_there_are_named(ranks: Any) -> None:
    run = pipeline([1, 1], launches=[8, 8])
    with pytest.raises(ProtonLabError, match=rf"ranks={re.escape(repr(ranks))}; give some of"):
        run.stragglers(ranks=ranks)
