"""Numbers that others published, for reference lines."""

from __future__ import annotations

from protonlab.model.epilogue_sweep import EpilogueCase

# https://github.com/triton-lang/triton/pull/9279: flattened, and not.
PUBLISHED = {
    "published, other conditions, flattened": 2650.0,
    "published, other conditions, not flattened": 2800.0,
}


def reference_lines(case: EpilogueCase, copy_gbyte_s: float | None) -> dict[str, float]:
    """Lines for a chart in GB/s: the measured copy, and what is published for the shape."""
    lines = {} if copy_gbyte_s is None else {"copy, measured": copy_gbyte_s}
    return lines | (PUBLISHED if case.is_published else {})
