"""Every kernel of ours on small shapes under compute-sanitizer, beside kernels of Triton's alone.

    python tests/benchmarks/sanitize.py RESULT.json [--sanitizer PATH] [--at-once 14]

The cases are those of `sanitized_kernels` and `bystanders`. They first run alone, which compiles
them, and then once for each check:

- memcheck, and again without reports of failed calls of CUDA's API, each allocation apart from the
  next;
- racecheck as it comes, which reports races, and with every hazard, also with the number of
  mbarriers told;
- initcheck and synccheck.

Prints a line a check and group, and keeps counts with kernel, place and case in RESULT.json, and
what the sanitizer wrote in RESULT.txt. compute-sanitizer comes with CUDA's toolkit, and as
``nvidia-cuda-sanitizer-api`` from PyPI.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpu_timing import machine
from sanitized_kernels import GROUPS
from sanitizer_report import read

CASES = Path(__file__).with_name("sanitized_kernels.py")
ERROR = 4e-3
ALONE = "alone"
# Name -> options. Frames of the host tell who made a failed call; elsewhere they are only long.
_SHORT = ("--show-backtrace", "device", "--print-limit", "400")
CHECKS: dict[str, tuple[str, ...]] = {  # the slowest first
    "racecheck, all hazards": ("--tool", "racecheck", *_SHORT, "--racecheck-report", "all"),
    "racecheck, all hazards, 64 mbarriers": (
        *("--tool", "racecheck", *_SHORT, "--racecheck-report", "all", "--num-cuda-barriers", "64"),
    ),
    "racecheck": ("--tool", "racecheck", *_SHORT),
    "memcheck": ("--tool", "memcheck", "--print-limit", "400"),
    "memcheck, accesses": (
        *("--tool", "memcheck", *_SHORT, "--report-api-errors", "no", "--padding", "1024"),
    ),
    "initcheck": ("--tool", "initcheck", *_SHORT),
    "synccheck": ("--tool", "synccheck", *_SHORT),
}


def find_sanitizer() -> str | None:
    """Look in PATH, where CUDA's toolkit is usually installed, and where pip puts it."""
    places = [*Path("/usr/local").glob("cuda*/bin"), *Path(sys.prefix).glob("lib/*/site-packages")]
    places += [place / "nvidia" / "cu13" / "bin" for place in places]
    where = os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)])
    return shutil.which("compute-sanitizer", path=where)


def one(check: str, group: str, command: list[str], seconds: float) -> dict[str, Any]:
    """Run the cases of a group in a process, and read what was said."""
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONUNBUFFERED": "1"}
    began = time.monotonic()
    try:
        result = subprocess.run(
            [*command, sys.executable, str(CASES), group],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=seconds,
            check=False,
        )
        status, text = result.returncode, result.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        status, text = None, (late.stdout or b"").decode(errors="replace")
    took = round(time.monotonic() - began, 1)
    return {"check": check, "group": group, "status": status, "seconds": took, "text": text}


def judge(run: dict[str, Any]) -> dict[str, Any]:
    """Put counts in place of what was written; ``clean`` is whether nothing at all was found."""
    found = read(run.pop("text"))
    ended = run["status"] == 0 and (run["check"] == ALONE or found["summary"] is not None)
    right = bool(found["cases"]) and all(error < ERROR for error in found["cases"].values())
    nothing = not found["findings"] and not found["unknown"]
    return {**run, **found, "ended": ended, "right": right, "clean": ended and right and nothing}


def line(run: dict[str, Any]) -> str:
    """Say in a line what came out."""
    words = run["summary"] or ("ran" if run["ended"] else f"did not end, status {run['status']}")
    if not run["right"]:
        words += ", WRONG OR MISSING RESULTS"
    return (
        f"{run['check']:38} {run['group']:12} {len(run['cases']):3} cases, "
        f"{run['seconds']:5.1f} s  {words}"
    )


def main() -> None:
    """Run every check of every group, so many at once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--sanitizer", default=find_sanitizer())
    parser.add_argument("--at-once", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=100, help="for a process")
    args = parser.parse_args()
    if not args.sanitizer:
        parser.error("no compute-sanitizer in PATH or /usr/local/cuda*/bin; give --sanitizer PATH")
    version = subprocess.run([args.sanitizer, "--version"], capture_output=True, text=True).stdout
    about = {**machine(), "sanitizer": version.strip().splitlines()[-1], "checks": CHECKS}
    about["protocol"] = " ".join(__doc__.split())
    print(", ".join(f"{key} {about[key]}" for key in ("gpu", "driver", "triton", "sanitizer")))
    runs: list[dict[str, Any]] = []
    log = args.result.with_suffix(".txt")
    log.write_text("")

    def keep(run: dict[str, Any]) -> None:
        with log.open("a") as file:
            file.write(f"### {run['check']}, {run['group']}\n{run['text']}\n")
        runs.append(judge(run))
        print(line(runs[-1]), flush=True)
        args.result.write_text(json.dumps({**about, "runs": runs}, indent=1) + "\n")

    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        alone = [pool.submit(one, ALONE, group, [], args.seconds) for group in GROUPS]
        for run in concurrent.futures.as_completed(alone):
            keep(run.result())
        waiting = []
        for turn, (check, group) in enumerate(itertools.product(CHECKS, GROUPS)):
            # Ports of its own, of which the sanitizer tries ten.
            command = [args.sanitizer, *CHECKS[check], "--port", str(49152 + 16 * turn)]
            command += ["--launch-timeout", "60"]
            waiting.append(pool.submit(one, check, group, command, args.seconds))
        for run in concurrent.futures.as_completed(waiting):
            keep(run.result())


if __name__ == "__main__":
    main()
