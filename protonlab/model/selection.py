"""Which frames of a profile a pattern means."""

from __future__ import annotations

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.filters import KernelFilter, compile_pattern
from protonlab.model.frames import BoolArray, IntArray, ancestors, below


def matching_kernels(frames: pd.DataFrame, end: IntArray, kernel_filter: KernelFilter) -> BoolArray:
    """Kernels that the filter keeps, with the path to them, shape (n,).

    It matches the compiled name, or the recorded name where no hook's record is at hand.
    """
    names = frames["kernel"].astype(object).fillna(frames["name"].astype(object))
    verdict = {name: kernel_filter.matches(name) for name in names.unique()}
    is_kernel = (frames["kind"] == "kernel").to_numpy()
    kept = names.map(verdict).to_numpy(dtype=bool) & is_kernel
    keep = ancestors(kept, end)
    keep[0] = True
    return keep


def matching_subtrees(frames: pd.DataFrame, end: IntArray, pattern: str) -> BoolArray:
    """Frames whose name or label matches, with all below them and the path to them, shape (n,).

    Raises
    ------
    ProtonLabError
        If `pattern` is no regular expression or no frame matches it.
    """
    regex = compile_pattern(pattern, "pattern")
    if regex is None:
        raise ProtonLabError("pattern=None; give a regular expression, for example 'layer_0'")
    names = {*frames["name"].cat.categories, *frames["label"].cat.categories}
    hits = {name for name in names if regex.match(name)}
    matched: BoolArray = np.asarray(frames["name"].isin(hits) | frames["label"].isin(hits))
    if not matched.any():
        seen = ", ".join(sorted(map(str, frames["label"].unique()))[:12])
        raise ProtonLabError(
            f"no frame matches {pattern!r}; patterns match from the start. Frames: {seen}"
        )
    return below(matched, end) | ancestors(matched, end)
