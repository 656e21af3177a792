"""bf16 x MXFP4 on an H200: our engines and upstream's, in one run, against what memory gives.

    python tests/benchmarks/hopper_matmul.py [RESULT.json] [--tokens 4 16] [--no-dense]

A mixture of 128 experts, N = K = 5760. Tokens are spread over the experts at random (256 and 512 a
expert: equally). All contenders hold the same weight and rows. GB/s count what a matmul must move:
codes and scales of the experts that have rows, x and y. Schedules are made before, on both sides;
at 4 and 16 tokens the best of each side is also measured with the schedule in the call. Two experts
of each result are compared with float64. `gpu_timing` says how time is measured.

Then a dense 64 x 8192 x 8192, which turns round eight copies of the weight, so that none is in L2.

Without ``triton_kernels`` (it needs Triton 3.9) only ours is measured. Prints a table with what is
required, and writes every number to RESULT.json.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path
from typing import Any

import torch
from gpu_timing import Timing, ceilings, machine
from matmul_report import Call, Report, fastest

from protonlab.kernels import (
    MXFP4Weight,
    PackedWeight,
    Routing,
    dequantize,
    matmul,
    matmul_options,
    pack,
    prepare,
    quantize_mxfp4,
)

EXPERTS, N, K = 128, 5760, 5760
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
EQUAL = (256, 512)
WITH_SCHEDULE = (4, 16)
CHECKED = (0, 77)
# Tokens an expert -> ratio to upstream's best that is required, and the goal.
REQUIRED = {1: (1.25, 1.45), 2: (1.25, 1.45), 4: (1.38, 1.5), 8: (1.25, 1.45), 16: (1.28, 1.45)}
REQUIRED |= {32: (1.25, 1.45), 64: (1.3, 1.45), 128: (1.3, 1.45), 256: (1.0, None)}
REQUIRED |= {512: (1.0, None)}
PLAIN_TRITON, OF_LOADS, DENSE, OF_CUBLAS = (4, 1.22, 1.35), (4, 0.83, 0.92), 1.3, 0.75

try:
    from upstream_matmul import Upstream
except ImportError:  # not installed, or for another Triton
    HAS_UPSTREAM = False
else:
    HAS_UPSTREAM = True


def weight(experts: int, n: int, k: int) -> MXFP4Weight:
    """Quantise a random weight, a few experts at a time."""
    parts = []
    for first in range(0, experts, 8):
        count = min(8, experts - first)
        w = torch.randn(count, n, k, device="cuda", dtype=torch.bfloat16)
        parts.append(quantize_mxfp4(w))
    codes = torch.cat([part.codes for part in parts])
    return MXFP4Weight(codes, torch.cat([part.scales for part in parts]))


def sizes_of(tokens: int) -> torch.Tensor:
    """Rows of each expert, on the host."""
    if tokens in EQUAL:
        return torch.full((EXPERTS,), tokens)
    return torch.bincount(torch.randint(EXPERTS, (tokens * EXPERTS,)), minlength=EXPERTS)


def error(y: torch.Tensor, x: torch.Tensor, w: MXFP4Weight, sizes: torch.Tensor) -> float:
    """Largest relative Frobenius error of an expert's rows against float64."""
    ends = sizes.cumsum(0).tolist()
    worst = 0.0
    for expert in CHECKED:
        rows = slice(ends[expert] - int(sizes[expert]), ends[expert])
        one = dequantize(MXFP4Weight(w.codes[expert], w.scales[expert]), torch.float64)
        wanted = x[rows].double() @ one.T
        if len(wanted):
            worst = max(worst, float((y[rows].double() - wanted).norm() / wanted.norm()))
    return worst


def mixture(report: Report, tokens_each: list[int], loads_only: float) -> None:
    """Measure the mixture of experts at each number of tokens."""
    w = weight(EXPERTS, N, K)
    packed = pack(w)
    peer = _upstream(w)
    engines = _engines(packed)
    for tokens in tokens_each:
        one_size(report, w, packed, peer, engines, tokens, loads_only)


def one_size(
    report: Report,
    w: MXFP4Weight,
    packed: PackedWeight,
    peer: Any,
    engines: list[str],
    tokens: int,
    loads_only: float,
) -> None:
    """Measure every contender at one number of tokens."""
    sizes, what = sizes_of(tokens), f"{tokens} tokens"
    on_gpu = sizes.to("cuda")
    x = torch.randn(tokens * EXPERTS, K, device="cuda").to(torch.bfloat16)
    n_bytes = int((sizes > 0).sum()) * N * K * 17 // 32 + len(x) * (N + K) * 2
    numbers = (n_bytes, 2.0 * len(x) * N * K)
    check = functools.partial(error, x=x, w=w, sizes=sizes)
    ours: dict[str, Timing | None] = {}
    for engine in engines:
        routing = prepare(x, packed, Routing(sizes), engine=engine)
        call = functools.partial(matmul, x, packed, routing=routing, engine=engine)
        ours[engine] = report.contender(what, f"ours, {engine}", call, *numbers, check)
    theirs: dict[str, Timing | None] = {}
    for setting in _settings(tokens) if peer else ():
        call = peer.call(setting, x, on_gpu)
        theirs[setting] = report.contender(what, f"upstream, {setting}", call, *numbers, check)
    engine, best = fastest(ours)
    if tokens in WITH_SCHEDULE:
        call = functools.partial(matmul, x, packed, routing=Routing(on_gpu), engine=engine)
        report.contender(what, f"ours, {engine}, schedule in the call", call, *numbers, check)
    if tokens in EQUAL:
        _against_cublas(report, tokens, best)
    if tokens == OF_LOADS[0] and "gluon" in engines:  # required of Triton 3.9
        ratio = best.rate(n_bytes) / loads_only
        report.verdict(f"{what}: of the loads-only ceiling", ratio, *OF_LOADS[1:])
    if not peer:
        return
    setting, timing = fastest(theirs)
    if tokens in WITH_SCHEDULE:
        call = peer.call(setting, x, on_gpu, prepared=False)
        name = f"upstream, {setting}, schedule in the call"
        report.contender(what, name, call, *numbers, check)
    ratio = timing.sustained_us / best.sustained_us
    report.verdict(f"{what}: {engine} / upstream's best", ratio, *REQUIRED[tokens])
    plain = ours["triton"]
    if tokens == PLAIN_TRITON[0] and plain is not None:
        ratio = timing.sustained_us / plain.sustained_us
        report.verdict(f"{what}: plain Triton / upstream's best", ratio, *PLAIN_TRITON[1:])


