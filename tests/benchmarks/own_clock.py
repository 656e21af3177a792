"""At the power cap: how far apart two variants are at one clock, and how far each at its own.

    python tests/benchmarks/own_clock.py [RESULT.json] [--k 256 5760] [--tokens 4 16]
        [--turns-ms 9 300] [--seconds 2 6]

The contests of ``compare_variants.py``: epilogue overlap against none, 128 experts, N = 5760. CUDA
graphs run back to back in turns A B B A or B A A B, as chance decides; the second half of each turn
counts. A power limiter takes tenths of a second to find its clock: in turns of 9 ms, which is what
`compare_variants` does, both variants run at one clock, in turns of 300 ms each at its own. Clock
and power are read in the last quarter of every turn. Each length of turns goes on for as many
seconds as its place in ``--seconds`` says, behind half a second, or one block, that is not counted.
Both lengths run the same graphs on the same inputs, in one place in memory: the intervals hold for
that place.

Needs an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from compare_variants import contests
from gpu_timing import machine

from protonlab.capture.clocks import read_clocks
from protonlab.experiment._graphs import captured
from protonlab.model.paired import paired_ratio

GRAPH_S, WARM_S, ORDERS = 1e-3, 0.5, ("ABBA", "BAAB")


class Player:
    """One variant, in a graph of about a millisecond."""

    def __init__(self, call: Any) -> None:
        call()
        graph = captured(call, 1)
        self.calls = max(1, round(GRAPH_S / self._seconds(graph, 20)))
        self.graph = captured(call, self.calls)
        self.seconds = self._seconds(self.graph, 20)
        self.clocks: list[tuple[float, float]] = []

    @staticmethod
    def _seconds(graph: Any, replays: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / replays

    def turn(self, seconds: float) -> tuple[Any, Any, int]:
        """Run for so long; events around the second half, and how many calls it holds.

        Returns once three quarters have run: the rest gives the host time to go on.
        """
        quarter = max(1, round(seconds / 4 / self.seconds))
        half, late, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        for replays, event in ((2 * quarter, half), (quarter, late), (quarter, end)):
            for _ in range(replays):
                self.graph.replay()
            event.record()
        late.synchronize()
        reading = read_clocks(torch.cuda.current_device())
        if reading and reading.sm_mhz and reading.power_w:
            self.clocks.append((reading.sm_mhz, reading.power_w))
        return half, end, 2 * quarter * self.calls


def in_turns(players: dict[str, Player], turn_s: float, seconds: float) -> dict[str, Any]:
    """Measure two players in turns of one length."""
    both = list(players.values())
    marks: list[list[tuple[Any, Any, int]]] = [[], []]
    for counts, lasting in ((False, WARM_S), (True, seconds)):
        for player in both:
            player.clocks.clear()
        for _ in range(max(1, round(lasting / (4 * turn_s)))):
            for letter in random.choice(ORDERS):
                which = "AB".index(letter)
                mark = both[which].turn(turn_s)
                if counts:
                    marks[which].append(mark)
    torch.cuda.synchronize()
    times = [
        np.array([1e3 * start.elapsed_time(end) / n for start, end, n in own]) for own in marks
    ]
    return {
        "turn_ms": 1e3 * turn_s,
        "variants": {
            name: {
                "time_us": float(np.median(own)),
                "sm_clock_mhz": statistics.median(mhz for mhz, _ in player.clocks),
                "power_w": statistics.median(watts for _, watts in player.clocks),
            }
            for (name, player), own in zip(players.items(), times, strict=True)
        },
        "ratio_of_times": asdict(paired_ratio(times[0], times[1])),
    }


def main() -> int:
    """Print what each contest gave, and keep it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--n", type=int, default=5760)
    parser.add_argument("--k", nargs="*", type=int, default=[256, 5760])
    parser.add_argument("--tokens", nargs="*", type=int, default=[4, 16])
    parser.add_argument("--turns-ms", nargs="*", type=float, default=[9, 300])
    parser.add_argument("--seconds", nargs="*", type=float, default=[2, 12])
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this benchmark is about a GPU's power cap; there is no NVIDIA GPU here")
    rows: list[dict[str, Any]] = []
    for k in args.k:
        for contest in contests(args.experts, args.n, k, args.tokens):
            row: dict[str, Any] = {"kernel": contest.kernel, "k": k, "tokens": contest.tokens}
            players = {name: Player(call) for name, call in contest.make().items()}
            row["turns"] = [
                in_turns(players, turn / 1e3, seconds)
                for turn, seconds in zip(args.turns_ms, args.seconds, strict=True)
            ]
            rows.append(row)
            for found in row["turns"]:
                ratio = found["ratio_of_times"]
                own = "; ".join(
                    f"{name} {each['time_us']:.2f} µs, {each['sm_clock_mhz']:.0f} MHz, "
                    f"{each['power_w']:.0f} W"
                    for name, each in found["variants"].items()
                )
                print(
                    f"{contest.label}, turns of {found['turn_ms']:g} ms: {own}; ratio "
                    f"{ratio['estimate']:.4f} [{ratio['low']:.4f}, {ratio['high']:.4f}], "
                    f"{ratio['n']} pairs",
                    flush=True,
                )
            if args.result:
                document = {"machine": machine() | {"protocol": " ".join((__doc__ or "").split())}}
                document |= {"experts": args.experts, "n": args.n, "rows": rows}
                args.result.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
