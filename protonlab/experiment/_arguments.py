"""The arguments of a measurement, checked before anything runs."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from protonlab.errors import MetricError, ProtonLabError

ProtocolName = Literal["sustained", "burst"]


def check_arguments(setup: Any, budget_s: Any, metric: Any, protocol: Any, seed: Any) -> None:
    """Check those of `compare_variants`.

    Raises
    ------
    ProtonLabError
        If one is not legal; the message holds the value and the legal ones.
    """
    if setup is not None and not callable(setup):
        raise ProtonLabError(
            f"setup is of type {type(setup).__name__}; give a function without arguments, which is "
            "called before each sample, or leave it out"
        )
    number = isinstance(budget_s, (int, float, np.number)) and not isinstance(budget_s, bool)
    if not number or not math.isfinite(budget_s) or budget_s <= 0:
        raise ProtonLabError(
            f"budget_s={budget_s!r}; give the seconds to warm up and measure, more than 0, such as "
            "budget_s=10"
        )
    if metric is not None and not isinstance(metric, str):
        raise MetricError(f"{metric!r} is no metric name; give a string such as 'gbyte/s'")
    if protocol not in get_args(ProtocolName):
        raise ProtonLabError(f"protocol={protocol!r}; use 'sustained' or 'burst'")
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise ProtonLabError(f"seed={seed!r}; give a whole number, 0 or more")
