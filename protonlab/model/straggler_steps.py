"""Who is waited for, by what each step took: profiles that tell steps apart, as repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from protonlab.model.collectives import collective_rows, together_rows
from protonlab.model.frames import FloatArray
from protonlab.model.lateness import Lateness, Wording
from protonlab.model.profile import Profile
from protonlab.model.sentences import printable
from protonlab.model.stragglers import Stragglers
from protonlab.model.units import counted

_FEW_STEPS = 3
_WORDING = Wording("step", "step", "waited least in", "less than", _FEW_STEPS)


def judge_steps(profiles: Mapping[int, Profile], skip: int) -> Stragglers | None:
    """Judge by the time that each rank spent in collectives, step by step.

    Parameters
    ----------
    profiles
        Rank -> profile.
    skip
        How many steps to leave out at the beginning.

    Returns
    -------
    Stragglers or None
        None where a profile does not tell steps apart, too few are left, or no rank was in a
        collective. Steps that a rank has not got are left out.
    """
    ranks = tuple(sorted(profiles))
    numbers = [profile.repeats.number if profile.repeats else 0 for profile in profiles.values()]
    shared = min(numbers, default=0)  # a rank that was ended early has fewer
    if len(ranks) < 2 or shared <= skip:
        return None
    times = [_times(profiles[rank]) for rank in ranks]
    compute, inside = (np.stack([pair[side][:shared] for pair in times], axis=1) for side in (0, 1))
    if not inside.any():
        return None
    waits = inside - inside.min(axis=1, keepdims=True)
    every = pd.DataFrame({"step": range(len(waits)), "label": "collectives"})
    for place, rank in enumerate(ranks):
        every[rank] = waits[:, place]
    # How long a step takes is not in sums of kernels; what they take together comes near.
    unit_ns = float(np.median((compute + inside)[skip:]))
    found = Lateness(ranks, waits[skip:], np.arange(len(waits) - skip), unit_ns, _WORDING)
    apart = _apart([_launches(profiles[rank], shared) for rank in ranks], shared)
    were = "first step was" if skip == 1 else f"first {skip} steps were"
    notes = [f"The {were} left out: a session's start skews ranks."] if skip else []
    if shared < max(numbers):
        notes.append(f"Steps from {shared} on, which not every rank has, were left out.")
    table = found.table.assign(
        compute_ns=compute[skip:].mean(axis=0), collective_ns=inside[skip:].mean(axis=0)
    )
    sentence = f"Cannot tell who is waited for: {apart}" if apart else found.sentence
    return Stragglers(
        sentence,
        () if apart else found.found,
        "steps",
        table,
        "step",
        len(found.late),
        every,
        tuple(notes),
    )


def _times(profile: Profile) -> tuple[FloatArray, FloatArray]:
    """Time of kernels in each step, computing and in collectives, in ns, shape (steps,) each."""
    assert profile.repeats is not None
    frames, values = profile.frames, profile.repeats.values
    kernels = (frames["kind"] == "kernel").to_numpy()
    apart, together = collective_rows(frames["name"]), together_rows(frames["name"])
    frame = values["frame_id"].to_numpy(np.int64)
    step = values["repeat"].to_numpy(np.int64)
    time = values["time_ns"].to_numpy(np.float64, na_value=0.0)
    compute = np.where((kernels & ~apart)[frame], time, 0.0)
    inside = np.where((kernels & together)[frame], time, 0.0)
    number = profile.repeats.number
    sums = [np.bincount(step, each, number).astype(np.float64) for each in (compute, inside)]
    return sums[0], sums[1]


def _launches(profile: Profile, steps: int) -> pd.Series:
    """How often each collective was launched in the first steps, index label."""
    assert profile.repeats is not None
    frames, values = profile.frames, profile.repeats.values
    rows = values[(values["repeat"] < steps).to_numpy()]
    frame = rows["frame_id"].to_numpy(np.int64)
    kept = together_rows(frames["name"])[frame]
    labels = frames["label"].astype(object).to_numpy()[frame[kept]]
    counts: pd.Series = rows.loc[kept, "count"].astype(np.float64).groupby(labels).sum()
    return counts


def _apart(launches: Sequence[pd.Series], steps: int) -> str:
    """Say that ranks launched not the same collectives, if so."""
    table = pd.concat(list(launches), axis=1).fillna(0.0)
    uneven = table.index[table.min(axis=1) < table.max(axis=1)]
    if not len(uneven):
        return ""
    low, high = int(table.loc[uneven[0]].min()), int(table.loc[uneven[0]].max())
    return (
        f"ranks launched {printable(str(uneven[0]))} {low:,} to {high:,} times in "
        f"{counted(steps, 'step')}, so groups of ranks talk apart. Give the ranks of one: "
        "stragglers(ranks=[0, 1])."
    )
