"""What each frame of a tree is, told from its name, its device and what lies above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from protonlab.model.frames import (
    GRAPH_FRAME,
    KINDS,
    METADATA_SCOPE,
    METRIC_FRAME,
    PYTHON_FRAME,
    TUNING_SCOPE,
    BoolArray,
    IntArray,
    below,
    categorical,
)


def kinds_of(
    names: Sequence[str], codes: IntArray, is_kernel: BoolArray, end: IntArray
) -> pd.Categorical:
    """Tell the kind of each frame from its name, its device and what lies above it.

    Parameters
    ----------
    names
        Distinct frame names.
    codes
        Index into `names` for each frame, shape (n,).
    is_kernel
        Frames that Proton gave a device, shape (n,).
    end
        Result of `subtree_ends`.
    """

    def named(test: re.Pattern[str]) -> BoolArray:
        flags = np.fromiter((test.fullmatch(name) is not None for name in names), np.bool_)
        picked: BoolArray = flags[codes]
        return picked

    kind = np.full(len(codes), KINDS.index("scope"), dtype=np.int8)
    kind[named(PYTHON_FRAME)] = KINDS.index("python")
    kind[named(re.compile(re.escape(GRAPH_FRAME)))] = KINDS.index("graph")
    kind[is_kernel] = KINDS.index("kernel")
    metric = named(re.compile(re.escape(METRIC_FRAME)))
    kind[below(metric, end)] = KINDS.index("metric")
    metadata = named(re.compile(re.escape(METADATA_SCOPE) + r"(:.*)?", re.DOTALL))
    kind[below(metadata, end)] = KINDS.index("metadata")
    kind[below(named(re.compile(TUNING_SCOPE)), end)] = KINDS.index("tuning")
    kind[0] = KINDS.index("root")
    return categorical(kind, KINDS)
