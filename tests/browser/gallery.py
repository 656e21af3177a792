"""Every view, once or more, on recorded profiles: what screenshots and page tests walk through.

Whoever adds a view, or a way to draw one, adds a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from protonlab import recorded
from protonlab.formats import load
from protonlab.model.comparison import compare
from protonlab.views import FlameOptions, bars, flame, heatmap, roofline, table, timeline

_PROFILES = Path(__file__).parents[1] / "profiles"


def recording(name: str) -> Any:
    """Profile or trace of the test data."""
    (path,) = _PROFILES.glob(f"{name}*")
    return load(path)


VIEWS: dict[str, Callable[[], Any]] = {
    "flame": lambda: flame(recording("gpt_train")),
    "flame_bottom": lambda: flame(
        recording("gpt_train"), options=FlameOptions(root="bottom", order="widest")
    ),
    "flame_inverted": lambda: flame(recording("gpt_train"), inverted=True, color="library"),
    "flame_by_library": lambda: flame(recording("gpt_compiled"), color="library", search="triton"),
    "flame_by_bandwidth": lambda: flame(recorded.moe_sweep(), color="gbyte/s"),
    "flame_of_python": lambda: flame(recording("gpt_python_context")),
    "flame_folded": lambda: flame(recording("gpt_train"), options=FlameOptions(max_boxes=20)),
    "flame_of_difference": lambda: flame(
        compare(recording("gpt_train"), recording("gpt_compiled"))
    ),
    "flame_of_two_ranks": lambda: flame(compare(recording("ddp_rank0"), recording("ddp_rank1"))),
    "flame_of_a_run": lambda: flame(recorded.ddp_two_gpus()),
    "heatmap": lambda: heatmap(recorded.ddp_two_gpus()),
    "bars": lambda: bars(recording("gpt_train"), top=12),
    "bars_of_bandwidth": lambda: bars(recorded.moe_sweep(), metric="gbyte/s", lines="peak"),
    "bars_stacked": lambda: bars(recording("gpt_train"), by=("kernel", "scope"), top=12),
    "bars_of_difference": lambda: bars(
        compare(recording("ddp_rank0"), recording("ddp_rank1")), top=8
    ),
    "bars_of_a_run": lambda: bars(recorded.ddp_two_gpus(), by="kernel", top=8),
    "timeline_of_ranks": lambda: timeline(recorded.ddp_two_gpus()),
    "timeline": lambda: timeline(recording("gpt_trace")),
    "timeline_in_kernel": lambda: timeline(recording("instrumentation")),
    "roofline": lambda: roofline(recorded.moe_sweep()),
    "table": lambda: table(recording("gpt_train"), top=12),
    "table_of_a_run": lambda: table(recorded.ddp_two_gpus(), top=8),
    "table_of_difference": lambda: table(
        compare(recording("ddp_rank0"), recording("ddp_rank1")), top=8
    ),
}
