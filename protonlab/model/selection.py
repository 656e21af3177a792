"""Which frames of a profile a pattern means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.filters import KernelFilter, compile_pattern
from protonlab.model.frames import BoolArray, IntArray, ancestors, below
from protonlab.model.sentences import printable, some

_MOST_LABELS = 6


def matching_kernels(frames: pd.DataFrame, end: IntArray, kernel_filter: KernelFilter) -> BoolArray:
    """Kernels that the filter keeps, with the path to them, shape (n,).

    A pattern finds a kernel by its compiled name, or the recorded name where no hook's record is
    at hand, and by its label.
    """
    keep = _found(frames, kernel_filter.include)
    if kernel_filter.exclude is not None:
        keep &= ~_found(frames, kernel_filter.exclude)
    keep = ancestors(keep, end)
    keep[0] = True
    return keep


def unmatched(frames: pd.DataFrame, kernel_filter: KernelFilter) -> Iterator[str]:
    """Say which pattern of a filter finds no kernel, and what the kernels are called."""
    kernels = frames["label"][frames["kind"] == "kernel"]
    labels = [printable(str(label)) for label in kernels.unique()]
    for option in ("include", "exclude"):
        pattern = getattr(kernel_filter, option)
        if labels and pattern is not None and not _found(frames, pattern).any():
            yield (
                f"{option}={pattern} matches no kernel; patterns are anchored at the start of the "
                "name, begin with .* to match anywhere. The kernels: "
                f"{some(labels, _MOST_LABELS)}."
            )


def _found(frames: pd.DataFrame, pattern: str | None) -> BoolArray:
    """Kernels that a pattern finds; None finds all. Shape (n,)."""
    one = KernelFilter(include=pattern)
    labels = frames["label"].astype(object)
    names = frames["kernel"].astype(object).fillna(frames["name"].astype(object))
    hits = {text for text in {*names.unique(), *labels.unique()} if one.matches(text)}
    found: BoolArray = (names.isin(hits) | labels.isin(hits)).to_numpy(dtype=bool)
    return found & (frames["kind"] == "kernel").to_numpy()


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
