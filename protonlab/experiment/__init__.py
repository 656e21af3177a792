"""A against B: variants measured in pairs, what a switch changed, and gates on both.

Names resolve on first use: importing this package loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.experiment._check import baseline_of, check, judged, raise_if_regressed
    from protonlab.experiment._compare_variants import compare_variants
    from protonlab.experiment._compiled import compare_compiled
    from protonlab.experiment._gate import Gate
    from protonlab.experiment._measurement import Measurement
    from protonlab.experiment._placement import elsewhere

_HOME = {
    "Gate": "_gate",
    "Measurement": "_measurement",
    "baseline_of": "_check",
    "check": "_check",
    "compare_compiled": "_compiled",
    "compare_variants": "_compare_variants",
    "elsewhere": "_placement",
    "judged": "_check",
    "raise_if_regressed": "_check",
}

__all__ = [
    "Gate",
    "Measurement",
    "baseline_of",
    "check",
    "compare_compiled",
    "compare_variants",
    "elsewhere",
    "judged",
    "raise_if_regressed",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.experiment' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.experiment.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
