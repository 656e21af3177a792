"""Epilogue overlap of a matmul for mixtures of experts: the problem, its sweep, its correctness.

Names resolve on first use: importing this package loads neither torch nor Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.epilogue._bandwidth import in_gbyte_s
    from protonlab.epilogue._choices import KS, TOKENS
    from protonlab.epilogue._gpu import gpu_problem, has_upstream
    from protonlab.epilogue._interpreted import interpreted_check
    from protonlab.epilogue._problem import EpilogueCalls, EpilogueWeights
    from protonlab.epilogue._published import reference_lines
    from protonlab.epilogue._sweep import copy_gbyte_s, epilogue_cases, sweep_epilogue
    from protonlab.epilogue._sweep_run import compiled_of
    from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep

_HOME = {
    "EpilogueCalls": "protonlab.epilogue._problem",
    "EpilogueCase": "protonlab.model.epilogue_sweep",
    "EpilogueSweep": "protonlab.model.epilogue_sweep",
    "EpilogueWeights": "protonlab.epilogue._problem",
    "KS": "protonlab.epilogue._choices",
    "TOKENS": "protonlab.epilogue._choices",
    "compiled_of": "protonlab.epilogue._sweep_run",
    "copy_gbyte_s": "protonlab.epilogue._sweep",
    "epilogue_cases": "protonlab.epilogue._sweep",
    "gpu_problem": "protonlab.epilogue._gpu",
    "has_upstream": "protonlab.epilogue._gpu",
    "in_gbyte_s": "protonlab.epilogue._bandwidth",
    "interpreted_check": "protonlab.epilogue._interpreted",
    "reference_lines": "protonlab.epilogue._published",
    "sweep_epilogue": "protonlab.epilogue._sweep",
}

__all__ = [
    "KS",
    "TOKENS",
    "EpilogueCalls",
    "EpilogueCase",
    "EpilogueSweep",
    "EpilogueWeights",
    "compiled_of",
    "copy_gbyte_s",
    "epilogue_cases",
    "gpu_problem",
    "has_upstream",
    "in_gbyte_s",
    "interpreted_check",
    "reference_lines",
    "sweep_epilogue",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.epilogue' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
