"""Time and memory of loading a large tree, as ratios to orjson and to llnl-hatchet in the same run.

    python tests/benchmarks/load.py [--repeats 3] [--hatchet-python PYTHON]

Writes a seeded tree in Proton's own layout (fan-out 10/10/10/10/100: 1.01 million frames), as JSON
with Proton's indentation and as msgpack, and one of 100,000 frames for llnl-hatchet. Every
measurement runs in a fresh process, the contenders in turn; medians are compared. llnl-hatchet
needs pandas below 3, so it usually lives in an environment of its own: name its Python with
``--hatchet-python``.

What is timed: from bytes in memory to a Profile with inclusive sums of every metric; for orjson,
``orjson.loads`` of the same bytes alone; for hatchet, from parsed JSON to a GraphFrame with
inclusive columns, as proton-viewer reads a file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

LARGE, SMALL = (10, 10, 10, 10, 100), (10, 10, 10, 100)
FAMILIES = (
    "_p_matmul_bf16xmxfp4 [M={}]",
    "attention_kernel [tokens={}]",
    "_ZN2at6native29vectorized_elementwise_kernelILi{}ENS0_11FillFunctorIlEESt5arrayIPcLm1EEEEviT0_",
    "nvjet_sm90_tst_{}x128_64x5_1x2_h_bz_coopB_bias_TNT",
)
DEVICE = {
    "CUDA": {
        "0": {
            "arch": "90",
            "bus_width": 6016,
            "clock_rate": 1980000,
            "memory_clock_rate": 3201000,
            "num_sms": 132,
        }
    }
}

TIMED = {
    "orjson.loads": """
import orjson
def run(data):
    return orjson.loads(data)
""",
    "protonlab": """
import protonlab
protonlab.load(b'[{"frame":{"name":"ROOT"},"metrics":{},"children":[]}]').inclusive
def run(data):
    profile = protonlab.load(data)
    profile.inclusive
    return profile
""",
    "llnl-hatchet": """
import json
from triton.profiler import viewer
def run(data):
    frame, *_ = viewer.get_raw_metrics(json.loads(data))
    frame.update_inclusive_columns()
    return frame
""",
}
HARNESS = r"""
import re, sys, time
data = open(sys.argv[1], "rb").read()
start = time.perf_counter()
result = run(data)
seconds = time.perf_counter() - start
# Not getrusage: its maximum is inherited from the process that started this one.
status = open("/proc/self/status").read()
print(seconds, int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024)
"""


def write_tree(stream: TextIO, fan_out: tuple[int, ...], seed: int = 0) -> None:
    """Write a tree as Proton does: indented by four, keys sorted."""
    rng = random.Random(seed)
    names = [rng.choice(FAMILIES).format(number) for number in range(2000)]

    def frame(level: int, name: str, indent: int) -> None:
        pad = " " * indent
        stream.write(f'{pad}{{\n{pad}    "children": [')
        if level < len(fan_out):
            for child in range(fan_out[level]):
                stream.write(",\n" if child else "\n")
                leaf = level == len(fan_out) - 1
                frame(
                    level + 1, rng.choice(names) if leaf else f"scope_{level}_{child}", indent + 8
                )
            stream.write(f"\n{pad}    ")
        metrics: dict[str, object] = {}
        if level == 0:
            metrics = {"count": 0, "time (ns)": 0}
        elif level == len(fan_out):
            metrics = {
                "bytes": rng.randrange(1 << 30),
                "count": rng.randrange(1, 50),
                "device_id": "0",
                "device_type": "CUDA",
                "flops16": float(rng.randrange(1 << 40)),
                "time (ns)": rng.randrange(1_000, 1_000_000),
            }
        text = json.dumps(metrics, indent=4).replace("\n", f"\n{pad}    ")
        stream.write(
            f'],\n{pad}    "frame": {{\n{pad}        "name": "{name}",\n'
            f'{pad}        "type": "function"\n{pad}    }},\n{pad}    "metrics": {text}\n{pad}}}'
        )

    stream.write("\n[\n")
    frame(0, "ROOT", 4)
    stream.write(",\n    " + json.dumps(DEVICE, indent=4).replace("\n", "\n    ") + "\n]\n")


def measure(python: str, contender: str, path: Path) -> tuple[float, float]:
    """Seconds and peak resident bytes of one contender in a fresh process."""
    done = subprocess.run(
        [python, "-c", TIMED[contender] + HARNESS, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode:
        raise SystemExit(f"{contender}: {done.stderr.strip()}")
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def main() -> None:
    """Run the contenders in turn and print their medians and ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--hatchet-python", default=None, help="Python that has llnl-hatchet")
    options = parser.parse_args()
    import msgpack

    with tempfile.TemporaryDirectory() as folder:
        large, packed, small, small_packed = (
            Path(folder) / name for name in ("l.json", "l.msgpack", "s.json", "s.msgpack")
        )
        for path, pack, fan_out in ((large, packed, LARGE), (small, small_packed, SMALL)):
            with path.open("w") as stream:
                write_tree(stream, fan_out)
            pack.write_bytes(msgpack.packb(json.loads(path.read_bytes())))
        runs = [
            ("orjson.loads", large, sys.executable),
            ("protonlab", large, sys.executable),
            ("protonlab", packed, sys.executable),
            ("protonlab", small, sys.executable),
            ("protonlab", small_packed, sys.executable),
        ]
        if options.hatchet_python:
            runs.append(("llnl-hatchet", small, options.hatchet_python))
        results: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for _ in range(options.repeats):
            for contender, path, python in runs:
                results.setdefault((contender, path.name), []).append(
                    measure(python, contender, path)
                )
        sizes = {path.name: path.stat().st_size for _, path, _ in runs}
    seconds = {key: statistics.median(time for time, _ in runs) for key, runs in results.items()}
    memory = {key: statistics.median(peak for _, peak in runs) for key, runs in results.items()}
    versions = ", ".join(f"{name} {version(name)}" for name in ("orjson", "msgspec", "pandas"))
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, Python ", end="")
    print(f"{platform.python_version()}, {versions}, medians of {options.repeats}")
    for (contender, name), time in seconds.items():
        peak = memory[contender, name] / sizes[name]
        print(
            f"{contender:13} {name:10} {sizes[name] / 1e6:8.1f} MB {time:8.2f} s   "
            f"peak memory {peak:.1f} times the file"
        )
    base = seconds["orjson.loads", "l.json"]
    print(f"JSON,    1.01 M frames, to orjson.loads: {seconds['protonlab', 'l.json'] / base:.2f}")
    print(
        f"msgpack, 1.01 M frames, to orjson.loads: {seconds['protonlab', 'l.msgpack'] / base:.2f}"
    )
    if not options.hatchet_python:
        print("llnl-hatchet: not measured; name a Python that has it with --hatchet-python")
    else:
        peer = seconds["llnl-hatchet", "s.json"]
        for name in ("s.json", "s.msgpack"):
            ours = seconds["protonlab", name]
            print(f"{name}, 0.1 M frames, faster than llnl-hatchet: {peer / ours:.1f} times")


if __name__ == "__main__":
    main()
