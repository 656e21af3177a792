"""What a reader should know before comparing ranks with each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from protonlab.model.clocks import IDLE, STEADY
from protonlab.model.none_kept import why_none_kept
from protonlab.model.profile import Profile
from protonlab.model.rank_frames import RankFrames
from protonlab.model.sentences import on_ranks, printable, some
from protonlab.model.trace import Trace
from protonlab.model.units import counted

_MOST_NAMES = 4


def notes_on_run(run: Any, frames: RankFrames | None) -> Iterator[str]:
    """Say what makes the ranks of a `Run` hard to compare, one sentence each.

    Parameters
    ----------
    run
        The run.
    frames
        Its frames; None where no rank left a profile.
    """
    silent = [rank for rank in run.missing if rank not in run.manifests]  # warnings tell of others
    if silent:
        job = counted(run.world_size, "rank")
        yield f"Nothing of {on_ranks(silent)} is here, and the job had {job}."
    if len(run.ranks) == 1:
        yield f"One rank, {run.ranks[0]}: there is no other to compare it with."
    parts = {rank: run.profiles.get(rank) or run.traces[rank] for rank in run.ranks}
    if frames is not None and not frames.table["kind"].eq("kernel").any():
        yield "No kernel was launched."
    yield from _own_notes({rank: _notes_of(part) for rank, part in parts.items()})
    yield from _versions({rank: part.info.versions for rank, part in parts.items()})
    yield from _differing("The GPU", {rank: part.info.gpu for rank, part in parts.items()})
    yield from _differing("context", {rank: part.info.context for rank, part in parts.items()})
    filters = {
        rank: f"include={part.info.include} exclude={part.info.exclude}"
        for rank, part in parts.items()
    }
    yield from _differing("The filter", filters)
    steps = {
        rank: counted(manifest.steps, "step")
        for rank, manifest in run.manifests.items()
        if rank in parts and manifest.steps is not None
    }
    for sentence in _differing("What was recorded", steps):
        yield f"{sentence} Times are sums over them; avg_time/us compares a launch with a launch."
    yield from _clocks(run)
    if frames is not None and len(frames.ranks) > 1:
        yield from _kernels(frames)


def _differing(what: str, of_rank: Mapping[int, Hashable]) -> Iterator[str]:
    """Say which ranks have which value, where they are not all the same; the most common first."""
    ranks: defaultdict[Hashable, list[int]] = defaultdict(list)
    for rank, value in of_rank.items():
        if value:
            ranks[value].append(rank)
    if len(ranks) > 1:
        most = sorted(ranks.items(), key=lambda item: -len(item[1]))
        parts = [f"{value} on {on_ranks(who)}" for value, who in most]
        yield f"{what} is not the same everywhere: {some(parts, _MOST_NAMES)}."


def _notes_of(part: Profile | Trace) -> Sequence[str]:
    """Take what a rank's recording says, and why its filter let nothing through."""
    if isinstance(part, Profile):
        return (*(f"{why}." for why in why_none_kept(part)), *part.info.notes)
    return part.info.notes


def _own_notes(of_rank: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Say what the ranks' own recordings say, once for all ranks that say the same."""
    ranks: defaultdict[str, list[int]] = defaultdict(list)
    for rank, notes in of_rank.items():
        for note in notes:
            ranks[note].append(rank)
    for note, who in ranks.items():
        yield note if len(who) == len(of_rank) else f"{on_ranks(who).capitalize()}: {note}"


def _versions(of_rank: Mapping[int, Mapping[str, str]]) -> Iterator[str]:
    for package in sorted({name for versions in of_rank.values() for name in versions}):
        found = {rank: versions.get(package, "") for rank, versions in of_rank.items()}
        yield from _differing(f"The version of {package}", found)


def _clocks(run: Any) -> Iterator[str]:
    """Name ranks whose SM clock at the end lay more than 3 % below the median of all."""
    clocks: dict[int, float] = {}
    for rank in run.ranks:
        manifest = run.manifests.get(rank)
        stated = manifest.clocks.get("sm_mhz") if manifest else None
        part = run.profiles.get(rank) or run.traces[rank]
        busy = [
            each.sm_mhz for each in part.info.clocks if each.sm_mhz and IDLE not in each.throttle
        ]
        if busy:
            clocks[rank] = float(np.median(busy))
        elif isinstance(stated, (int, float)) and stated > 0:
            clocks[rank] = float(stated)
    if len(clocks) < 2:
        return
    middle = float(np.median([*clocks.values()]))
    slow = [rank for rank, clock in clocks.items() if clock < middle * (1 - STEADY)]
    if slow:
        least = min(clocks[rank] for rank in slow)
        yield (
            f"The SM clock of {on_ranks(slow)} was low, down to {least:.0f} MHz where the median "
            f"of {counted(len(clocks), 'rank')} is {middle:.0f} MHz."
        )


def _kernels(frames: RankFrames) -> Iterator[str]:
    """Say which kernels ran on some ranks alone."""
    rows = np.flatnonzero(frames.kernel >= 0)
    pairs = np.unique(frames.kernel[rows] * len(frames.ranks) + frames.place[rows])
    kernel, place = np.divmod(pairs, len(frames.ranks))
    number = np.bincount(kernel)
    some = np.flatnonzero((number > 0) & (number < len(frames.ranks)))
    if not len(some):
        return
    names = frames.table["name"].cat.categories
    codes, rows = np.unique(frames.kernel, return_index=True)
    first = dict(zip(codes.tolist(), rows.tolist(), strict=True))
    parts = []
    for code in some[:_MOST_NAMES].tolist():
        who = [frames.ranks[at] for at in place[kernel == code].tolist()]
        label = str(frames.table["label"].iloc[first[code]]) or str(names[code])
        parts.append(f"{printable(label)} on {on_ranks(who)}")
    more = f", and {len(some) - _MOST_NAMES} more" if len(some) > _MOST_NAMES else ""
    every = int((number > 0).sum())
    yield (
        f"Of {counted(every, 'kernel')}, {len(some)} ran on some ranks alone: "
        f"{'; '.join(parts)}{more}."
    )
