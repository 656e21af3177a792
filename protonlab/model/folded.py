"""Folded stacks: one line a stack with its own time, as flamegraph.pl and inferno read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protonlab.model.stacks import self_times
from protonlab.model.writing import write_atomically

_BREAK = re.compile(r"[\r\n\t]+")


def write_folded(profile: Any, path: Path) -> None:
    """Write ``root;scope;kernel 1234`` a stack: its own time in ns, which adds up to the root's.

    Frames have their labels; a ``;`` in one, which would part it in two, becomes a ``,``. What
    profiling itself and autotuning launched is left out, as it is out of totals.
    """
    write_atomically(_lines(profile), path)


def _lines(profile: Any) -> Iterator[str]:
    frames = profile.frames
    labels = [_one_frame(label) for label in frames["label"].astype(str)]
    times = self_times(profile)
    sums: dict[str, int] = {}
    above: list[str] = []  # labels on the way to the frame: the table is in preorder
    for row, (depth, label) in enumerate(zip(frames["depth"].tolist(), labels, strict=True)):
        del above[depth:]
        above.append(label)
        if times[row]:
            stack = ";".join(above)
            sums[stack] = sums.get(stack, 0) + int(times[row])
    for stack, time in sums.items():
        yield f"{stack} {time}\n"


def _one_frame(label: str) -> str:
    return _BREAK.sub(" ", label).replace(";", ",").strip() or "(no name)"
