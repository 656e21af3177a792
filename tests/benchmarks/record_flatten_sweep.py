"""Record the sweep that ships as ``protonlab.recorded.flatten_sweep``.

    python tests/benchmarks/record_flatten_sweep.py OUT.hatchet

64 experts, N = K = 5760, 1 to 128 tokens an expert at random, ten launches with FLATTEN_LOOPS and
ten without at each size, and ten of the Gluon engine, all compiled before.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import triton.profiler as proton
from hopper_matmul import K, N, weight

from protonlab import Session
from protonlab.kernels import Routing, matmul, matmul_options, pack, prepare

EXPERTS, TOKENS, LAUNCHES = 64, (1, 2, 4, 8, 16, 32, 64, 128), 10


def main(target: Path) -> None:
    """Compile everything, record everything, write the file."""
    torch.manual_seed(0)
    w = pack(weight(EXPERTS, N, K))
    calls = {}
    for tokens in TOKENS:
        rows = tokens * EXPERTS
        sizes = torch.bincount(torch.randint(EXPERTS, (rows,)), minlength=EXPERTS)
        x = torch.randn(rows, K, device="cuda").to(torch.bfloat16)
        for variant in (
            {"overlap_epilogue": True},
            {"overlap_epilogue": False},
            {"engine": "gluon"},
        ):
            options = matmul_options(rows, N, K, experts=EXPERTS, **variant)
            routing = prepare(x, w, Routing(sizes.cuda()), options=options)
            matmul(x, w, routing=routing, options=options)
            calls.setdefault(tokens, []).append((x, routing, options))
    torch.cuda.synchronize()
    with Session("flatten_sweep", include="matmul_kernel|gluon_kernel") as session:
        for tokens, variants in calls.items():
            with proton.scope(f"tokens_per_expert={tokens}"):
                for _ in range(LAUNCHES):
                    for x, routing, options in variants:
                        matmul(x, w, routing=routing, options=options)
        torch.cuda.synchronize()
    session.profile.save(target)
    print(session.profile.kernels.to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
