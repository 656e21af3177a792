"""Who may be waited for, by sums over the whole recording: less than arrivals can tell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from protonlab.model.collectives import collective_rows, together_rows
from protonlab.model.frames import FloatArray
from protonlab.model.lateness import lateness
from protonlab.model.outliers import OUTLYING, robust_z
from protonlab.model.rank_frames import RankFrames
from protonlab.model.stragglers import FEW_RANKS, LEAST_SHARE, Stragglers
from protonlab.model.trace import Trace
from protonlab.model.units import format_quantity

_ADVICE = "record with data='trace', which shows who comes when"
_SUMS = "sums over all steps hold the first one, which a session's start skews"


def kernel_totals(run: Mapping[int, Trace] | RankFrames) -> pd.DataFrame:
    """Sum the time of kernels on each rank, index ``rank``: ``compute_ns``, ``collective_ns``.

    Broadcasts, sends and receives are in neither: in them not every rank waits for all others.
    """
    if isinstance(run, RankFrames):
        rows = np.flatnonzero(run.kernel >= 0)
        time = run.table["time_ns"].to_numpy(np.float64, na_value=0.0)[rows]
        names = run.table["name"]
        sums = [
            np.bincount(run.place[rows], np.where(kept[rows], time, 0.0), len(run.ranks))
            for kept in (~collective_rows(names), together_rows(names))
        ]
        ranks = run.ranks
    else:
        ranks = tuple(sorted(run))
        pairs = [_of_trace(run[rank]) for rank in ranks]
        sums = [np.array([pair[side] for pair in pairs]) for side in (0, 1)]
    return pd.DataFrame(
        {"compute_ns": sums[0], "collective_ns": sums[1]}, index=pd.Index(ranks, name="rank")
    )


def _of_trace(trace: Trace) -> tuple[float, float]:
    events = trace.events
    kernels = (events["kind"] == "kernel").to_numpy() & (trace.unit == "ns")
    time = events[trace.duration].to_numpy(np.float64, na_value=0.0)
    apart, together = collective_rows(events["name"]), together_rows(events["name"])
    return float(time[kernels & ~apart].sum()), float(time[kernels & together].sum())


def judge_totals(totals: pd.DataFrame) -> Stragglers:
    """Judge by sums.

    Parameters
    ----------
    totals
        Result of `kernel_totals`.
    """
    compute = totals["compute_ns"].to_numpy()
    few = len(totals) < FEW_RANKS
    z = np.full(len(totals), np.nan) if few else robust_z(compute, floor=1e3)
    table = totals.assign(z=z)
    sentence, ranks = _judged(table) if len(table) > 1 else (_ONE_RANK, ())
    return Stragglers(
        *(sentence, ranks, "totals", table),
        *("rank", len(table), pd.DataFrame(columns=["step", "label", *table.index])),
    )


_ONE_RANK = "Cannot tell who is waited for: there is one rank."


def _judged(table: pd.DataFrame) -> tuple[str, tuple[int, ...]]:
    compute, inside = table["compute_ns"].to_numpy(), table["collective_ns"].to_numpy()
    ranks = [int(rank) for rank in table.index]
    more = -lateness(compute[None])[0]  # than the median of the others
    busy = int(more.argmax())
    stands_out = more[busy] >= LEAST_SHARE * float(np.median(compute + inside)) and (
        len(ranks) < FEW_RANKS or table["z"].iloc[busy] >= OUTLYING
    )
    longer = (
        f"rank {ranks[busy]} computes {_time(more[busy])} longer than "
        f"{_others(ranks)} ({_percent(more[busy], compute[busy] - more[busy])}{_z(table, busy)})"
    )
    if not inside.any():
        tail = f" By the time of kernels, {longer}." if stands_out else (
            f" By the time of kernels none of {len(ranks)} ranks stands out."
        )  # fmt: skip
        return (
            "Cannot tell who is waited for: no all-reduce, all-gather or reduce-scatter of NCCL's "
            f"was recorded (gloo's run on the CPU, where Proton does not see them).{tail}"
        ), ()
    least = int(inside.argmin())
    less = lateness(inside[None])[0][least]
    held = less >= LEAST_SHARE * float(np.median(compute + inside))
    shortest = (
        f"rank {ranks[least]} was in collectives for {_time(inside[least])}, {_time(less)} less "
        f"than {_others(ranks)}"
    )
    if stands_out and held and busy == least:
        return (
            f"Rank {ranks[busy]} is probably waited for: {longer}, and is in collectives for "
            f"{_time(less)} less (n = {len(ranks)} ranks); {_SUMS}, so to be sure {_ADVICE}."
        ), (ranks[busy],)
    if stands_out and held:
        return f"Cannot tell who is waited for: {longer}, but {shortest}; {_SUMS}; {_ADVICE}.", ()
    if held:
        return (
            f"Cannot tell who is waited for: {shortest}, as a rank is that the others wait for, "
            f"and computes no longer; its CPU may be late, but {_SUMS}; {_ADVICE}."
        ), ()
    if stands_out:
        return (
            f"Cannot tell who is waited for: {longer}, but is in collectives as long as the "
            f"others; {_ADVICE}."
        ), ()
    return (
        f"No rank is waited for more than the others, as far as sums can tell: their kernels "
        f"differ by less than {100 * LEAST_SHARE:g} % of the time (n = {len(ranks)} ranks)."
    ), ()


def _others(ranks: list[int]) -> str:
    return "the other rank" if len(ranks) == 2 else "the median of the others"


def _time(value: FloatArray | float) -> str:
    return format_quantity(float(value) * 1e-9, "s")


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "all of it"


def _z(table: pd.DataFrame, place: int) -> str:
    z = float(table["z"].iloc[place])
    return "" if np.isnan(z) else f", z = {z:.1f}"