def _settings(tokens: int) -> list[str]:
    from upstream_matmul import SETTINGS

    # Persistent kernels of upstream's are several times slower at many rows, and take their time;
    # eight warps are faster only there.
    many = tokens > 64
    return [name for name in SETTINGS if ("one tile" in name if many else "8 warps" not in name)]


def _upstream(w: MXFP4Weight) -> Any:
    return Upstream(w) if HAS_UPSTREAM else None


def _engines(packed: PackedWeight) -> list[str]:
    x = torch.randn(8, packed.shape[-1], device="cuda").to(torch.bfloat16)
    try:
        matmul(x, packed.expert(0), engine="gluon")
    except ValueError as reason:
        print(f"no Gluon: {reason}", flush=True)
        return ["triton"]
    return ["triton", "gluon"]


def _against_cublas(report: Report, tokens: int, best: Timing) -> None:
    x = torch.randn(tokens * EXPERTS, K, device="cuda").to(torch.bfloat16)
    w = torch.randn(N, K, device="cuda").to(torch.bfloat16)
    n_bytes, flops = 2 * (x.numel() + w.numel() + len(x) * N), 2.0 * len(x) * N * K
    name = "cuBLAS, bf16, one dense weight"
    dense = report.contender(
        f"{tokens} tokens", name, lambda: x @ w.T, n_bytes, flops, lambda y: 0.0
    )
    if dense is not None:
        ratio = dense.sustained_us / best.sustained_us
        report.verdict(f"{tokens} tokens: of cuBLAS in bf16", ratio, 0.0, OF_CUBLAS)


def dense(report: Report, rows: int = 64, n: int = 8192, k: int = 8192, copies: int = 8) -> None:
    """Measure one dense weight that is never in L2."""
    what, numbers = f"{rows}x{n}x{k}", (n * k * 17 // 32 + 2 * rows * (n + k), 2.0 * rows * n * k)
    x = torch.randn(rows, k, device="cuda").to(torch.bfloat16)
    weights = [weight(1, n, k) for _ in range(copies)]
    flat = [MXFP4Weight(w.codes[0], w.scales[0]) for w in weights]
    packed = [pack(w) for w in flat]
    wanted = x.double() @ dequantize(flat[-1], torch.float64).T

    def check(y: torch.Tensor) -> float:
        return float((y.double() - wanted).norm() / wanted.norm())

    def all_of(calls: list[Call]) -> Call:
        return lambda: [call() for call in calls][-1]

    ours: dict[str, Timing | None] = {}
    for engine in _engines(packed[0]):
        calls = [functools.partial(matmul, x, w, engine=engine) for w in packed]
        ours[engine] = report.contender(
            what, f"ours, {engine}", all_of(calls), *numbers, check, copies
        )
    theirs: dict[str, Timing | None] = {}
    if HAS_UPSTREAM:
        peers = [_upstream(w) for w in weights]
        for setting in _settings(rows):
            calls = [peer.call(setting, x, None) for peer in peers]
            theirs[setting] = report.contender(
                what, f"upstream, {setting}", all_of(calls), *numbers, check, copies
            )
        (engine, best), (_, timing) = fastest(ours), fastest(theirs)
        ratio = timing.sustained_us / best.sustained_us
        report.verdict(f"{what}: {engine} / upstream's best", ratio, DENSE, None)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--tokens", nargs="*", type=int, default=list(TOKENS), choices=TOKENS)
    parser.add_argument("--no-dense", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    about = machine()
    print(", ".join(f"{key} {about[key]}" for key in ("gpu", "driver", "torch", "triton")))
    limits = ceilings(EXPERTS * N * K * 17 // 32)
    for name, limit in limits.items():
        print(
            f"{name}: {limit['gbytes_per_s']:.0f} GB/s, burst {limit['gbytes_per_s_burst']:.0f}, "
            f"{limit['mhz']} MHz, {limit['watts']} W",
            flush=True,
        )
    options = {t: str(matmul_options(t * EXPERTS, N, K, experts=EXPERTS)) for t in args.tokens}
    about |= {"command": " ".join(sys.argv[1:]), "shape": [EXPERTS, N, K], "ceilings": limits}
    report = Report(args.result, {**about, "plain_triton_options": options})
    if args.tokens:
        mixture(report, args.tokens, limits["loads only"]["gbytes_per_s"])
    torch.cuda.empty_cache()
    if not args.no_dense:
        dense(report)
    print(report.table())


if __name__ == "__main__":
    main()
