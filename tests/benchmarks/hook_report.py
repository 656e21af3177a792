"""What hook_overhead.py says of its numbers: intervals, ratios, what is required, and a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from protonlab.model.statistics import interval


def described(values: list[float]) -> dict[str, Any]:
    found = interval(values, method="bootstrap")
    return {"median": found.estimate, "low": found.low, "high": found.high, "blocks": values}


def ratio(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """Ratio of two medians that were measured in pairs, with its bootstrap interval."""
    pairs = np.array([ours, theirs])
    drawn = np.random.default_rng(0).integers(0, len(ours), (2000, len(ours)))
    resampled = np.median(pairs[:, drawn], axis=2)
    low, high = np.quantile(resampled[0] / resampled[1], (0.025, 0.975))
    one, other = np.median(pairs, axis=1)
    return {"ratio": float(one / other), "low": float(low), "high": float(high)}


def verdicts(result: dict[str, Any], filters: bool) -> dict[str, dict[str, Any]]:
    """What the product promises, and whether it holds here."""
    added, recording = result["added_us"], result["recording_ratio"]
    ours, limit = added["our hook filtering"]["median"], 1.0 if filters else 3.0
    most = 1 / 6 if filters else 1.3
    cell, end = result["cell_ms"]["median"], result["end"]["ratio"]
    rows = {
        f"recording adds at most {most:.3g} times what Proton's hook adds": (
            recording["ratio"], recording["ratio"] <= most),
        f"filtering adds at most {limit} µs a launch": (ours, ours <= limit),
        "a %%proton cell that holds pass takes at most 30 ms": (cell, cell <= 30),
        "ending 100,000 launches takes at most 1.5 times Proton's finalise": (end, end <= 1.5),
    }  # fmt: skip
    if filters:
        theirs = added["Proton's hook filtering"]["median"]
        rows["filtering adds less than Proton's does"] = (ours - theirs, ours < theirs)
    return {name: {"value": value, "holds": bool(holds)} for name, (value, holds) in rows.items()}


def report(result: dict[str, Any]) -> None:
    """Print what a reader needs to see."""
    print(f"{result['gpu']}, driver {result['driver']}, {result['versions']}, {result['date']}")
    print(f"{result['rounds']} rounds of {result['launches_a_block']} launches, µs a launch:")
    for name, row in result["launch_us"].items():
        more = result["added_us"].get(name)
        extra = (
            f"  adds {more['median']:7.2f} [{more['low']:.2f}, {more['high']:.2f}]" if more else ""
        )
        print(f"  {name:26} {row['median']:7.2f} [{row['low']:.2f}, {row['high']:.2f}]{extra}")
    found = result["recording_ratio"]
    bounds = f"[{found['low']:.3f}, {found['high']:.3f}]"
    print(f"recording, ours to Proton's: {found['ratio']:.3f} {bounds}")
    cell = result["cell_ms"]
    print(
        f"%%proton cell with pass: median {cell['median']:.1f} ms; Proton's start and finalise "
        f"alone {cell['median_of_proton_alone']:.1f} ms"
    )
    print(f"ending 100,000 launches, ours to Proton's: {result['end']['ratio']:.2f}")
    for name, row in result["required"].items():
        print(f"  {'holds ' if row['holds'] else 'FAILS '} {name}: {row['value']:.3f}")
    print(f"took {result['seconds']:.0f} s")


def driver() -> str:
    try:
        import pynvml

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:
        return "unknown"
