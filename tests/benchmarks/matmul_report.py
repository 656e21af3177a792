"""What the matmul benchmark measured: rows, what is required of them, a table."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gpu_timing import Timing, measure

Call = Callable[[], torch.Tensor]
ERROR = 4e-3  # relative, of results that count


class Report:
    """Measures, prints and keeps; the file is whole after each measurement."""

    def __init__(self, target: Path | None, about: dict[str, Any]) -> None:
        self._target, self._about = target, about
        self.rows: list[dict[str, Any]] = []
        self.verdicts: list[dict[str, Any]] = []
        self._began = time.time()

    def contender(
        self,
        what: str,
        name: str,
        call: Call,
        n_bytes: int,
        flops: float,
        check: Any,
        times: int = 1,
    ) -> Timing | None:
        """Measure one, and check its result; a failure is reported and stops nothing else."""
        try:
            off = check(call())
            if not off < ERROR:
                raise ArithmeticError(f"error {off}")
            timing = measure(call, times=times)
        except Exception as failure:  # a contender of the other side may run out of anything
            print(f"{what:>12}  {name:46} failed: {str(failure)[:300]}", flush=True)
            self.rows.append({"case": what, "contender": name, "failed": str(failure)[:500]})
            self._keep()
            return None
        row = {
            "case": what,
            "contender": name,
            "gbytes_per_s": round(timing.rate(n_bytes), 1),
            "gbytes_per_s_burst": round(timing.burst_rate(n_bytes), 1),
            "tflops_per_s": round(timing.rate(flops) / 1e3, 1),
            "error": off,
            **{key: round(value, 2) for key, value in dataclasses.asdict(timing).items()},
        }
        self.rows.append(row)
        print(
            f"{what:>12}  {name:46} {timing.sustained_us:8.1f} us {row['gbytes_per_s']:7.0f} GB/s "
            f"{row['tflops_per_s']:6.1f} TFLOP/s | burst {timing.burst_us:8.1f} us "
            f"{row['gbytes_per_s_burst']:7.0f} GB/s | {timing.mhz} MHz {timing.watts} W "
            f"| error {off:.1e}  [{time.time() - self._began:.0f} s]",
            flush=True,
        )
        self._keep()
        return timing

    def verdict(self, what: str, value: float, required: float, goal: float | None) -> None:
        """Keep whether a requirement holds."""
        holds = value >= required
        reached = None if goal is None else value >= goal
        self.verdicts.append(
            {"what": what, "value": round(value, 3), "required": required, "goal": goal}
            | {"holds": holds, "goal_reached": reached}
        )
        self._keep()

    def _keep(self) -> None:
        if self._target:
            result = {**self._about, "requirements": self.verdicts, "rows": self.rows}
            self._target.write_text(json.dumps(result, indent=1) + "\n")

    def table(self) -> str:
        """Format the requirements."""
        lines = [f"{'':52} {'value':>7} {'required':>9} {'goal':>6}"]
        for verdict in self.verdicts:
            goal = "" if verdict["goal"] is None else f"{verdict['goal']:.2f}"
            words = "holds" if verdict["holds"] else "FAILS"
            words += {True: ", goal reached", False: ", goal not reached", None: ""}[
                verdict["goal_reached"]
            ]
            lines.append(
                f"{verdict['what']:52} {verdict['value']:7.3f} {verdict['required']:9.2f} "
                f"{goal:>6}  {words}"
            )
        return "\n".join(lines)


def fastest(timings: dict[str, Timing | None]) -> tuple[str, Timing]:
    """Name the fastest, sustained."""
    found = {name: timing for name, timing in timings.items() if timing is not None}
    name = min(found, key=lambda key: found[key].sustained_us)
    return name, found[name]
