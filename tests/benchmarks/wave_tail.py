"""Can tiles be spread better? The Gluon kernel with its last wave in smaller tiles, and L2 hints.

    python tests/benchmarks/wave_tail.py [RESULT.json] [--tokens 1 4 16]

128 experts, N = K = 5760, random routing: as in `hopper_matmul`. A program computes tile after tile
of up to five strips, and a launch of 1125 such tiles on 264 programs has 4.26 waves: in the last,
most of the GPU waits. Variants of `wave_tail_kernel`, each compared with float64:

- *package*: `matmul` as it is. *same*: the copy that is varied, for the price of copying it.
- *rests last*: the whole waves of each row class, and then what is left of all of them, as tiles of
  one strip, a program a tile, which the GPU hands out as programs end.
- *and a wave*: with one wave of each class more among them.
- *N strips*: tiles of at most so many.
- *w once*, *x often*: TMA tells L2 that weights will not be read again, and that x will.

Kernels are compiled before, by several processes at once.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from gpu_timing import ceilings, machine, measure
from hopper_matmul import EXPERTS, K, N, error, sizes_of, weight
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from wave_tail_kernel import share_kernel

from protonlab.kernels import (
    PackedWeight,
    PreparedRouting,
    Routing,
    matmul,
    matmul_options,
    pack,
    prepare,
)
from protonlab.kernels._gluon import _rows_of
from protonlab.kernels._row_classes import ClassShape, class_shape, row_classes

TOKENS = (1, 4, 8, 16)
ERROR = 4e-3
REST_STAGES = 8
Call = Callable[[], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Variant:
    """What is done differently.

    Parameters
    ----------
    kept
        Waves of each row class that are computed in tiles of one strip, besides the last one that
        is not whole; None for no such launches.
    hints
        1 to have weights leave L2 first, 2 to have x stay there, too.
    strips
        Of a tile at most; None for the package's choice, 5 up to 4 tokens an expert and 3 above.
    """

    kept: int | None = None
    hints: int = 0
    strips: int | None = None


VARIANTS: dict[str, Variant] = {
    "same": Variant(),
    "rests last": Variant(0),
    "rests last, and a wave": Variant(1),
    "3 strips, rests last": Variant(0, strips=3),
    "5 strips, rests last": Variant(0, strips=5),
    "w once": Variant(hints=1),
    "w once, x often": Variant(hints=2),
    "rests last, w once": Variant(0, 1),
}


class Launches:
    """A matmul whose launches can be varied."""

    def __init__(
        self, x: torch.Tensor, w: PackedWeight, routing: PreparedRouting, variant: Variant
    ) -> None:
        self._x, self._w, self._routing, self._variant = x, w, routing, variant
        self._row_tiles, self._steps = w.values.shape[1:3]
        self._sms = torch.cuda.get_device_properties(x.device).multi_processor_count
        flat = gl.NVMMASharedLayout(0, 32, 2)
        words, scales = w.values.view(torch.int32), w.scales.view(torch.int32)
        self._words = TensorDescriptor.from_tensor(words.view(-1, 256), [8, 256], flat)
        self._scales = TensorDescriptor.from_tensor(scales.view(-1, 64), [2, 64], flat)

    def __call__(self) -> torch.Tensor:
        y = torch.empty(len(self._x), self._w.shape[-2], dtype=self._x.dtype, device="cuda")
        for turn, launch in enumerate(self._launches()):
            self._launch(y, *launch, pdl=turn > 0)
        return y

    def _launches(self) -> list[tuple[int, str, ClassShape, ClassShape, int]]:
        """Row class, part, shape of whole tiles and of the launch's own, programs."""
        kept, found, rests = self._variant.kept, [], []
        for index, blocks in enumerate(self._routing.schedule.most_blocks):
            whole, cut = self._shape(index), self._shape(index, 1)
            tiles = blocks * triton.cdiv(self._row_tiles, whole.strips)
            wave = self._wave(whole)
            waves = tiles // wave - (kept or 0)
            if kept is None and tiles:
                found.append((index, "all", whole, whole, min(tiles, wave)))
            elif waves > 0:
                found.append((index, "waves", whole, whole, wave))
            rest = tiles - max(waves, 0) * wave
            if kept is not None and rest:  # a program a tile
                rests.append((index, "rest", whole, cut, rest * whole.strips))
        return found + rests[::-1]

    def _wave(self, whole: ClassShape) -> int:
        return self._sms * whole.programs_per_sm

    def _shape(self, index: int, strips: int | None = None) -> ClassShape:
        options = self._routing.options
        return class_shape(
            self._routing.schedule.row_classes[index],
            self._row_tiles,
            strips=strips or options.strips,
            stages=REST_STAGES if strips else options.num_stages,
            warps=options.num_warps,
            programs_per_sm=options.programs_per_sm,
        )

    def _launch(
        self,
        y: torch.Tensor,
        index: int,
        part: str,
        whole: ClassShape,
        shape: ClassShape,
        programs: int,
        *,
        pdl: bool,
    ) -> None:
        head = _rows_of(self._x, shape.head)
        share_kernel[(programs,)](
            head,
            _rows_of(self._x, shape.tail) if shape.tail else head,
            self._words,
            self._scales,
            y,
            self._routing.schedule.blocks,
            self._routing.schedule.stats,
            index,
            len(y),
            self._row_tiles,
            self._steps,
            y.shape[1],
            self._w.output_scale,
            self._wave(whole),
            self._variant.kept or 0,
            PART=part,
            WHOLE=whole.strips,
            HEAD=shape.head,
            TAIL=shape.tail,
            STRIPS=shape.strips,
            STAGES=shape.stages,
            WARPS=shape.warps,
            HINTS=self._variant.hints,
            num_warps=shape.warps,
            maxnreg=shape.registers,
            launch_pdl=pdl,
        )


