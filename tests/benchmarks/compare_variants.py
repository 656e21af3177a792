"""What FLATTEN_LOOPS gives, by `compare_variants`: upstream's kernel and ours, short and long K.

    python tests/benchmarks/compare_variants.py [RESULT.json] [--k 256 5760] [--tokens 4 16]
        [--protocol sustained burst] [--budget 10] [--runs 2] [--save FOLDER]

128 experts, N = 5760, tokens spread over them at random. Upstream's persistent kernel, flattened
(which also specialises warps) and not, where ``triton_kernels`` can be imported (Triton 3.9), at
K = 5760; ours in plain Triton with `overlap_epilogue` on and off at each K. GB/s count codes and
scales of the experts that have rows, x and y. Two questions:

- Do runs agree? Each contest is measured `--runs` times, with weights, inputs and outputs made anew
  in each round: do the intervals have a ratio in common?
- Are medians those of ``triton.testing.do_bench_cudagraph``? Both time the very same two callables,
  in turns: theirs, ours, theirs, ours, theirs. A turn of theirs times one variant and the other
  (ABBA), first untimed, until the GPU is at the clock that it keeps, then for the record. Theirs is
  the median of all its turns, ours that of all our pairs; how far turns are apart is told beside.
  The script ends with code 1 where a median is more than 2 % off.

RESULT.json holds every number with the protocol; FOLDER gets each comparison as it was saved.
Without a GPU, ``TRITON_INTERPRET=1`` and ``--experts 2 --n 128 --k 128 --tokens 4 --budget 1`` run
all of it; times then mean nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import triton

from protonlab import VariantComparison, compare_variants, device
from protonlab.capture import enable_interpreter
from protonlab.epilogue import EpilogueCase, EpilogueWeights, has_upstream

UPSTREAM_K = 5760
CLOSE = 0.02
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


def turn_of_theirs(calls: Calls) -> dict[str, float]:
    """Time each variant in µs by Triton's own timer, ABBA: first untimed, then for the record."""
    first, second = calls
    for _ in range(2):
        found: dict[str, list[float]] = {name: [] for name in calls}
        for name in (first, second, second, first):
            median = triton.testing.do_bench_cudagraph(calls[name], return_mode="median")
            found[name].append(1e3 * median)
    return {name: statistics.fmean(values) for name, values in found.items()}


def beside_theirs(contest: Contest, protocol: str, budget_s: float) -> dict[str, Any]:
    """Time the same two callables by both, in turns."""
    calls = contest.make()
    theirs, ours = [turn_of_theirs(calls)], []
    for seed in range(2):
        found = compare_variants(
            calls, budget_s=budget_s, metric="time/us", protocol=protocol, seed=seed
        )
        ours.append(found)
        theirs.append(turn_of_theirs(calls))
    medians = {}
    for which, name in enumerate(calls):
        pairs = [time for found in ours for time in found.times_ns[which] / 1e3]
        turns = [turn[name] for turn in theirs]
        medians[name] = {
            "ours_us": statistics.median(pairs),
            "do_bench_cudagraph_us": statistics.median(turns),
            "their_turns_us": turns,
            "their_turns_apart": max(turns) / min(turns) - 1,
            "ours_by_theirs": statistics.median(pairs) / statistics.median(turns),
        }
    return {"medians": medians, "clocks": [clocks(found) for found in ours]}


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
    """Whether the intervals of all runs have a ratio in common."""
    return max(run.ratio.low for run in runs) <= min(run.ratio.high for run in runs)


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
    for each in row["runs"]:
        rates = (f"{name} {rate:.0f} GB/s" for name, rate in each["gbytes_per_s"].items())
        print(f"{contest.label} {protocol}: {', '.join(rates)}; {each['verdict']}")
    print(f"  runs agree: {row['runs_agree']}")
    if protocol == "sustained" and device() == "cuda":
        row |= beside_theirs(contest, protocol, args.budget)
        for name, found in row["medians"].items():
            print(
                f"  {name}: {found['ours_us']:.2f} µs, by do_bench_cudagraph "
                f"{found['do_bench_cudagraph_us']:.2f} (turns {found['their_turns_apart']:.2%} "
                f"apart), ratio {found['ours_by_theirs']:.4f}",
                flush=True,
            )
    return row


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
    args = parser.parse_args()
    enable_interpreter()
    torch.manual_seed(0)
    rows: list[dict[str, Any]] = []
    for k in args.k:
        for contest in contests(args.experts, args.n, k, args.tokens):
            for protocol in args.protocol:
                rows.append(measured(contest, protocol, args))
                if args.result:
                    document = {"experts": args.experts, "n": args.n, "rows": rows}
                    args.result.write_text(json.dumps(document, indent=1, default=str) + "\n")
    off = [
        abs(median["ours_by_theirs"] - 1)
        for row in rows
        for median in row.get("medians", {}).values()
    ]
    near = sum(each <= CLOSE for each in off)
    print(f"{sum(row['runs_agree'] for row in rows)} of {len(rows)} contests: runs agree")
    print(f"{near} of {len(off)} medians within {CLOSE:.0%} of do_bench_cudagraph's")
    return int(near < len(off))


if __name__ == "__main__":
    sys.exit(main())
