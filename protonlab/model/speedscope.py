"""Speedscope JSON: stacks with their own times, for speedscope.app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protonlab.model.frames import PYTHON_FRAME
from protonlab.model.stacks import self_times
from protonlab.model.writing import compact_json, write_atomically

SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(profile: Any, path: Path) -> None:
    """Write a sampled profile: a sample a stack, whose weight is its own time in ns.

    Kernels and scopes have their labels, Python frames also their file and line. What profiling
    itself and autotuning launched is left out, as it is out of totals.
    """
    write_atomically(_document(profile), path)


def _document(profile: Any) -> Iterator[str]:
    frames, times = profile.frames, self_times(profile)
    names, labels = frames["name"].astype(str), frames["label"].astype(str)
    place: dict[tuple[str, str], int] = {}
    of_row = [place.setdefault(pair, len(place)) for pair in zip(names, labels, strict=True)]
    name = profile.info.name or "profile"
    shared = [_frame(*pair) for pair in place]
    head = {
        "$schema": SPEEDSCOPE_SCHEMA,
        "exporter": "protonlab",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": shared},
    }
    total = int(times.sum())
    series = {
        "type": "sampled",
        "name": f"{name} · {profile.where}",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": total,
        "weights": times[times > 0].tolist(),
    }
    yield f'{compact_json(head)[:-1]},"profiles":[{compact_json(series)[:-1]},"samples":['
    above: list[int] = []  # frames on the way: the table is in preorder
    comma = ""
    for row, depth in enumerate(frames["depth"].tolist()):
        del above[depth:]
        above.append(of_row[row])
        if times[row] > 0:
            yield f"{comma}{compact_json(above)}"
            comma = ","
    yield "]}]}\n"


def _frame(name: str, label: str) -> dict[str, Any]:
    line = PYTHON_FRAME.fullmatch(name)
    if line is None:
        return {"name": label}
    return {"name": label, "file": line["file"], "line": int(line["line"])}
