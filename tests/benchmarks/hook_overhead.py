"""What a launch costs the host: without a session, with one, with Proton's hook, and with ours.

    python tests/benchmarks/hook_overhead.py [RESULT.json] [--rounds 150] [--launches 200]

One small kernel is launched in blocks; between two synchronisations a block takes the host's time.
In each round every contender has one block, in an order that turns with the rounds, so that a drift
of the machine meets all alike. Blocks are short and rounds many, because the host's speed changes
by a third from one tenth of a second to the next. Sessions start and stop outside of the timed
part. What a contender adds is the difference to the block without a hook in the same round. Medians
over the rounds are compared, since some blocks meet a busy machine; intervals are 95 % bootstrap
intervals of those medians. Both hooks record the same three scalars.

Then: a ``%%proton`` cell that holds ``pass``, second cell onward, in a real IPython shell, with
Proton's own start and finalise beside it; and the end of a session with 100,000 launches under 100
scopes, read back, against Proton's own finalise.

Prints a table and the ratios that are required, and writes every number to RESULT.json.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.profiler as proton
from hook_report import described, driver, ratio, report, verdicts
from triton.profiler.hooks import LaunchHook

import protonlab

SCOPES, LAUNCHES_EACH = 100, 1000


def metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    n = args["n"]
    return {"name": "small", "bytes": 8 * n, "flops16": 2.0 * n, "flops32": 1.0 * n}


@triton.jit(launch_metadata=metadata)
def small_kernel(x_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, SIZE)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


class Bench:
    """Everything that may stand around a block of launches."""

    def __init__(self) -> None:
        self.filters = hasattr(LaunchHook, "configure")
        self.x = torch.zeros(128, device="cuda")
        self.contenders = {
            "no session": self.nothing,
            "session without hook": self.session,
            "Proton's hook recording": self.protons,
            "our hook recording": self.ours,
            **({"Proton's hook filtering": self.protons_filter} if self.filters else {}),
            "our hook filtering": self.ours_filter,
        }

    @contextmanager
    def nothing(self) -> Iterator[None]:
        yield

    @contextmanager
    def session(self, hook: Any = None) -> Iterator[None]:
        with tempfile.TemporaryDirectory() as folder:
            number = proton.start(str(Path(folder, "p")), hook=hook)
            try:
                yield
            finally:
                proton.finalize(number)

    @contextmanager
    def protons(self) -> Iterator[None]:
        with self.session("triton"):
            yield

    @contextmanager
    def protons_filter(self) -> Iterator[None]:
        hook = LaunchHook()
        hook.configure(exclude="small_kernel")
        try:
            with self.session(hook):
                yield
        finally:
            hook.configure()

    @contextmanager
    def ours(self, **options: Any) -> Iterator[None]:
        with protonlab.Session(**options) as session:
            yield
        assert session.problem is None, session.problem

    @contextmanager
    def ours_filter(self) -> Iterator[None]:
        with self.ours(exclude="small_kernel"):
            yield

    def launch(self, number: int) -> None:
        kernel, x = small_kernel[(1,)], self.x
        for _ in range(number):
            kernel(x, 128, SIZE=128)

    def block(self, around: Callable[[], Any], launches: int) -> float:
        """Microseconds of a launch."""
        with around():
            self.launch(50)
            torch.cuda.synchronize()
            gc.disable()
            start = time.perf_counter()
            self.launch(launches)
            seconds = time.perf_counter() - start
            gc.enable()
            torch.cuda.synchronize()
        return seconds / launches * 1e6

    def end(self, *, ours: bool) -> float:
        """Seconds from the last launch of a large session to the end of it."""
        with tempfile.TemporaryDirectory() as folder:
            if ours:
                session = protonlab.Session().start()
            else:
                number = proton.start(str(Path(folder, "p")), hook="triton")
            for scope in range(SCOPES):
                with proton.scope(f"scope {scope}"):
                    self.launch(LAUNCHES_EACH)
            torch.cuda.synchronize()
            start = time.perf_counter()
            if ours:
                session.stop()
            else:
                proton.finalize(number, "hatchet_msgpack" if self.filters else "hatchet")
            seconds = time.perf_counter() - start
        if ours:
            row = session.profile.kernels.set_index("name").loc["small"]
            assert row["count"] == SCOPES * LAUNCHES_EACH, row
        return seconds


def cells(bench: Bench, number: int) -> dict[str, list[float]]:
    """Milliseconds of ``%%proton`` cells that hold ``pass``, and of Proton's start and finalise."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "protonlab")
    found: dict[str, list[float]] = {"cell": [], "proton": []}
    for _ in range(number + 1):
        start = time.perf_counter()
        result = shell.run_cell("%%proton view=none\npass")
        found["cell"].append((time.perf_counter() - start) * 1e3)
        assert result.success, result
        start = time.perf_counter()
        with bench.session():
            pass
        found["proton"].append((time.perf_counter() - start) * 1e3)
    return {name: values[1:] for name, values in found.items()}


def measured(bench: Bench, rounds: int, launches: int) -> dict[str, list[float]]:
    names = list(bench.contenders)
    blocks: dict[str, list[float]] = {name: [] for name in names}
    for name in names:  # a round that does not count: compilation, libraries, caches
        bench.block(bench.contenders[name], launches)
    for turn in range(rounds):
        first = turn % len(names)
        gc.collect()
        for name in names[first:] + names[:first]:
            blocks[name].append(bench.block(bench.contenders[name], launches))
    return blocks


def main() -> None:
    """Run everything, print the table, write the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path, help="JSON file for every number")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--launches", type=int, default=200)
    options = parser.parse_args()
    target = options.result and options.result.resolve()
    if not torch.cuda.is_available():
        print("hook_overhead.py needs an NVIDIA GPU; torch finds none, so nothing was measured")
        return
    os.chdir(folder := tempfile.mkdtemp())  # Proton may leave a file here
    began = time.monotonic()
    bench = Bench()
    blocks = measured(bench, options.rounds, options.launches)
    base = blocks["session without hook"]
    added = {
        name: [each - plain for each, plain in zip(values, base, strict=True)]
        for name, values in blocks.items()
        if "hook " in name and name != "session without hook"
    }
    waits = cells(bench, 20)
    ends: dict[str, list[float]] = {"ours_s": [], "protons_s": []}
    for _ in range(5):
        ends["protons_s"].append(bench.end(ours=False))
        ends["ours_s"].append(bench.end(ours=True))
    result: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "driver": driver(),
        "cpu": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "versions": {
            "python": platform.python_version(),
            "triton": triton.__version__,
            **{name: version(name) for name in ("torch", "protonlab", "ipython")},
        },
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "protocol": " ".join((__doc__ or "").split("\n\n")[2].split()),
        "rounds": options.rounds,
        "launches_a_block": options.launches,
        "launch_us": {name: described(values) for name, values in blocks.items()},
        "added_us": {name: described(values) for name, values in added.items()},
        "recording_ratio": ratio(added["our hook recording"], added["Proton's hook recording"]),
        "cell_ms": {
            "median": statistics.median(waits["cell"]),
            "median_of_proton_alone": statistics.median(waits["proton"]),
            "all": waits,
        },
        "end": {
            **ends,
            "ratio": statistics.median(ends["ours_s"]) / statistics.median(ends["protons_s"]),
        },
    }
    result["required"] = verdicts(result, bench.filters)
    result["seconds"] = time.monotonic() - began
    os.chdir("/")
    for file in Path(folder).iterdir():
        file.unlink()
    Path(folder).rmdir()
    report(result)
    if target is not None:
        target.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
