"""Write viewer_values.json: what proton-viewer computes for the recorded profiles.

    python tests/profiles/make_viewer_values.py

The files ``cell_*`` were saved by protonlab, the others by Proton: it reads both.

Needs Triton 3.9 and llnl-hatchet (pandas below 3), so it is run once, by hand, in an environment
of its own; the tests compare our numbers with the stored ones. Frames are renamed to their
preorder row, so that values can be told apart; proton-viewer drops metadata frames by name, so
those keep theirs. Empty ``<metric>`` frames are taken away first: proton-viewer 3.9 drops the
kernel above one together with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from triton.profiler import viewer

HERE = Path(__file__).parent
RECORDED = HERE.parent.parent / "protonlab" / "recorded"
METRICS = (
    *("time/s", "time/ms", "time/us", "time/ns", "time/%", "avg_time/us", "count", "count/%"),
    *("bytes", "byte/s", "gbyte/s", "tbyte/s", "flop32/s", "gflop32/s", "tflop32/s"),
    *("flop16/s", "tflop16/s", "flops16", "flops32", "n_tokens", "util"),
)


def renamed(frame: dict[str, Any], rows: list[int]) -> dict[str, Any] | None:
    """Rename frames to their preorder row, metadata frames apart."""
    row = rows[0]
    rows[0] += 1
    is_empty_metric = frame["frame"]["name"] == "<metric>" and not frame["children"]
    if not frame["frame"]["name"].startswith("__proton_launch_metadata"):
        frame["frame"]["name"] = str(row)
    children = [renamed(child, rows) for child in frame["children"]]
    frame["children"] = [child for child in children if child is not None]
    return None if is_empty_metric and not frame["metrics"] else frame


def values(path: Path) -> dict[str, dict[str, float]]:
    """Metric -> row -> value, for every metric that proton-viewer can compute."""
    result = {}
    for metric in METRICS:
        database = json.loads(path.read_text())
        renamed(database[0], [0])
        frame, inclusive, exclusive, devices = viewer.get_raw_metrics(database)
        frame.update_inclusive_columns()
        try:
            (column,) = viewer.derive_metrics(frame, [metric], inclusive, exclusive, devices)
        except (KeyError, RuntimeError):
            continue  # proton-viewer cannot compute it here
        numbers = frame.dataframe.set_index("name")[column].astype(float).dropna()
        result[metric] = {str(row): float(f"{number:.12g}") for row, number in numbers.items()}
    return result


if __name__ == "__main__":
    profiles = sorted([*HERE.glob("*.hatchet"), *RECORDED.glob("*.hatchet")])
    stored = {path.name: values(path) for path in profiles}
    (HERE / "viewer_values.json").write_text(json.dumps(stored, separators=(",", ":")))
