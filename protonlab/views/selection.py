"""Which kernels a view starts with: those that the profile's filter kept, where there was one."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Profile, Trace
from protonlab.model.units import counted
from protonlab.views.hover import share
from protonlab.views.theme import HOOK_WORDS

_OUTSIDE = ("filtered", "unseen")


@dataclass(frozen=True)
class Selection:
    """Kernels to show, and in words what was left out.

    Parameters
    ----------
    kernels
        Rows of ``profile.kernels``.
    notes
        Sentences on the number of kernels left out and their share of time, or none.
    left_out
        States of the launch hook whose kernels are not shown.
    """

    kernels: pd.DataFrame
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def select(profile: Profile, *, everything: bool = False) -> Selection:
    """Take the kernels that the filter kept; all when there was no filter or nothing passed it."""
    kernels = profile.kernels
    info = profile.info
    outside = kernels["hook"].isin(_OUTSIDE).to_numpy(dtype=bool)
    filtered = info.include is not None or info.exclude is not None
    if not filtered or not outside.any():
        return Selection(kernels)
    parts = [
        f"{counted(len(rows), 'kernel')} {HOOK_WORDS[state]}{_share_of_time(rows, kernels)}"
        for state in _OUTSIDE
        if len(rows := kernels[kernels["hook"] == state])
    ]
    if outside.all():
        return Selection(kernels, (f"The filter kept no kernel: {', '.join(parts)}.",))
    if everything:
        return Selection(kernels, (f"Outside of the filter: {', '.join(parts)}.",))
    return Selection(
        kernels[~outside],
        (
            f"Not shown: {', '.join(parts)}.",
            "bars() and table() add them with everything=True.",
        ),
        _OUTSIDE,
    )


def no_kernels_of(view: str, subject: object) -> ProtonLabError:
    """Make the error of a view of kernels that cannot show `subject`."""
    hint = ""
    if isinstance(subject, Trace):
        hint = "; trace.kernels lists a trace's kernels, timeline() draws it"
    kind = type(subject).__name__
    return ProtonLabError(f"{view}() takes a profile, a comparison or a run, not a {kind}{hint}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse an argument that is no number of things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ProtonLabError(f"{name}={value!r}; give a whole number, at least {least}")


def more_than(top: int, number: int, thing: str = "kernel") -> list[str]:
    """Say how many of `number` kernels, or other things, the first `top` leave out."""
    return [f"{counted(number - top, f'more {thing}')}: top={top}."] if number > top else []


def _share_of_time(rows: pd.DataFrame, kernels: pd.DataFrame) -> str:
    if "time_ns" not in kernels:
        return ""
    part, whole = float(rows["time_ns"].sum()), float(kernels["time_ns"].sum())
    return f" ({share(part, whole)} of time)"
