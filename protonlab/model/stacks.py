"""A frame table as stacks: each frame's own time in whole nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.frames import IntArray


def self_times(profile: Any) -> IntArray:
    """Each frame's own time in whole ns, shape (n,); their sum is the root's inclusive time.

    What profiling itself and autotuning launched counts 0, as it does not count towards totals.
    Times that are no integers are rounded so that their sum is: each is the difference of two
    rounded running sums.
    """
    column = profile.frames["time_ns"].fillna(0)
    if pd.api.types.is_integer_dtype(column.dtype):
        exact: IntArray = np.where(profile.overhead, 0, column.to_numpy(dtype=np.int64))
        return exact
    running = np.cumsum(np.where(profile.overhead, 0.0, column.to_numpy(dtype=np.float64)))
    whole: IntArray = np.diff(np.rint(running).astype(np.int64), prepend=0)
    return whole
