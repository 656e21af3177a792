"""What FLATTEN_LOOPS gives, by `compare_variants`: upstream's kernel and ours, short and long K.

    python tests/benchmarks/compare_variants.py [RESULT.json] [--k 256 5760] [--tokens 4 16]
        [--protocol sustained burst] [--budget 10] [--runs 2] [--save FOLDER]
    python tests/benchmarks/compare_variants.py RESULT.json --show

128 experts, N = 5760, tokens spread over them at random. Upstream's persistent kernel, flattened
(which also asks for warp specialisation) and not, where ``triton_kernels`` can be imported (Triton
3.9), at K = 5760; ours in plain Triton with `overlap_epilogue` on and off at each K. GB/s count
codes and scales of the experts that have rows, x and y. Two questions:

- Do runs agree? Each contest is measured `--runs` times, with weights, inputs and outputs made anew
  in each round: do the intervals have a ratio in common?
- Are medians those of ``triton.testing.do_bench_cudagraph``? Both time the very same two callables,
  in turns: theirs, ours, theirs, ours, theirs. A turn of theirs times each variant twenty times, in
  random order, since a power limiter that hunts makes one time of a fifth of a second scatter by
  several percent. Theirs is the median of them all, ours that of all our pairs. The interval of
  their ratio comes from the times of theirs alone, as if these were independent. The script ends
  with code 1 where it lies wholly beyond 2 %, as `protonlab check` would: at the power cap nobody
  knows theirs well enough for more.

RESULT.json holds every number with the protocol; ``--show`` prints what it says of both questions.
FOLDER gets each comparison as it was saved.
Without a GPU, ``TRITON_INTERPRET=1`` and ``--experts 2 --n 128 --k 128 --tokens 4 --budget 1`` run
all of it; times then mean nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import torch
import triton

from protonlab import VariantComparison, compare_variants, device
from protonlab.capture import enable_interpreter
from protonlab.epilogue import EpilogueCase, EpilogueWeights, has_upstream

UPSTREAM_K = 5760
CLOSE, THEIR_CALLS = 0.02, 20
Calls = Mapping[str, Callable[[], torch.Tensor]]


@dataclass(frozen=True)
class Contest:
    """Two variants of one kernel at one size, which `make` makes elsewhere in memory each time."""

    kernel: str
    k: int
    tokens: int
    n_bytes: int
    make: Callable[[], Calls]

    @property
    def label(self) -> str:
        """What it is, also as the name of a file."""
        return f"{self.kernel}_k{self.k}_tokens{self.tokens}"


def contests(experts: int, n: int, k: int, tokens: list[int]) -> Iterator[Contest]:
    """Give each pair at one K; the next one may overwrite the memory of the last."""
    weights = EpilogueWeights(experts, n, k, device())
    kernels = ["upstream", "ours"] if has_upstream() and k == UPSTREAM_K else ["ours"]
    for kernel in kernels:
        for _ in weights.make(kernel):
            pass
        for each in tokens:
            calls = weights.calls(EpilogueCase(kernel, each, experts, n, k))
            yield Contest(kernel, k, each, calls.n_bytes, calls.make)
    weights.close()


def turn_of_theirs(calls: Calls) -> dict[str, list[float]]:
    """Time each variant in µs by Triton's own timer, twenty times, in random order."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    order = [name for name in calls for _ in range(THEIR_CALLS)]
    random.shuffle(order)
    for name in order:
        median = triton.testing.do_bench_cudagraph(calls[name], return_mode="median")
        found[name].append(1e3 * median)
    return found


def beside_theirs(contest: Contest, protocol: str, budget_s: float) -> dict[str, Any]:
    """Time the same two callables by both, in turns."""
    calls = contest.make()
    turns, ours = [turn_of_theirs(calls)], []
    for seed in range(2):
        found = compare_variants(
            calls, budget_s=budget_s, metric="time/us", protocol=protocol, seed=seed
        )
        ours.append(found)
        turns.append(turn_of_theirs(calls))
    medians = {}
    for which, name in enumerate(calls):
        pairs = [time for found in ours for time in found.times_ns[which] / 1e3]
        theirs = [time for turn in turns for time in turn[name]]
        medians[name] = {
            "ours_us": statistics.median(pairs),
            "do_bench_cudagraph_us": statistics.median(theirs),
            "their_times_us": theirs,
        }
    return {"medians": medians, "clocks": [clocks(found) for found in ours]}


