"""A against B: variants measured in pairs, what a switch changed, and gates on both.

Names resolve on first use: importing this package loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.experiment._compare_variants import compare_variants
    from protonlab.experiment._compiled import compare_compiled
    from protonlab.experiment._measurement import Measurement

_HOME = {
    "Measurement": "_measurement",
    "compare_compiled": "_compiled",
    "compare_variants": "_compare_variants",
}

__all__ = [
    "Measurement",
    "compare_compiled",
    "compare_variants",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.experiment' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.experiment.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
