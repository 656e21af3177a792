"""Profile GPU kernels from a notebook.

``%load_ext protonlab``, then ``%%proton`` over a cell. Names resolve on first use, so that
``import protonlab`` loads neither Triton nor plotly and stays fast.
"""

from __future__ import annotations

import importlib
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from protonlab import recorded
    from protonlab.capture import LaunchHook, Session, device, doctor, measure_roofs
    from protonlab.epilogue import EpilogueCase, EpilogueSweep, epilogue_cases, sweep_epilogue
    from protonlab.errors import (
        CaptureError,
        MetricError,
        MissingDependencyError,
        ProfileFormatError,
        ProtonLabError,
        RegressionError,
    )
    from protonlab.experiment import check, compare_compiled, compare_variants
    from protonlab.formats import export_trace, load
    from protonlab.model import (
        Comparison,
        Device,
        KernelFilter,
        Metric,
        Profile,
        Roofs,
        Run,
        Trace,
        VariantComparison,
        compare,
    )
    from protonlab.model.compiled import CompiledComparison
    from protonlab.report import ReportOptions, export_report
    from protonlab.runs import Archive, load_run
    from protonlab.views import (
        FlameOptions,
        bars,
        flame,
        heatmap,
        overlap_by_tokens,
        pairs,
        ptx_difference,
        roofline,
        table,
        timeline,
    )
    from protonlab.widget import EpilogueWidget

# Public name -> the module that defines it.
_HOME = {
    "Archive": "protonlab.runs",
    "CaptureError": "protonlab.errors",
    "Comparison": "protonlab.model",
    "Device": "protonlab.model",
    "EpilogueCase": "protonlab.model.epilogue_sweep",
    "EpilogueSweep": "protonlab.model.epilogue_sweep",
    "EpilogueWidget": "protonlab.widget",
    "FlameOptions": "protonlab.views",
    "KernelFilter": "protonlab.model",
    "LaunchHook": "protonlab.capture",
    "Metric": "protonlab.model",
    "MetricError": "protonlab.errors",
    "MissingDependencyError": "protonlab.errors",
    "Profile": "protonlab.model",
    "ProfileFormatError": "protonlab.errors",
    "ProtonLabError": "protonlab.errors",
    "RankSession": "protonlab.runs",
    "RegressionError": "protonlab.errors",
    "ReportOptions": "protonlab.report",
    "Roofs": "protonlab.model",
    "Run": "protonlab.model",
    "Session": "protonlab.capture",
    "Trace": "protonlab.model",
    "VariantComparison": "protonlab.model",
    "bars": "protonlab.views",
    "check": "protonlab.experiment",
    "compare": "protonlab.model",
    "compare_compiled": "protonlab.experiment",
    "compare_variants": "protonlab.experiment",
    "device": "protonlab.capture",
    "doctor": "protonlab.capture",
    "epilogue_cases": "protonlab.epilogue",
    "export_report": "protonlab.report",
    "export_trace": "protonlab.formats",
    "flame": "protonlab.views",
    "heatmap": "protonlab.views",
    "load": "protonlab.formats",
    "load_run": "protonlab.runs",
    "measure_roofs": "protonlab.capture",
    "overlap_by_tokens": "protonlab.views",
    "pairs": "protonlab.views",
    "ptx_difference": "protonlab.views",
    "roofline": "protonlab.views",
    "sweep_epilogue": "protonlab.epilogue",
    "table": "protonlab.views",
    "timeline": "protonlab.views",
}

__all__ = [
    "Archive",
    "CaptureError",
    "Comparison",
    "Device",
    "EpilogueCase",
    "EpilogueSweep",
    "EpilogueWidget",
    "FlameOptions",
    "KernelFilter",
    "LaunchHook",
    "Metric",
    "MetricError",
    "MissingDependencyError",
    "Profile",
    "ProfileFormatError",
    "ProtonLabError",
    "RankSession",
    "RegressionError",
    "ReportOptions",
    "Roofs",
    "Run",
    "Session",
    "Trace",
    "VariantComparison",
    "__version__",
    "bars",
    "check",
    "compare",
    "compare_compiled",
    "compare_variants",
    "device",
    "doctor",
    "epilogue_cases",
    "export_report",
    "export_trace",
    "flame",
    "heatmap",
    "load",
    "load_ipython_extension",
    "load_run",
    "measure_roofs",
    "overlap_by_tokens",
    "pairs",
    "ptx_difference",
    "recorded",
    "roofline",
    "sweep_epilogue",
    "table",
    "timeline",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("protonlab")
    if name in ("experiment", "recorded"):
        return importlib.import_module(f"protonlab.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register ``%%proton`` and ``%proton`` in this shell (``%load_ext protonlab``)."""
    from protonlab.magic import load

    load(shell)
    _register_display(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take back everything that `load_ipython_extension` registered (``%unload_ext protonlab``)."""
    from protonlab.magic import unload

    unload(shell)
    formatter: Any = shell.display_formatter
    for module, name in _VIEWS:
        formatter.ipython_display_formatter.pop(f"{module}.{name}", None)


def _show(function: str, value: object) -> None:
    getattr(importlib.import_module("protonlab.display"), function)(value)


def _show_compiled(comparison: CompiledComparison) -> None:
    from IPython.core.display_functions import display

    from protonlab.views import compiled_table

    display(compiled_table(comparison))  # type: ignore[no-untyped-call]


# Module and name of a type -> what shows its views where it is a cell's value.
_VIEWS: dict[tuple[str, str], Callable[[Any], None]] = {
    ("protonlab.model.profile", "Profile"): partial(_show, "show"),
    ("protonlab.model.trace", "Trace"): partial(_show, "show_trace"),
    ("protonlab.model.run", "Run"): partial(_show, "show_run"),
    ("protonlab.model.comparison", "Comparison"): partial(_show, "show_comparison"),
    ("protonlab.model.compiled", "CompiledComparison"): _show_compiled,
    ("protonlab.model.variants", "VariantComparison"): partial(_show, "show_variants"),
}


def _register_display(shell: InteractiveShell) -> None:
    """Let a profile, trace or comparison that is a cell's value show its views."""
    formatter: Any = shell.display_formatter
    for (module, name), show in _VIEWS.items():
        formatter.ipython_display_formatter.for_type_by_name(module, name, show)


_get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
if _get_ipython is not None and (_shell := _get_ipython()) is not None:
    _register_display(_shell)
