"""Small traces, and the boxes of their timelines."""

from __future__ import annotations

import json
from typing import Any

import protonlab
from protonlab import Trace
from protonlab.views import TimelineFigure


def trace_of(*events: dict[str, Any], **document: Any) -> Trace:
    trace = protonlab.load(json.dumps({"traceEvents": events} | document).encode())
    assert isinstance(trace, Trace)
    return trace


def launch(name: str, start: float, duration: float, stream: int = 7, **more: Any) -> Any:
    """One kernel, in µs."""
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start,
            "dur": duration} | more  # fmt: skip


def scope(name: str, start: float, duration: float, path: tuple[str, ...] = ()) -> Any:
    args = {"call_stack": ["ROOT", *path, name]}
    return launch(name, start, duration, 0, cat="scope", args=args)


def by_hand() -> Trace:
    return trace_of(
        scope("step", 0, 100), scope("forward", 10, 40, ("step",)),
        scope("loss", 60, 30, ("step",)),
        launch("matmul", 20, 10), launch("gelu", 50, 20), launch("copy", 95, 5, stream=9),
    )  # fmt: skip


def boxes(figure: TimelineFigure, meta: str = "boxes") -> list[dict[str, Any]]:
    """Each box of a figure with its trace's name."""
    data = json.loads(figure.to_json())["data"]
    return [
        {"role": trace["name"], "start": start, "width": width, "row": row, "label": names[0],
         "aside": names[1], "hover": hover}
        for trace in data if trace["meta"] == meta
        for start, width, row, names, hover in zip(
            trace["base"], trace["x"], trace["y"], trace["customdata"], trace["hovertext"],
            strict=True)
    ]  # fmt: skip
