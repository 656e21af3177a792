"""Bandwidth where only times were measured, and numbers no longer than they are known."""

from __future__ import annotations

import dataclasses

from protonlab.epilogue._choices import METRIC
from protonlab.model import Metric, VariantComparison
from protonlab.model.frames import MetricColumn

_COUNTED = (
    "Bytes were counted by protonlab, as for our kernel: weights and scales of experts with rows, "
    "x and y, each once."
)
_DIGITS = 7  # a tenth of a nanosecond in a millisecond
_ROUNDED = ("time_ns_a", "time_ns_b", "value_a", "value_b", "at_s")


def in_gbyte_s(comparison: VariantComparison, n_bytes: int) -> VariantComparison:
    """Turn measured times into GB/s by a count of bytes; what is in GB/s already stays.

    Parameters
    ----------
    comparison
        Of times or of GB/s.
    n_bytes
        What a call of either variant moves at least.
    """
    if comparison.metric.name == METRIC:
        return comparison
    columns = [MetricColumn.from_raw("time (ns)"), MetricColumn.from_raw("bytes")]
    pairs = comparison.pairs.assign(
        value_a=n_bytes / comparison.pairs["time_ns_a"],
        value_b=n_bytes / comparison.pairs["time_ns_b"],
    )
    return dataclasses.replace(
        comparison,
        metric=Metric.parse(METRIC, columns),
        pairs=pairs,
        notes=(*comparison.notes, _COUNTED),
    )


def rounded(comparison: VariantComparison) -> VariantComparison:
    """Drop digits behind what the timer tells, which would be most of a file."""
    columns = {
        name: [float(f"{value:.{_DIGITS}g}") for value in comparison.pairs[name].tolist()]
        for name in _ROUNDED
    }
    return dataclasses.replace(comparison, pairs=comparison.pairs.assign(**columns))
