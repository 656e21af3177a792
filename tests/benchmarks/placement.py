"""How far where tensors lie moves a ratio: epilogue overlap against none, each level's own share.

    python tests/benchmarks/placement.py RESULT.json [--processes 6] [--k 256] [--tokens 1 4 16 64]
    python tests/benchmarks/placement.py RESULT.json --show

Processes, one after the other; in each, weights and inputs are copied to several places; at each,
the kernel is loaded several times; of each, CUDA graphs are captured several times, which gives
outputs another place; in each, blocks of two pairs are measured. The table gives the standard
deviation of log(serial / overlap) that each level adds to those below it, in percent, from means of
means. Beside it a variant stands against itself, with graphs of its own.

``results/placement_h200_triton_3.9.json`` was measured while copies lay behind gaps of at most
96 MiB, nothing freed in between; here `elsewhere` and `scattered` spread them further.

Without a GPU, ``TRITON_INTERPRET=1`` and ``--experts 2 --n 128 --k 128 --tokens 1`` run all of it;
times then mean nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

LEVELS = ("process", "inputs", "module", "graph")
PLACES, MODULES, GRAPHS, BLOCKS, WARM = 2, 2, 2, 3, 2
Place = tuple[int, ...]


def measured(calls: dict[str, Callable[[], object]], seed: int, kept: list[Any]) -> list[float]:
    """Log ratio of each block, in graphs of their own."""
    import torch

    from protonlab.experiment._cuda_bench import CudaBench
    from protonlab.experiment._host_bench import HostBench
    from protonlab.experiment._order import balanced_orders
    from protonlab.experiment._variants import two_variants

    bench: Any = (CudaBench if torch.cuda.is_available() else HostBench)(None, "sustained")
    try:
        bench.open(two_variants(calls), (1, 1))
        for _ in range(WARM):
            times = bench.warm()
        bench.settle(times)
        orders = balanced_orders(seed)
        blocks = [bench.block(next(orders)) for _ in range(BLOCKS)]
        kept.append(dict(getattr(bench, "_graphs", {})))  # the next ones lie elsewhere
    finally:
        bench.close()
    found = []
    for block in blocks:
        logs = np.log(block.kernels_ns or block.elapsed_ns)
        is_b = np.array([letter == "B" for letter in block.order])
        found.append(float(logs[is_b].mean() - logs[~is_b].mean()))
    return found


def cells(number: int, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure what one process does."""
    import torch

    from protonlab import device
    from protonlab.epilogue import EpilogueCase, EpilogueWeights
    from protonlab.experiment._placement import scattered
    from protonlab.kernels._matmul_kernel import matmul_kernel

    kept: list[Any] = []  # nothing is freed, so that nothing comes to lie where it lay
    for k in args.k:
        weights = EpilogueWeights(args.experts, args.n, k, device())
        for _ in weights.make("ours"):
            pass
        for place, tokens in ((place, each) for place in range(PLACES) for each in args.tokens):
            makes = weights.calls(EpilogueCase("ours", tokens, args.experts, args.n, k))
            with scattered() if torch.cuda.is_available() else nullcontext():
                calls = dict(makes.make())
            where = {"k": k, "tokens": tokens, "process": number, "inputs": place}
            for module in range(MODULES):
                loaded = getattr(matmul_kernel, "device_caches", {})  # the interpreter loads none
                if module:
                    kept.append(dict(loaded))
                    loaded.clear()
                for call in calls.values():  # loads the kernel
                    call()
                for graph in range(GRAPHS):
                    logs = measured(calls, 100 * number + graph, kept)
                    yield where | {"module": module, "graph": graph, "same": False, "logs": logs}
            if place == 0:
                one = calls["overlap"]
                logs = measured({"one": one, "two": lambda one=one: one()}, number, kept)
                yield where | {"module": 0, "graph": 0, "same": True, "logs": logs}
            kept.append(calls)


def shares(values: dict[Place, list[float]]) -> dict[str, float]:
    """Standard deviation that each level adds, in %; NaN where there is one of it only."""
    of_blocks = float(np.mean([np.var(logs, ddof=1) for logs in values.values()]))
    found = {"two pairs": 100 * of_blocks**0.5}
    below = {path: (float(np.mean(logs)), of_blocks / len(logs)) for path, logs in values.items()}
    for depth in reversed(range(len(LEVELS))):
        groups: dict[Place, list[tuple[float, float]]] = {}
        for path, entry in below.items():
            groups.setdefault(path[:depth], []).append(entry)
        several = [group for group in groups.values() if len(group) > 1]
        own = float("nan")
        if several:
            free = sum(len(group) - 1 for group in several)
            spread = sum(np.var([mean for mean, _ in group]) * len(group) for group in several)
            noise = np.mean([noise for group in several for _, noise in group])
            own = max(0.0, float(spread / free - noise))
        found[LEVELS[depth]] = 100 * own**0.5
        known = 0.0 if np.isnan(own) else own
        below = {
            path: (
                float(np.mean([mean for mean, _ in group])),
                float(sum(noise + known for _, noise in group)) / len(group) ** 2,
            )
            for path, group in groups.items()
        }
    return found


def show(document: dict[str, Any]) -> None:
    """Print the table."""
    columns = (*LEVELS, "two pairs")
    print(f"{document['gpu']}: log(serial / overlap), standard deviations in %")
    print(f"{'K, tokens':>10} {'mean':>7} " + " ".join(f"{name:>9}" for name in columns))
    for k, tokens in sorted({(cell["k"], cell["tokens"]) for cell in document["cells"]}):
        chosen = [each for each in document["cells"] if (each["k"], each["tokens"]) == (k, tokens)]
        values = {
            tuple(each[level] for level in LEVELS): each["logs"]
            for each in chosen
            if not each["same"]
        }
        found = shares(values)
        mean = 100 * np.mean([np.mean(logs) for logs in values.values()])
        print(
            f"{f'{k}, {tokens}':>10} {mean:7.2f} "
            + " ".join(f"{found[name]:9.2f}" for name in columns)
        )
        same = [f"{100 * np.mean(each['logs']):+.2f}" for each in chosen if each["same"]]
        if same:
            print(f"{'':>10} against itself, one a process: {' '.join(same)}")


def main() -> int:
    """Measure in one process after the other, keep what they gave, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--n", type=int, default=5760)
    parser.add_argument("--k", nargs="*", type=int, default=[256])
    parser.add_argument("--tokens", nargs="*", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--show", action="store_true", help="only print what RESULT.json holds")
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.process is not None:
        from protonlab.capture import enable_interpreter
        from protonlab.capture._surroundings import gpu_name

        enable_interpreter()
        found = {"gpu": gpu_name(), "cells": list(cells(args.process, args))}
        args.result.write_text(json.dumps(found))
        return 0
    if not args.show:
        document: dict[str, Any] = {"cells": []}
        part = args.result.with_suffix(".part")
        for number in range(args.processes):
            command = [sys.executable, __file__, str(part), "--process", str(number)]
            for name in ("experts", "n", "k", "tokens"):
                given = getattr(args, name)
                command += [f"--{name}", *map(str, given if isinstance(given, list) else [given])]
            subprocess.run(command, check=True)
            found = json.loads(part.read_text())
            document = {**found, "cells": document["cells"] + found["cells"]}
            part.unlink()
        args.result.write_text(json.dumps(document) + "\n")
    show(json.loads(args.result.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
