"""Small launches for `sanitize`: every kernel of ours, in groups, and kernels that have none of it.

    python tests/benchmarks/sanitized_kernels.py GROUP PART/PARTS

A line a case: its name, and its relative error against float64, nan where it did not end. With no
cache of torch's, each tensor is an allocation of its own, so that an access behind it is seen:
``PYTORCH_NO_CUDA_MEMORY_CACHING=1``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton

from protonlab.kernels import (
    Epilogue,
    MXFP4Weight,
    PackedWeight,
    Routing,
    dequantize,
    matmul,
    matmul_options,
    pack,
    prepare,
    quantize_mxfp4,
    unpack,
)

HAS_GLUON = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # Triton's interpreter takes the CPU's
N, K = 200, 160  # neither fills its last tile
RAGGED = [3, 0, 21, 9]

Case = Callable[[], float]


def random(*shape: int) -> torch.Tensor:
    """Make numbers on the CPU, so that nothing but ours runs on the GPU."""
    return torch.randn(*shape)


def weight(*shape: int, spread: int = 0) -> MXFP4Weight:
    """Quantise a weight; with a spread, scales that reach 2**-spread and 2**spread."""
    w = random(*shape)
    if spread:
        w *= torch.exp2(torch.linspace(-spread, spread, shape[-2])[:, None])
    return quantize_mxfp4(w)


def wanted(
    x: torch.Tensor, w: MXFP4Weight | torch.Tensor, sizes: list[int], epilogue: Epilogue
) -> torch.Tensor:
    """Y in float64 on the CPU, rows in the order of experts."""
    values = dequantize(w, torch.float64) if isinstance(w, MXFP4Weight) else w.double()
    values = values.reshape(-1, *values.shape[-2:])
    parts = zip(x.double().split(sizes), values, strict=True)
    y = torch.cat([rows @ of_expert.T for rows, of_expert in parts])
    if epilogue.bias is not None:
        y = y + epilogue.bias.double().cpu()
    if epilogue.activation:
        gate, linear = y[:, 0::2], y[:, 1::2]
        y = gate * torch.sigmoid(gate) * linear
    return y


def case(
    sizes: list[int] | None,
    *,
    n: int = N,
    k: int = K,
    rows: int = 5,
    dtype: torch.dtype = torch.bfloat16,
    plain: bool = False,
    moved: bool = False,
    on_gpu: bool = False,
    epilogue: Epilogue | None = None,
    spread: int = 0,
    engine: Any = "triton",
    **choices: Any,
) -> Case:
    """Make a case: one matmul, its options as given, compared with float64."""

    def run() -> float:
        shape = (n, k) if sizes is None else (len(sizes), n, k)
        count = rows if sizes is None else sum(sizes)
        w = random(*shape).to(dtype) if plain else weight(*shape, spread=spread)
        x, given = random(count, k).to(dtype), epilogue or Epilogue()
        y_wanted = wanted(x, w, [count] if sizes is None else sizes, given)
        packed = w.to(DEVICE) if isinstance(w, torch.Tensor) else pack(w).to(DEVICE)
        routing = None
        if sizes is not None:
            known: Any = torch.tensor(sizes).to(DEVICE) if on_gpu else sizes
            order = torch.randperm(count)
            place = torch.randperm(count)
            if moved:  # y[place[i]] belongs to x[order[i]], and x comes in another order
                scrambled = torch.empty_like(x)
                scrambled[order] = x
                x, y_moved = scrambled, torch.empty_like(y_wanted)
                y_moved[place] = y_wanted
                y_wanted = y_moved
            indices = (order.to(DEVICE), place.to(DEVICE)) if moved else ()
            routing = Routing(known, *indices)
        options = matmul_options(
            count,
            n,
            k,
            experts=None if sizes is None else len(sizes),
            packed=not plain,
            engine=engine,
            **choices,
        )
        if given.bias is not None:
            given = Epilogue(given.bias.to(DEVICE), given.activation)
        y = matmul(x.to(DEVICE), packed, routing=routing, epilogue=given, options=options).cpu()
        return float((y.double() - y_wanted).norm() / y_wanted.norm())

    return run


def triton_cases() -> dict[str, Case]:
    """Plain Triton: each switch, each kind of weight, x and epilogue."""
    swiglu = Epilogue(random(N), "swiglu")
    cases = {
        "one weight": case(None),
        "one row, one column, K = 32": case(None, n=1, k=32, rows=1),
        "parts of K": case(None, rows=9, k=1024, split_k=2),
        "mixture, flattened": case(RAGGED, overlap_epilogue=True),
        "mixture, not flattened": case(RAGGED, overlap_epilogue=False),
        "mixture, one tile a program": case(RAGGED, persistent=False),
        "mixture, sizes on the GPU": case(RAGGED, on_gpu=True),
        "more tiles than programs": case([1] * 5, n=4096, overlap_epilogue=True, programs_per_sm=1),
        "every row to one expert": case([0, 70, 0]),
        "gather, scatter, bias": case(RAGGED, moved=True, epilogue=Epilogue(random(N))),
        "swiglu": case(RAGGED, epilogue=swiglu),
        "float16": case(RAGGED, dtype=torch.float16),
        "scales too far apart for the fast path": case(RAGGED, spread=70),
        "plain weight, flattened": case(RAGGED, plain=True, overlap_epilogue=True),
        "plain weight, not flattened": case(RAGGED, plain=True, overlap_epilogue=False),
        "plain weight, parts of K": case(None, rows=130, k=1024, plain=True, split_k=2),
    }
    if HAS_GLUON:
        switches = {"overlap_epilogue": True, "warp_specialize": True}
        cases["mixture, flattened, warp specialized"] = case(RAGGED, **switches)
    return cases


def gluon_cases() -> dict[str, Case]:
    """Gluon: row classes with one product, launches that overlap, rings that come round."""
    return {
        "one weight": case(None, engine="gluon"),
        "one row, one column, K = 32": case(None, n=1, k=32, rows=1, engine="gluon"),
        "parts of K": case(None, rows=9, k=1536, engine="gluon", split_k=3),
        "classes 16, 32, 64, 128": case([3, 0, 21, 9, 40], engine="gluon"),
        "sizes on the GPU": case([3, 0, 21, 9, 40], on_gpu=True, engine="gluon"),
        "every row to one expert": case([0, 150, 0], engine="gluon"),
        "gather, scatter, bias": case(
            RAGGED, moved=True, epilogue=Epilogue(random(N)), engine="gluon"
        ),
        "five strips": case(RAGGED, n=1200, engine="gluon", strips=5),
        "ring of four comes round": case([3, 6], k=1120, engine="gluon", strips=1),
        "more tiles than programs": case(
            [1] * 5, n=4096, engine="gluon", strips=1, programs_per_sm=1
        ),
    }


def gluon_wide_cases() -> dict[str, Case]:
    """Gluon: row classes with two products, and of eight warps."""
    cases = {
        f"class {rows}": case([rows, 0, rows - 1], engine="gluon", row_classes=(rows,))
        for rows in (24, 72, 160, 256)
    }
    cases["classes 64, 72, 80, 96"] = case(
        [60, 70, 79, 90], engine="gluon", row_classes=(64, 72, 80, 96)
    )
    return cases


def quantiser_cases() -> dict[str, Case]:
    """What is written in torch: quantising, packing, and their inverses."""

    def quantised() -> float:
        w = random(2, N, K)
        there, here = quantize_mxfp4(w.to(DEVICE)), quantize_mxfp4(w)
        back = unpack(pack(there))
        pairs = ((there.codes, here.codes), (there.scales, here.scales), (back.codes, here.codes))
        values = (dequantize(there), dequantize(here))
        return float(not all(torch.equal(a.cpu(), b) for a, b in (*pairs, values)))

    return {"quantise, pack, unpack, dequantise": quantised}


def schedule_cases() -> dict[str, Case]:
    """The kernel that cuts a routing into blocks."""

    def schedule(sizes: list[int], classes: tuple[int, ...]) -> Case:
        def run() -> float:
            w: PackedWeight = pack(weight(len(sizes), 32, 32)).to(DEVICE)
            count = sum(max(size, 0) for size in sizes)
            x = random(count, 32).to(torch.bfloat16).to(DEVICE)
            options = matmul_options(
                count, 32, 32, experts=len(sizes), row_classes=classes, block_m=classes[-1]
            )
            routing = Routing(torch.tensor(sizes).to(DEVICE))
            stats = prepare(x, w, routing, options=options).schedule.stats.tolist()
            return float(stats[1] != sum(size > 0 for size in sizes))

        return run

    cases = {
        "schedule": schedule([3, 0, 70, 9], (16,)),
        "schedule of 300 experts": schedule([i % 7 for i in range(300)], (8,)),
    }
    if DEVICE == "cuda":  # on the host they would be refused
        cases["schedule, negative sizes"] = schedule([3, -7, 5, 0], (8,))
    return cases


def bystander_cases() -> dict[str, Case]:
    """Kernels with nothing of ours: what Triton itself is told."""
    import bystanders

    return bystanders.cases()


GROUPS: dict[str, Callable[[], dict[str, Case]]] = (  # the slowest first
    {"gluon": gluon_cases, "gluon, wide": gluon_wide_cases} if HAS_GLUON else {}
) | {"triton": triton_cases, "bystanders": bystander_cases}
GROUPS |= {"schedule": schedule_cases, "quantiser": quantiser_cases}


def results(group: str, part: int, parts: int) -> Iterator[tuple[str, float]]:
    """Run a part of a group's cases, one after the other; each waits for its result."""
    torch.manual_seed(0)
    for name, run in [*GROUPS[group]().items()][part - 1 :: parts]:
        try:
            yield name, run()
        except Exception:
            traceback.print_exc()
            yield name, float("nan")


if __name__ == "__main__":
    for done, off in results(sys.argv[1], *map(int, sys.argv[2].split("/"))):
        print(f"case {done}: {off:.1e}", flush=True)
