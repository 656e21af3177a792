"""Which group each frame of a profile belongs to: its kernel, scope, device, or what matched."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.model.filters import compile_pattern
from protonlab.model.kernels import KERNEL_TEXT
from protonlab.model.sentences import some
from protonlab.views.names import shortened
from protonlab.views.selection import Selection

WORDS = ("kernel", "scope", "device")
NO_SCOPE, REST = "no scope", "other"
_SCOPES = ("scope", "python")
_MOST_NAMES, _LONGEST_NAME = 8, 60


def groups_of(profile: Profile, by: str, selection: Selection) -> pd.Series:
    """Name the group of each frame.

    Parameters
    ----------
    profile
        The profile.
    by
        ``"kernel"``: rows of ``profile.kernels``. ``"scope"``: label of the innermost scope or
        Python line around a kernel; what scopes recorded themselves belongs to them. ``"device"``:
        its device. Anything else is a regular expression, searched in each kernel's label, then in
        its name as recorded: the first group in parentheses that took part names the group,
        without one the whole match does, and kernels without a match are ``"other"``.
    selection
        Which kernels take part.

    Returns
    -------
    pandas.Series
        Index ``frame_id``, missing for frames that belong to no group.

    Raises
    ------
    ProtonLabError
        If `by` is neither of the words nor a regular expression that matches a kernel.
    """
    frames = profile.frames
    if not isinstance(by, str):
        raise ProtonLabError(f"by={by!r}; {_legal()}")
    kernels = (frames["kind"] == "kernel").to_numpy()
    shown = kernels & ~frames["hook"].isin(selection.left_out).to_numpy(dtype=bool)
    if by == "kernel":
        keys = list(KERNEL_TEXT)
        rows = profile.kernels[keys].assign(row=profile.kernels.index)
        found = frames[keys].astype(object).merge(rows, on=keys, how="left")["row"]
        groups = found.set_axis(frames.index)
    elif by == "scope":
        groups = _scopes(profile)
        shown |= frames["kind"].isin(_SCOPES).to_numpy()
    elif by == "device":
        names = (
            frames["device_type"]
            .astype(object)
            .str.cat(frames["device_id"].astype("Int64").astype(object).map(str), sep=" ")
        )
        groups = names
    else:
        groups = _matches(frames, by, shown)
    return groups.astype(object).where(shown)


def _scopes(profile: Profile) -> pd.Series:
    """Label of the innermost scope of each frame, a scope's own included."""
    frames = profile.frames
    is_scope = frames["kind"].isin(_SCOPES).to_numpy()
    nearest = np.where(is_scope, np.arange(len(frames)), frames["parent_id"].to_numpy())
    settled = is_scope.copy()
    settled[0] = True  # the root, which stands for none
    nearest[0] = 0
    while not settled[nearest].all():
        nearest = np.where(settled[nearest], nearest, nearest[nearest])
    labels = frames["label"].astype(object).to_numpy()[nearest]
    return pd.Series(np.where(nearest == 0, NO_SCOPE, labels), index=frames.index, dtype=object)


def _matches(frames: pd.DataFrame, by: str, shown: np.ndarray) -> pd.Series:
    regex = compile_pattern(by, "by")
    assert regex is not None
    texts = frames.loc[shown, ["label", "name"]].astype(object)
    pairs = set(texts.itertuples(index=False, name=None))
    named = {pair: _group(regex, pair) for pair in pairs}
    if pairs and not any(name is not None for name in named.values()):
        labels = sorted({shortened(label, _LONGEST_NAME) for label, _ in pairs})
        raise ProtonLabError(
            f"by={by!r} is none of {', '.join(WORDS)}, and as a regular expression it matches no "
            f"kernel. Kernels: {some(labels, _MOST_NAMES)}"
        )
    groups = [
        REST if named[pair] is None else named[pair]
        for pair in texts.itertuples(index=False, name=None)
    ]
    return pd.Series(groups, index=texts.index, dtype=object).reindex(frames.index)


def _group(regex: re.Pattern[str], names: tuple[str, ...]) -> str | None:
    for name in names:
        found = regex.search(name)
        if found is not None:
            taken = [group for group in found.groups() if group is not None]
            return (taken[0] if taken else found[0]) or REST
    return None


def _legal() -> str:
    return f"use {', '.join(map(repr, WORDS))}, or a regular expression such as '(gemm|norm)'"
