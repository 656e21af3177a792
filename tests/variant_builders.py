"""Comparisons of variants from times by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from protonlab import VariantComparison
from protonlab.model import Metric, MetricColumn
from protonlab.model.variants import PAIR_COLUMNS

COLUMNS = [MetricColumn.from_raw(raw) for raw in ("time (ns)", "count", "bytes")]
TIME, RATE = (Metric.parse(name, COLUMNS) for name in ("time/us", "gbyte/s"))


def pairs_of(a_ns: Any, b_ns: Any, **columns: Any) -> pd.DataFrame:
    """Pairs of these times; the rate is that of 1000 bytes a call."""
    a, b = np.asarray(a_ns, np.float64), np.asarray(b_ns, np.float64)
    n = len(a)
    table = pd.DataFrame(
        {
            "order": ["AB" if pair % 2 == 0 else "BA" for pair in range(n)],
            "time_ns_a": a,
            "time_ns_b": b,
            "value_a": 1000 / a,
            "value_b": 1000 / b,
            **dict.fromkeys(
                ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"), np.nan
            ),
            "throttle": "",
            "at_s": np.arange(n) * 0.1,
            **columns,
        },
        index=pd.RangeIndex(n, name="pair"),
    )
    return table.astype(dict(PAIR_COLUMNS))


def comparison(a_ns: Any, b_ns: Any, **fields: Any) -> VariantComparison:
    columns = fields.pop("columns", {})
    table = pairs_of(a_ns, b_ns, **columns)
    metric = fields.pop("metric", RATE)
    if metric is TIME:
        table["value_a"], table["value_b"] = table["time_ns_a"] / 1e3, table["time_ns_b"] / 1e3
    return VariantComparison(("overlap", "serial"), metric, table, **fields)


def noisy(n: int, ratio: float = 1.0, sigma: float = 0.005, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    a = 1000 * np.exp(random.normal(0, sigma, n))
    return a, 1000 * ratio * np.exp(random.normal(0, sigma, n))
