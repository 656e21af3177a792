"""How profiles, traces, comparisons and runs show themselves: a few lines, then views; or text."""

from protonlab.display._run import run_views, show_run
from protonlab.display._summary import Summary, summary
from protonlab.display._views import (
    InWords,
    comparison_views,
    profile_views,
    show,
    show_comparison,
    show_trace,
    show_variants,
    trace_views,
    variant_views,
)

__all__ = [
    "InWords",
    "Summary",
    "comparison_views",
    "profile_views",
    "run_views",
    "show",
    "show_comparison",
    "show_run",
    "show_trace",
    "show_variants",
    "summary",
    "trace_views",
    "variant_views",
]
