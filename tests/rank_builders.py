"""Runs whose truth is known: seeded, of any number of ranks, with a straggler or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from builders import document, frame, kernel

from protonlab import Run, Trace
from protonlab.formats import read_profile
from protonlab.model.frames import HOOK_STATES
from protonlab.model.merging import merged
from protonlab.model.trace import EVENT_KINDS, Lane

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
_TRANSFER_NS = 150_000


def trace_of(
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    steps: int,
    *,
    kernel_name: str = NCCL,
    scope: str = "step",
    base: int | None = 10**18,
) -> Trace:
    """A trace of collectives, each after a matmul of 1 ms, within `steps` scopes of the CPU."""
    each = len(starts) // max(steps, 1)
    firsts = starts[::each][:steps] if steps else starts[:0]
    n = len(starts)
    rows = {
        "name": [*[scope] * len(firsts), *["matmul"] * n, *[kernel_name] * n],
        "kind": [*["scope"] * len(firsts), *["kernel"] * 2 * n],
        "lane": [*[0] * len(firsts), *[1] * n, *[2] * n],
        "start_ns": np.concatenate([firsts - 2_000_000, starts - 1_000_000, starts]),
        "duration_ns": np.concatenate(
            [np.full(len(firsts), 5_000_000), np.full(n, 1_000_000), ends - starts]
        ),
    }
    inside = ("ROOT", scope) if steps else ("ROOT",)
    path = [*[("ROOT", scope)] * len(firsts), *[(*inside, "matmul")] * n]
    path += [(*inside, kernel_name)] * n
    table = pd.DataFrame(rows).assign(path=path).rename_axis("event_id")
    table["label"] = table["name"]
    table = table.astype({"name": "category", "label": "category", "duration_ns": "Int64"})
    table["kind"] = pd.Categorical(table["kind"], list(EVENT_KINDS))
    table["kernel"] = pd.Categorical([None] * len(table))
    table["hook"] = pd.Categorical([None] * len(table), list(HOOK_STATES))
    table["to_lane"] = table["flow_id"] = pd.Series(pd.NA, index=table.index, dtype="Int64")
    lanes = (
        Lane("CPU Thread 0", 0, 0, 0),
        Lane("GPU Stream 7", 0, 7, 7),
        Lane("GPU Stream 17", 0, 17, 17),
    )
    return Trace(table, lanes, base_time_ns=base)


def traced_run(
    ranks: int,
    *,
    steps: int = 10,
    collectives: int = 4,
    late_ns: Mapping[int, float] | None = None,
    noise_ns: float = 50_000,
    offsets: Sequence[int] | None = None,
    jumps: Mapping[int, int] | None = None,
    seed: int = 0,
    scope: str = "step",
    first_step_ns: float = 30_000_000,
    step_ns: int = 10_000_000,
) -> Run:
    """Traces of a run of which it is known who comes late.

    Parameters
    ----------
    late_ns
        Rank -> how much later than the others it comes to each step's collectives.
    noise_ns
        Standard deviation of every arrival.
    offsets
        What each rank's clock shows when the first rank's shows 0; drawn when left out.
    jumps
        Rank -> by how much its clock jumps half way.
    first_step_ns
        How far start-up spreads the arrivals at the first step.
    """
    random = np.random.default_rng(seed)
    number = steps * collectives
    begin = np.repeat(np.arange(steps), collectives) * step_ns
    begin += np.tile(np.arange(collectives), steps) * 1_500_000 + 3_000_000
    begin[collectives:] += int(first_step_ns)
    arrival = begin[:, None] + random.normal(0, noise_ns, (number, ranks))
    arrival[:collectives] += random.uniform(0, first_step_ns, ranks)
    for rank, late in (late_ns or {}).items():
        arrival[:, rank] += late
    end = arrival.max(axis=1) + _TRANSFER_NS
    clock = np.array(offsets if offsets is not None else random.integers(-(10**9), 10**9, ranks))
    clock[0] = 0
    traces = {}
    for rank in range(ranks):
        shift = np.full(number, clock[rank])
        shift[number // 2 :] += (jumps or {}).get(rank, 0)
        # Two GPUs see the end of one collective some microseconds apart.
        seen = end + random.normal(0, 3_000, number)
        traces[rank] = trace_of(
            (arrival[:, rank] + shift).astype(np.int64),
            (seen + shift).astype(np.int64),
            steps if scope else 0,
            scope=scope,
        )
    return Run("synthetic", {}, traces=traces)


def profiled_run(
    ranks: int, *, slow: Mapping[int, float] | None = None, nccl: bool = True, seed: int = 0
) -> Run:
    """Profiles of a run: a slow rank's kernels take longer, and it waits less in collectives."""
    random = np.random.default_rng(seed)
    profiles = {}
    for rank in range(ranks):
        factor = (slow or {}).get(rank, 1.0)
        times = (random.normal(1, 0.002, 3) * [4e6, 2e6, 1e6] * factor).astype(int).tolist()
        forward = frame("forward", kernel("matmul", times[0], 40), kernel("norm", times[1], 80))
        below = [kernel("matmul", times[2], 20)]
        if nccl:
            waits = int(max(8e6 - 7e6 * factor, 1e5) + random.normal(0, 5_000))
            below.append(kernel(NCCL, waits, 10))
        profiles[rank] = read_profile(document(frame("step", forward, frame("backward", *below))))
    return Run.from_profiles(profiles, name="synthetic")


def stepped_run(
    ranks: int,
    *,
    steps: int = 10,
    late_ns: Mapping[int, float] | None = None,
    noise_ns: float = 50_000,
    seed: int = 0,
) -> Run:
    """Profiles that tell steps apart; a late rank waits less, and the first step is skewed."""
    random = np.random.default_rng(seed)
    arrival = random.normal(0, noise_ns, (steps, ranks))
    arrival[0] += random.uniform(0, 50_000_000, ranks)
    for rank, late in (late_ns or {}).items():
        arrival[1:, rank] += late
    inside = arrival.max(axis=1, keepdims=True) - arrival + _TRANSFER_NS
    profiles = {}
    for rank in range(ranks):
        late = (late_ns or {}).get(rank, 0.0)
        parts = [
            (
                step,
                read_profile(
                    document(
                        frame("forward", kernel("matmul", int(5e6 + late), 10)),
                        frame("backward", kernel(NCCL, int(inside[step, rank]), 4)),
                    )
                ),
            )
            for step in range(steps)
        ]
        profiles[rank] = merged(parts)
    return Run.from_profiles(profiles, name="synthetic")
