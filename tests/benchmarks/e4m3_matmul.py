"""An experiment: would the matmul be faster through e4m3 tensor cores? Few rows, where power binds.

    python tests/benchmarks/e4m3_matmul.py [RESULT.json]

e2m1 becomes e4m3 by five integer operations for eight weights, without a multiplication; bf16 x is
written as the sum of two e4m3 with a scale for each row (a kernel of its own, timed with the rest);
the e8m0 scales multiply float32 sums of 32 products. What it costs: x is exact only for values down
to 2**-10 of the largest in their row, and an error of 2**-19 of that remains below.

The Gluon engine is measured beside it, on the same weights. Blocks have at most eight rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from e4m3_kernel import e4m3_kernel
from gpu_timing import machine, measure
from hopper_matmul import EXPERTS, K, N, error, sizes_of, weight
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from protonlab.kernels import MXFP4Weight, PackedWeight, Routing, matmul, pack, prepare
from protonlab.kernels._layout import CODE_BITS
from protonlab.kernels._schedule import cut

TOKENS = (1, 2, 4)
ROWS, STRIPS, STAGES = 8, 3, 3
RAGGED_END, MOST = 0x40000000, 0x7FFF0000
# For h = 0 and 1: where mantissa, two bits of exponent and sign of code (j0, h, e) lie in byte
# 2 * j0 + e of a word. One mask takes the first, two shifts the second.
BYTE_BITS = ((2, 3, 4, 7), (0, 1, 6, 5))


@triton.jit
def split_kernel(x_ptr, out_ptr, scale_ptr, K, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    """Write a row of x as two e4m3, in the order of the product's fragments, and its scale."""
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * K + c, mask=c < K, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x), 0)
    exponent = tl.maximum((largest.to(tl.int32, bitcast=True) >> 23) - 127, -100)
    scaled = x * ((134 - exponent) << 23).to(tl.float32, bitcast=True)
    high = scaled.to(tl.float8e4nv)
    low = (scaled - high.to(tl.float32)).to(tl.float8e4nv)
    # 16 * j1 + 8 * j0 + 2 * t + e goes to 16 * j1 + 4 * t + 2 * j0 + e.
    place = (c // 32) * 64 + (c // 16 % 2) * 16 + (c // 2 % 4) * 4 + (c // 8 % 2) * 2 + c % 2
    tl.store(out_ptr + row * 2 * K + place, high, mask=c < K)
    tl.store(out_ptr + row * 2 * K + place + 32, low, mask=c < K)
    tl.store(scale_ptr + row, ((120 + exponent) << 23).to(tl.float32, bitcast=True))


def repacked(w: PackedWeight) -> torch.Tensor:
    """Move the bits of every word to where this kernel wants them."""
    out = torch.empty_like(w.values)
    for expert, values in enumerate(w.values):
        words = values.view(torch.int32)
        new = torch.zeros_like(words)
        for slot, places in enumerate(CODE_BITS):  # slot 2 * j0 + h
            for lane in range(2):
                byte = 2 * (slot // 2) + lane
                for place, target in zip(places, BYTE_BITS[slot % 2], strict=True):
                    new |= ((words >> ((place + 16 * lane) % 32)) & 1) << (target + 8 * byte)
        out[expert] = new.view(torch.uint8)
    return out


class E4M3:
    """A weight for the experiment, and calls with it."""

    def __init__(self, w: PackedWeight) -> None:
        self._n, self._k = w.shape[-2:]
        self._row_tiles, self._steps = w.values.shape[1:3]
        self._values = repacked(w)
        # The e8m0 codes themselves: a float32 holds them, but not those that the shift makes large.
        self._scales = (w.scales.int() - w.scale_shift).clamp(0).to(torch.uint8)
        self._scale = 64.0  # e4m3's smallest exponent is 6 below e2m1's

    def call(self, x: torch.Tensor, sizes: torch.Tensor, *, split: bool) -> Any:
        """Give a call that writes y, with x split in it or before."""
        rows, k = x.shape
        terms = torch.empty(rows, 2 * k, dtype=torch.float8_e4m3fn, device="cuda")
        row_scales = torch.empty(rows, device="cuda")
        y = torch.full((rows, self._n), float("nan"), dtype=x.dtype, device="cuda")
        schedule = cut(Routing(sizes.cuda()), rows, (ROWS,), bytes_each=0, bytes_fixed=0)
        words = TensorDescriptor.from_tensor(
            self._values.view(-1, 256), [32, 256], gl.NVMMASharedLayout(0, 8, 2)
        )
        scales = TensorDescriptor.from_tensor(
            self._scales.view(torch.int32).view(-1, 64), [2, 64], gl.NVMMASharedLayout(0, 32, 2)
        )
        stride = 2 * k
        boxes = TensorDescriptor(
            terms,
            [MOST, MOST, k // 16, RAGGED_END, 32],
            [2**34 - stride, stride, 32, stride, 1],
            [1, 1, 8, ROWS, 32],
            gl.NVMMASharedLayout(32, 8, 5),
        )
        programs = 2 * torch.cuda.get_device_properties(0).multi_processor_count

        def splitting() -> None:
            split_kernel[(rows,)](
                x, terms, row_scales, k, BLOCK=triton.next_power_of_2(k), num_warps=8
            )

        def run() -> torch.Tensor:
            if split:
                splitting()
            e4m3_kernel[(programs,)](
                boxes,
                words,
                scales,
                y,
                row_scales,
                schedule.blocks,
                schedule.stats,
                self._row_tiles,
                self._steps,
                self._n,
                self._scale,
                ROWS=ROWS,
                STRIPS=STRIPS,
                STAGES=STAGES,
                num_warps=4,
                maxnreg=128,
            )
            return y

        splitting()
        return run


def main() -> None:
    """Measure at few tokens, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    args = parser.parse_args()
    torch.manual_seed(0)
    about = machine()
    w: MXFP4Weight = weight(EXPERTS, N, K)
    packed = pack(w)
    contender = E4M3(packed)
    rows = []
    for tokens in TOKENS:
        sizes = sizes_of(tokens)
        x = torch.randn(tokens * EXPERTS, K, device="cuda").to(torch.bfloat16)
        n_bytes = int((sizes > 0).sum()) * N * K * 17 // 32 + len(x) * (N + K) * 2
        routing = prepare(x, packed, Routing(sizes), engine="gluon")
        for name, call in (
            ("gluon", functools.partial(matmul, x, packed, routing=routing, engine="gluon")),
            ("e4m3, x split in the call", contender.call(x, sizes, split=True)),
            ("e4m3, x split before", contender.call(x, sizes, split=False)),
        ):
            off = error(call(), x, w, sizes)
            timing = measure(call)
            row = {"tokens": tokens, "contender": name, "error": off, **dataclasses.asdict(timing)}
            rows.append(row | {"gbytes_per_s": round(timing.rate(n_bytes), 1)})
            print(
                f"{tokens:3} tokens  {name:28} {timing.sustained_us:7.1f} us "
                f"{timing.rate(n_bytes):6.0f} GB/s | burst {timing.burst_us:7.1f} us "
                f"{timing.burst_rate(n_bytes):6.0f} GB/s | {timing.mhz} MHz {timing.watts} W "
                f"| error {off:.1e}",
                flush=True,
            )
    if args.result:
        args.result.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
