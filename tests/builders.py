"""Small trees by hand: nested tuples to the document that Proton would write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

H200 = {
    "CUDA": {
        "0": {
            "arch": "90",
            "bus_width": 6016,
            "clock_rate": 1980000,
            "memory_clock_rate": 3201000,
            "num_sms": 132,
        }
    }
}

Frame = dict[str, Any]


def frame(name: str, *children: Frame, **metrics: Any) -> Frame:
    """A scope, or any frame with the metrics that are given."""
    return {
        "frame": {"name": name, "type": "function"},
        "metrics": metrics,
        "children": list(children),
    }


def kernel(
    name: str, time_ns: float | None, count: int = 1, *below: Frame, **metrics: Any
) -> Frame:
    """A kernel on CUDA device 0, unless `metrics` say otherwise."""
    own: dict[str, Any] = {"count": count, "device_id": "0", "device_type": "CUDA"}
    if time_ns is not None:
        own["time (ns)"] = time_ns
    return frame(name, *below, **(own | metrics))


def document(*children: Frame, devices: Mapping[str, Any] | None = H200) -> bytes:
    """The whole document; without `devices` only the root."""
    parts: Sequence[Any] = [frame("ROOT", *children, count=0, **{"time (ns)": 0})]
    return json.dumps([*parts, devices] if devices is not None else parts).encode()


# Two scopes, three kernels, and what recording the metadata of one of them launched.
# ROOT 1000 ns: mlp 600 (matmul 500, 1000 B, 8 flops16; plain 100), attn 400 (attention 400, 200 B)
SMALL = document(
    frame(
        "mlp",
        kernel("matmul [m=8]", 500, 5, bytes=1000, flops16=8.0, n_tokens=16),
        kernel("plain", 100, 2),
    ),
    frame(
        "attn",
        frame("__proton_launch_metadata", frame("attention", kernel("copy", 50, 3))),
        kernel("attention [t=4]", 400, 1, bytes=200, n_tokens=4),
    ),
)