@dataclass(frozen=True)
class Beside:
    """Ours by theirs, with a 95 % interval from how theirs scatter, whatever the distribution."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, median: Mapping[str, Any]) -> Beside:
        """Compare the two medians of one variant."""
        ours, theirs = median["ours_us"], median["their_times_us"]
        bounds = scipy.stats.quantile_test(theirs, p=0.5).confidence_interval()
        return cls(ours / statistics.median(theirs), ours / bounds.high, ours / bounds.low)

    @property
    def is_close(self) -> bool:
        """Whether it is within 2 %."""
        return abs(self.ratio - 1) <= CLOSE

    @property
    def is_off(self) -> bool:
        """Whether the interval lies wholly beyond 2 %."""
        return self.low > 1 + CLOSE or self.high < 1 - CLOSE


def clocks(found: VariantComparison) -> dict[str, float]:
    """Clock, power and temperature of a run, medians."""
    return found.pairs[["sm_clock_mhz", "power_w", "temperature_c"]].median().to_dict()


def run(contest: Contest, found: VariantComparison) -> dict[str, Any]:
    """What one comparison found, as plain numbers."""
    medians = [statistics.median(times) / 1e3 for times in found.times_ns]
    return {
        "time_us": dict(zip(found.names, medians, strict=True)),
        "gbytes_per_s": {
            name: contest.n_bytes / median / 1e3
            for name, median in zip(found.names, medians, strict=True)
        },
        "ratio_of_times": asdict(found.ratio),
        "ratios_of_rounds": found.ratios.tolist(),
        "verdict": found.verdict,
        "outputs": found.outputs,
        "warnings": list(found.warnings),
        "protocol": dict(found.protocol),
        "clocks": clocks(found),
    }


def agree(runs: list[VariantComparison]) -> bool:
    """Whether the intervals of all runs have a ratio in common; without intervals, no."""
    return bool(np.max([run.ratio.low for run in runs]) <= np.min([run.ratio.high for run in runs]))


def measured(contest: Contest, protocol: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one contest, and print what came out."""
    runs = []
    for seed in range(args.runs):
        runs.append(
            compare_variants(
                contest.make,
                budget_s=args.budget,
                metric="time/us",
                protocol=protocol,
                seed=seed,
            )
        )
        if args.save:
            args.save.mkdir(parents=True, exist_ok=True)
            runs[-1].save(args.save / f"{contest.label}_{protocol}_{seed}.json.gz")
    row: dict[str, Any] = {
        **{name: getattr(contest, name) for name in ("kernel", "k", "tokens", "n_bytes")},
        "protocol": protocol,
        "runs_agree": agree(runs),
        "runs": [run(contest, found) for found in runs],
        "info": asdict(runs[-1].info),
    }
    if protocol == "sustained" and device() == "cuda":
        row |= beside_theirs(contest, protocol, args.budget)
    return row


def show(row: Mapping[str, Any]) -> None:
    """Print what a contest gave."""
    label = f"{row['kernel']}_k{row['k']}_tokens{row['tokens']}"
    for each in row["runs"]:
        rates = (f"{name} {rate:.0f} GB/s" for name, rate in each["gbytes_per_s"].items())
        print(f"{label} {row['protocol']}: {', '.join(rates)}; {each['verdict']}")
    print(f"  runs agree: {row['runs_agree']}")
    for name, median in row.get("medians", {}).items():
        times, beside = median["their_times_us"], Beside.of(median)
        print(
            f"  {name}: {median['ours_us']:.2f} µs, by do_bench_cudagraph "
            f"{median['do_bench_cudagraph_us']:.2f} ({len(times)} times, which scatter by "
            f"{100 * statistics.stdev(times) / statistics.fmean(times):.1f} %), ratio "
            f"{beside.ratio:.4f} [{beside.low:.4f}, {beside.high:.4f}]",
            flush=True,
        )


def main() -> int:
    """Print what each contest gave, and keep all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--n", type=int, default=5760)
    parser.add_argument("--k", nargs="*", type=int, default=[256, 512, 1024, 2048, 5760])
    parser.add_argument("--tokens", nargs="*", type=int, default=[4, 16])
    parser.add_argument("--protocol", nargs="*", default=["sustained"])
    parser.add_argument("--budget", type=float, default=10)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if args.show:
        if args.result is None:
            parser.error("--show prints a RESULT.json; name it")
        kept = json.loads(args.result.read_text())["rows"]
        for row in kept:
            show(row)
        return summary(kept)
    enable_interpreter()
    torch.manual_seed(0)
    rows: list[dict[str, Any]] = []
    for k in args.k:
        for contest in contests(args.experts, args.n, k, args.tokens):
            for protocol in args.protocol:
                rows.append(measured(contest, protocol, args))
                show(rows[-1])
                if args.result:
                    document = {"experts": args.experts, "n": args.n, "rows": rows}
                    args.result.write_text(json.dumps(document, indent=1, default=str) + "\n")
    return summary(rows)


def summary(rows: list[dict[str, Any]]) -> int:
    """Answer both questions; the code to end with."""
    found = [Beside.of(median) for row in rows for median in row.get("medians", {}).values()]
    off = sum(each.is_off for each in found)
    print(f"{sum(row['runs_agree'] for row in rows)} of {len(rows)} contests: runs agree")
    print(
        f"{sum(each.is_close for each in found)} of {len(found)} medians within {CLOSE:.0%} of "
        f"do_bench_cudagraph's, {off} surely not"
    )
    return int(off > 0)


if __name__ == "__main__":
    sys.exit(main())
