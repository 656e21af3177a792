"""What FLATTEN_LOOPS gives: one kernel with it, without, and with one tile a program.

    python tests/benchmarks/flatten_loops.py [RESULT.json] [--k 256 5760]

Plain Triton, 128 experts, N = 5760, 4 and 16 tokens an expert at random, K from 256 to 5760. The
Gluon engine, whose loads run ahead without the switch, is measured beside it; see `gpu_timing`.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import torch
from gpu_timing import machine, measure
from hopper_matmul import EXPERTS, N, weight

from protonlab.kernels import PackedWeight, Routing, matmul, matmul_options, pack, prepare

STEPS = (256, 512, 1024, 2048, 5760)
TOKENS = (4, 16)
VARIANTS: dict[str, dict[str, Any]] = {
    "flattened": {"overlap_epilogue": True},
    "not flattened": {"overlap_epilogue": False},
    "one tile a program": {"persistent": False},
    "gluon": {"engine": "gluon"},
}


def one(w: PackedWeight, x: torch.Tensor, sizes: torch.Tensor, variant: str) -> dict[str, Any]:
    """Measure one variant at one size."""
    k = x.shape[1]
    options = matmul_options(len(x), N, k, experts=EXPERTS, **VARIANTS[variant])
    routing = prepare(x, w, Routing(sizes), options=options)
    timing = measure(functools.partial(matmul, x, w, routing=routing, options=options))
    n_bytes = int((sizes > 0).sum()) * N * k * 17 // 32 + len(x) * (N + k) * 2
    return {"gbytes_per_s": round(timing.rate(n_bytes), 1), **dataclasses.asdict(timing)}


def main() -> None:
    """Print a table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--k", nargs="*", type=int, default=list(STEPS))
    args = parser.parse_args()
    torch.manual_seed(0)
    about = machine()
    print(", ".join(f"{key} {about[key]}" for key in ("gpu", "driver", "torch", "triton")))
    print(f"{'K':>6} {'tokens':>7}  " + "".join(f"{name:>22}" for name in VARIANTS))
    rows = []
    for k in args.k:
        w = pack(weight(EXPERTS, N, k))
        for tokens in TOKENS:
            sizes = torch.bincount(torch.randint(EXPERTS, (tokens * EXPERTS,)), minlength=EXPERTS)
            x = torch.randn(tokens * EXPERTS, k, device="cuda").to(torch.bfloat16)
            line = f"{k:6} {tokens:7}  "
            for variant in VARIANTS:
                try:
                    found = one(w, x, sizes, variant)
                except ValueError as reason:  # an engine that this Triton does not have
                    line += f"{'-':>22}"
                    rows.append({"k": k, "tokens": tokens, "variant": variant, "no": str(reason)})
                    continue
                rows.append({"k": k, "tokens": tokens, "variant": variant, **found})
                line += f"{found['sustained_us']:10.1f} ({found['burst_us']:6.1f}) us"
            print(line, flush=True)
    if args.result:
        args.result.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
