"""Ground floor: profiles as tables, the metric grammar, filters, devices.

Names resolve on first use: filters and statistics of plain numbers need no pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.model.clocks import ClockReading
    from protonlab.model.comparison import Comparison, compare
    from protonlab.model.devices import Device
    from protonlab.model.filters import KernelFilter
    from protonlab.model.frames import MetricColumn
    from protonlab.model.info import ProfileInfo
    from protonlab.model.metrics import Metric
    from protonlab.model.profile import Profile
    from protonlab.model.roofs import Roofs
    from protonlab.model.run import Run
    from protonlab.model.trace import Trace
    from protonlab.model.units import format_quantity
    from protonlab.model.variants import VariantComparison

_HOME = {
    "ClockReading": "clocks",
    "Comparison": "comparison",
    "Device": "devices",
    "KernelFilter": "filters",
    "Metric": "metrics",
    "MetricColumn": "frames",
    "Profile": "profile",
    "ProfileInfo": "info",
    "Roofs": "roofs",
    "Run": "run",
    "Trace": "trace",
    "VariantComparison": "variants",
    "compare": "comparison",
    "format_quantity": "units",
}

__all__ = [
    "ClockReading",
    "Comparison",
    "Device",
    "KernelFilter",
    "Metric",
    "MetricColumn",
    "Profile",
    "ProfileInfo",
    "Roofs",
    "Run",
    "Trace",
    "VariantComparison",
    "compare",
    "format_quantity",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.model' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.model.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
