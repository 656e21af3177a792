"""What FLATTEN_LOOPS gives, by `compare_variants`: upstream's kernel and ours, short and long K.

    python tests/benchmarks/compare_variants.py [RESULT.json] [--k 256 5760] [--tokens 4 16]
        [--protocol sustained burst] [--budget 10] [--runs 2] [--save FOLDER]

128 experts, N = 5760, tokens spread over them at random. Upstream's persistent kernel, flattened
(which also specialises warps) and not, where ``triton_kernels`` can be imported (Triton 3.9), at
K = 5760; ours in plain Triton with `overlap_epilogue` on and off at each K. Each pair is measured
`--runs` times with other seeds, to see whether the intervals agree, and both variants by
``triton.testing.do_bench_cudagraph`` before and after, to see whether the medians do. GB/s count
codes and scales of the experts that have rows, x and y. RESULT.json holds every number with the
protocol; FOLDER gets each comparison as it was saved.

Without a GPU, ``TRITON_INTERPRET=1`` and ``--experts 2 --n 128 --k 128 --tokens 4 --budget 1`` run
all of it; times then mean nothing.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import triton

from protonlab import VariantComparison, compare_variants, device
from protonlab.capture import enable_interpreter
from protonlab.kernels import (
    MXFP4Weight,
    Routing,
    matmul,
    matmul_options,
    pack,
    prepare,
    quantize_mxfp4,
)

NAMES = ("flattened", "not flattened")
UPSTREAM_K = 5760
HAS_UPSTREAM = importlib.util.find_spec("triton_kernels") is not None


@dataclass(frozen=True)
class Contest:
    """Two variants of one kernel at one size."""

    kernel: str
    k: int
    tokens: int
    n_bytes: int
    variants: dict[str, Callable[[], torch.Tensor]]

    @property
    def label(self) -> str:
        """What it is, also as the name of a file."""
        return f"{self.kernel}_k{self.k}_tokens{self.tokens}"


def weight(experts: int, n: int, k: int) -> MXFP4Weight:
    """Quantise a random weight, a few experts at a time."""
    parts = []
    for first in range(0, experts, 8):
        count = min(8, experts - first)
        w = torch.randn(count, n, k, device=device(), dtype=torch.bfloat16)
        parts.append(quantize_mxfp4(w))
    codes = torch.cat([part.codes for part in parts])
    return MXFP4Weight(codes, torch.cat([part.scales for part in parts]))


def contests(experts: int, n: int, k: int, tokens: list[int]) -> Iterator[Contest]:
    """Give each pair at one K; the next one may overwrite the memory of the last."""
    w = weight(experts, n, k)
    packed = pack(w)
    peer: Any = None
    if HAS_UPSTREAM and device() == "cuda" and k == UPSTREAM_K:
        from upstream_matmul import Upstream

        peer = Upstream(w)
    for each in tokens:
        rows = each * experts
        sizes = torch.bincount(torch.randint(experts, (rows,)), minlength=experts)
        x = torch.randn(rows, k, device=device()).to(torch.bfloat16)
        n_bytes = int((sizes > 0).sum()) * n * k * 17 // 32 + rows * (n + k) * 2
        if peer is not None:
            on_gpu = sizes.to(device())
            settings = [f"persistent, {name}, 4 warps" for name in NAMES]
            calls = [peer.call(setting, x, on_gpu) for setting in settings]
            yield Contest("upstream", k, each, n_bytes, dict(zip(NAMES, calls, strict=True)))
        ours: dict[str, Callable[[], torch.Tensor]] = {}
        for name, overlap in zip(NAMES, (True, False), strict=True):
            options = matmul_options(
                rows, n, k, experts=experts, overlap_epilogue=overlap, persistent=True
            )
            routing = prepare(x, packed, Routing(sizes), options=options)
            ours[name] = functools.partial(matmul, x, packed, routing=routing, options=options)
        yield Contest("ours", k, each, n_bytes, ours)


def by_triton(contest: Contest) -> dict[str, float | None]:
    """Time each variant in µs by Triton's own timer; None without a GPU."""
    if device() == "cpu":
        return dict.fromkeys(contest.variants)
    bench = triton.testing.do_bench_cudagraph
    return {
        name: 1e3 * statistics.median(bench(call, rep=60, return_mode="median") for _ in range(3))
        for name, call in contest.variants.items()
    }


def row(contest: Contest, found: VariantComparison, theirs: list[dict[str, Any]]) -> dict[str, Any]:
    """What one comparison found, as plain numbers."""
    medians = [statistics.median(times) / 1e3 for times in found.times_ns]
    result: dict[str, Any] = {
        "kernel": contest.kernel,
        "k": contest.k,
        "tokens": contest.tokens,
        "n_bytes": contest.n_bytes,
        "time_us": dict(zip(found.names, medians, strict=True)),
        "gbytes_per_s": {
            name: contest.n_bytes / median / 1e3
            for name, median in zip(found.names, medians, strict=True)
        },
        "ratio_of_times": asdict(found.ratio),
        "verdict": found.verdict,
        "outputs": found.outputs,
        "warnings": list(found.warnings),
        "protocol": dict(found.protocol),
        "clocks": found.pairs[["sm_clock_mhz", "power_w", "temperature_c"]].median().to_dict(),
    }
    if device() == "cuda" and found.protocol["protocol"] == "sustained":
        result["do_bench_cudagraph_us"] = theirs
        result["by_do_bench_cudagraph"] = {
            name: median / statistics.fmean(each[name] for each in theirs)
            for name, median in zip(found.names, medians, strict=True)
        }
    return result


def agree(runs: list[VariantComparison]) -> bool:
    """Whether the intervals of all runs have a ratio in common."""
    return max(run.ratio.low for run in runs) <= min(run.ratio.high for run in runs)


def main() -> None:
    """Print a line a comparison, and keep all of it."""
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
    about: dict[str, Any] = {}
    for k in args.k:
        for contest in contests(args.experts, args.n, k, args.tokens):
            for protocol in args.protocol:
                theirs, runs = [by_triton(contest)], []
                for seed in range(args.runs):
                    found = compare_variants(
                        contest.variants,
                        budget_s=args.budget,
                        metric="time/us",
                        protocol=protocol,
                        seed=seed,
                    )
                    runs.append(found)
                    if args.save:
                        args.save.mkdir(parents=True, exist_ok=True)
                        found.save(args.save / f"{contest.label}_{protocol}_{seed}.json.gz")
                theirs.append(by_triton(contest))
                for found in runs:
                    rows.append(row(contest, found, theirs) | {"runs_agree": agree(runs)})
                    last = rows[-1]
                    rates = ", ".join(
                        f"{name} {rate:.0f} GB/s" for name, rate in last["gbytes_per_s"].items()
                    )
                    beside = last.get("by_do_bench_cudagraph", {}).values()
                    print(
                        f"{contest.label} {protocol}: {rates}; {found.verdict}; runs agree: "
                        f"{last['runs_agree']}; by do_bench_cudagraph: "
                        f"{', '.join(f'{ratio:.3f}' for ratio in beside) or '-'}",
                        flush=True,
                    )
                about = asdict(runs[-1].info)
                if args.result:
                    document = {"info": about, "experts": args.experts, "n": args.n, "rows": rows}
                    args.result.write_text(json.dumps(document, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
