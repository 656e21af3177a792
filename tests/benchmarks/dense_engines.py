"""One weight without routing: plain Triton against Gluon, which `engine="auto"` chooses between.

    python tests/benchmarks/dense_engines.py [RESULT.json]

Weights of five shapes, N x K, and 1 to 1024 rows; four calls in a CUDA graph, L2 not flushed, so
that the small weights lie in it. ``auto`` is the engine that `matmul` chooses. Errors are against
float64 on the dequantised weight.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from pathlib import Path
from typing import Any

import torch
from gpu_timing import machine, measure
from hopper_matmul import weight

from protonlab.kernels import MXFP4Weight, dequantize, matmul, pack
from protonlab.kernels._selection import gluon_pays

SHAPES = ((2048, 4096), (4096, 4096), (5760, 5760), (8192, 8192), (28672, 4096))
ROWS = (1, 16, 32, 64, 128, 1024)
ENGINES = ("triton", "gluon")
CALLS, CHECKED = 4, 64


def main(result: Path | None) -> None:
    """Print a line a shape and number of rows, and keep all of it."""
    torch.manual_seed(0)
    about, rows_of = machine(), []
    for n, k in SHAPES:
        many = weight(1, n, k)
        w = MXFP4Weight(many.codes[0], many.scales[0])
        packed, dense = pack(w), dequantize(w, torch.float64).T
        for rows in ROWS:
            x = torch.randn(rows, k, device="cuda").to(torch.bfloat16)
            wanted = x[:CHECKED].double() @ dense
            auto = "gluon" if gluon_pays(n, rows) else "triton"
            row: dict[str, Any] = {"n": n, "k": k, "rows": rows, "auto": auto}
            for engine in ENGINES:
                call = functools.partial(matmul, x, packed, engine=engine)
                timing = measure(lambda call=call: [call() for _ in range(CALLS)], times=CALLS)
                error = (call()[:CHECKED].double() - wanted).norm() / wanted.norm()
                row[engine] = {**dataclasses.asdict(timing), "error": float(error)}
            ratio = row["triton"]["sustained_us"] / row["gluon"]["sustained_us"]
            rows_of.append({**row, "gluon_is_faster_by": ratio})
            times = ", ".join(
                f"{engine} {row[engine]['sustained_us']:.1f} µs" for engine in ENGINES
            )
            print(f"{rows:5} x {n} x {k}: {times}, ratio {ratio:.2f}", flush=True)
            if result is not None:  # at once, should there be no time for the rest
                document = {**about, "calls": CALLS, "rows": rows_of}
                result.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
