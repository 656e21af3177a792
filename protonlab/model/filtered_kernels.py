"""Kernels that the filter of one session rejected and that of another kept: one name for both.

A launch that a filter rejects never has its metadata evaluated, so it is recorded under its
compiled name; one that is kept has the names that its metadata gives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from protonlab.model.frames import text_column
from protonlab.model.merging import merged, places
from protonlab.model.profile import Profile
from protonlab.model.repeats import Repeats


def filtered_alone(profiles: Iterable[Profile], others: Iterable[Profile]) -> tuple[str, ...]:
    """Compiled names of kernels that filters rejected in `profiles` and kept in `others`."""
    rejected = _names(profiles, "filtered")
    return tuple(sorted(rejected & _names(others, "kept"))) if rejected else ()


def by_compiled_name(profile: Profile, kernels: Collection[str]) -> Profile:
    """Give kernels their compiled name, whatever their launch metadata called each launch.

    Parameters
    ----------
    profile
        The profile.
    kernels
        Compiled names. What of one is told apart by name below one parent is added up.
    """
    frames = profile.frames
    compiled = frames["kernel"].astype(object).to_numpy()
    rows = frames["kernel"].isin(kernels).to_numpy() & (frames["kind"] == "kernel").to_numpy()
    if not rows.any():
        return profile
    texts = {
        name: text_column(np.where(rows, compiled, frames[name].astype(object).to_numpy()))
        for name in ("name", "label")
    }
    renamed = replace(profile, frames=frames.assign(**texts), repeats=None)
    whole = merged([(None, renamed)])
    if profile.repeats is None:
        return whole
    values = profile.repeats.values
    moved = values.assign(frame_id=places(renamed)[values["frame_id"].to_numpy()])
    sums = moved.groupby(["repeat", "frame_id"]).sum(min_count=1).reset_index()
    return replace(whole, repeats=Repeats(profile.repeats.number, sums))


def _names(profiles: Iterable[Profile], state: str) -> set[str]:
    found: set[str] = set()
    for profile in profiles:
        found |= {*profile.frames["kernel"][profile.frames["hook"] == state].dropna()}
    return found
