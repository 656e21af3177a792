"""Synthetic comparisons and a synthetic sweep: made up, and labelled so; nothing was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from protonlab.model import Metric, ProfileInfo, VariantComparison
from protonlab.model.compiled import (
    CONSTANTS,
    LOOPS,
    PTX,
    RESOURCES,
    CompiledComparison,
    CompiledVariant,
)
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.model.frames import MetricColumn
from protonlab.model.variants import PAIR_COLUMNS

MADE_UP = ProfileInfo(
    name="overlap against serial",
    gpu="a synthetic GPU",
    versions={"triton": "0.0"},
    when="2000-01-01T00:00:00+00:00",
)
_BYTES = 2.0e9


def synthetic_comparison(
    overlap: float, serial: float, *, pairs: int = 24, spread: float = 0.004, seed: int = 0
) -> VariantComparison:
    """Pairs whose medians lie near two bandwidths in GB/s."""
    random = np.random.default_rng(seed)
    noise = 1 + spread * random.standard_normal((2, pairs))
    values = np.array([[overlap], [serial]]) * noise
    table = pd.DataFrame(
        {
            "order": ["AB", "BA"] * (pairs // 2),
            "time_ns_a": _BYTES / values[0],
            "time_ns_b": _BYTES / values[1],
            "value_a": values[0],
            "value_b": values[1],
            "sm_clock_mhz": 1700.0,
            "memory_clock_mhz": 3201.0,
            "power_w": 690.0,
            "temperature_c": 55.0,
            "throttle": "",
            "at_s": np.arange(pairs) / 10,
        }
    )
    table = table.astype(dict(PAIR_COLUMNS))
    table.index.name = "pair"
    columns = [MetricColumn.from_raw("time (ns)"), MetricColumn.from_raw("bytes")]
    return VariantComparison(
        ("overlap", "serial"),
        Metric.parse("gbyte/s", columns),
        table,
        protocol={"protocol": "sustained", "in_words": "made up for a test, nothing ran."},
        info=MADE_UP,
        outputs_equal=True,
        outputs="identical (one tensor compared)",
    )


def synthetic_compiled(*, specializes: bool = False) -> CompiledComparison:
    """Two variants that differ in loops, registers and three instructions."""
    both = []
    for name, on in (("overlap", True), ("serial", False)):
        facts = {
            RESOURCES: {"registers a thread": 125 if on else 114, "occupancy": 0.25},
            LOOPS: {"loops to flatten": int(on), "loops to warp specialize": int(on & specializes)},
            CONSTANTS: {"FLATTEN_LOOPS": on},
            PTX: {"wgmma": 16, "integer": 110 if on else 88},
        }
        lines = [f"\tadd.s32 \t%r1, %r2, {number};" for number in range(3 + on)]
        both.append(CompiledVariant(name, "made_up_kernel", "cuda:90", facts, "\n".join(lines)))
    return CompiledComparison(*both)


# Tokens per expert -> GB/s with overlap and without, at a long K and a short one.
LONG = {1: (2900.0, 3000.0), 4: (2660.0, 2730.0), 16: (2400.0, 2424.0), 64: (1200.0, 1201.0)}
SHORT = {1: (2000.0, 1700.0), 4: (2100.0, 1850.0), 16: (1500.0, 1300.0), 64: (900.0, 930.0)}


def synthetic_sweep() -> EpilogueSweep:
    """Our kernel and upstream's, at a long K and a short one, four sizes each."""
    comparisons, compiled = {}, {}
    for kernel in ("ours", "upstream"):
        for k, sizes in ((5760, LONG), (256, SHORT)):
            for tokens, (overlap, serial) in sizes.items():
                case = EpilogueCase(kernel, tokens, k=k)
                scale = 1.2 if kernel == "ours" else 1.0
                comparisons[case] = synthetic_comparison(
                    scale * overlap, scale * serial, seed=len(comparisons)
                )
                compiled[case] = synthetic_compiled(specializes=kernel == "upstream")
    return EpilogueSweep(
        comparisons,
        compiled,
        MADE_UP,
        4250.0,
        {"budget_s": 2.0, "protocol": "sustained", "seed": 0},
        ("our kernel, 512 tokens each: left out of a made-up sweep.",),
    )
