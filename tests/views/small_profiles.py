"""Small profiles with numbers that can be worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from protonlab.formats import load
from protonlab.model import Profile, ProfileInfo

EVIL = "<b>bold</b><a href='javascript:alert(1)'>x</a><img src=x onerror=alert(1)></script>$x^2$"


def frame(name: str, *children: dict[str, Any], **metrics: Any) -> dict[str, Any]:
    """One frame of Proton's tree; `metrics` as Proton names them, with _ns for (ns)."""
    named = {key.replace("_ns", " (ns)"): value for key, value in metrics.items()}
    return {
        "frame": {"name": name, "type": "function"},
        "metrics": named,
        "children": list(children),
    }


def kernel(name: str, time_ns: int, count: int = 1, **metrics: Any) -> dict[str, Any]:
    """A kernel on CUDA device 0."""
    device = {"device_type": "CUDA", "device_id": "0"}
    return frame(name, **device, count=count, time_ns=time_ns, **metrics)


DEVICES = {
    "CUDA": {
        "0": {
            "arch": "90",
            "bus_width": 6144,
            "clock_rate": 1980000,
            "memory_clock_rate": 3201000,
            "num_sms": 132,
        }
    }
}


def profile(
    *children: dict[str, Any], name: str = "hand", devices: Any = DEVICES, **info: Any
) -> Profile:
    """Load a tree with these frames below the root."""
    root = {
        "frame": {"name": "ROOT", "type": "function"},
        "metrics": {"count": 0, "time (ns)": 0},
        "children": list(children),
    }
    return load(json.dumps([root, devices]).encode(), info=ProfileInfo(name=name, **info))


def chain(levels: int, last: dict[str, Any]) -> Profile:
    """So many scopes, each in the one before, and a last frame; json.dumps cannot nest as deep."""
    mark = "LAST"
    text = json.dumps([frame("ROOT", frame(mark)), DEVICES])
    inner = json.dumps(frame(mark))
    scope = json.dumps(frame("scope", frame(mark)))
    for _ in range(levels):
        text = text.replace(inner, scope)
    return load(text.replace(inner, json.dumps(last)).encode(), info=ProfileInfo(name="chain"))


def hand() -> Profile:
    """Two scopes and four kernels: 1,000 ns in all.

    ::

        ROOT                 1000
          forward             600
            matmul            450   3 launches, 9,000 bytes
            relu              150
          backward            400
            matmul            300   1 launch, 3,000 bytes
            norm              100
    """
    return profile(
        frame(
            "forward",
            kernel("matmul", 450, count=3, bytes=9000),
            kernel("relu", 150, count=2),
        ),
        frame("backward", kernel("matmul", 300, bytes=3000), kernel("norm", 100)),
    )


def filtered() -> Profile:
    """`hand`, recorded with include=mat.*: relu was filtered out, norm is torch's."""
    tree = profile(
        frame("forward", kernel("matmul", 450, count=3, bytes=9000), kernel("relu", 150, count=2)),
        frame("backward", kernel("matmul", 300, bytes=3000), kernel("norm", 100)),
        include="mat.*",
    )
    return tree.with_hook({}, kept={"matmul"}, filtered={"relu"})


def without_values(tree: Profile, column: str) -> Profile:
    """The same profile with a metric missing everywhere, as after filtering its kernels away."""
    return replace(tree, frames=tree.frames.assign(**{column: math.nan}))
