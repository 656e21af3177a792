"""Ground floor: profiles as tables, the metric grammar, filters, devices."""

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