def calls(x: torch.Tensor, w: PackedWeight, sizes: torch.Tensor) -> dict[str, Call]:
    """Give a call for the package's matmul and for each variant."""
    shape, experts = (len(x), *w.shape[-2:]), len(sizes)
    options = matmul_options(*shape, experts=experts, engine="gluon")
    routing = prepare(x, w, Routing(sizes), options=options)
    found: dict[str, Call] = {"package": functools.partial(matmul, x, w, routing=routing)}
    for name, variant in VARIANTS.items():
        if variant.strips == options.strips:
            continue  # the package's choice, which other variants have
        cut = dataclasses.replace(options, strips=variant.strips or options.strips)
        found[name] = Launches(x, w, dataclasses.replace(routing, options=cut), variant)
    return found


def compile_for(tokens: int, name: str) -> None:
    """Run a variant on a few experts: kernels depend on row classes and N, not on how many.

    Sizes have the benchmark's average, and one fills each row class that is likely to be met.
    """
    sizes = [most for most in row_classes(tokens) if most <= 4 * tokens + 12]
    while sum(sizes) > tokens * len(sizes):
        sizes.append(0)
    w = pack(weight(len(sizes), N, K))
    x = torch.randn(sum(sizes), K, device="cuda").to(torch.bfloat16)
    calls(x, w, torch.tensor(sizes)).get(name, torch.cuda.synchronize)()
    torch.cuda.synchronize()


def main() -> None:
    """Measure every variant at each number of tokens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--tokens", nargs="*", type=int, default=list(TOKENS))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=[*VARIANTS])
    args = parser.parse_args()
    torch.manual_seed(0)
    about = machine()
    context = multiprocessing.get_context("spawn")
    names = ["package", *args.variants]
    with concurrent.futures.ProcessPoolExecutor(12, context) as pool:
        for one in [pool.submit(compile_for, t, name) for name in names for t in args.tokens]:
            one.result()
    limit = ceilings(EXPERTS * N * K * 17 // 32)["loads only"]
    print(f"loads only: {limit['gbytes_per_s']:.0f} GB/s, burst {limit['gbytes_per_s_burst']:.0f}")
    flat, rows = weight(EXPERTS, N, K), []
    w = pack(flat)
    for tokens in args.tokens:
        sizes = sizes_of(tokens)
        x = torch.randn(int(sizes.sum()), K, device="cuda").to(torch.bfloat16)
        n_bytes = int((sizes > 0).sum()) * N * K * 17 // 32 + len(x) * (N + K) * 2
        base: dict[str, Any] = {}
        for name, call in calls(x, w, sizes).items():
            if name not in names:
                continue
            off = error(call(), x, flat, sizes)
            timing = measure(call)
            row = {
                "tokens": tokens,
                "variant": name,
                "error": off,
                "gbytes_per_s": timing.rate(n_bytes),
                "gbytes_per_s_burst": timing.burst_rate(n_bytes),
                **dataclasses.asdict(timing),
            }
            base = base or row
            rows.append(row)
            print(
                f"{tokens:4} {name:24} {timing.sustained_us:7.1f} us {row['gbytes_per_s']:5.0f} "
                f"({base['sustained_us'] / timing.sustained_us:.3f}) | burst "
                f"{timing.burst_us:7.1f} us {row['gbytes_per_s_burst']:5.0f} "
                f"({base['burst_us'] / timing.burst_us:.3f}) | {timing.mhz} MHz {timing.watts} W"
                f"{'' if off < ERROR else f' WRONG: error {off:.1e}'}",
                flush=True,
            )
            if args.result:
                found = {**about, "loads only": limit, "rows": rows}
                args.result.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
