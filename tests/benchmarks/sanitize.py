"""Every kernel of ours on small shapes under compute-sanitizer, beside kernels of Triton's alone.

    python tests/benchmarks/sanitize.py RESULT.json [--sanitizer PATH] [--within 150]

The cases are those of `sanitized_kernels` and `bystanders`. They first run alone, which compiles
them, and then under each check: racecheck with every hazard and as it comes, memcheck (each
allocation apart from the next, failed calls of CUDA's API counted, too), initcheck, synccheck.

Prints a line a check and group, and keeps counts with kernel, place and case in RESULT.json, and
what the sanitizer wrote in RESULT.txt. Findings that are Triton's own are told apart: by machine
code (`hand_over`), or since kernels of Triton's alone have them, too. Ends with status 1 if another
is left, or a case did not end with the right result. compute-sanitizer comes with CUDA's toolkit,
and as ``nvidia-cuda-sanitizer-api`` from PyPI.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gpu_timing import machine
from hand_over import in_cache
from sanitized_kernels import GROUPS
from sanitizer_report import attribute, read

CASES = Path(__file__).with_name("sanitized_kernels.py")
ERROR = 4e-3
ALONE = "alone"
PARTS = {"triton": 4, "gluon": 4, "gluon, wide": 2}  # in which groups are compiled
# Frames of the host tell who made a failed call; elsewhere they are only long.
_SHORT = ("--show-backtrace", "device", "--print-limit", "400")
_RACE = ("--tool", "racecheck", *_SHORT)
_HAZARDS = (*_RACE, "--racecheck-report", "all")
# Name -> options, and the groups that are checked, the most telling and slowest first.
CHECKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "racecheck, hazards": (_HAZARDS, ("gluon", "gluon, wide", "triton", "bystanders", "schedule")),
    "memcheck": (
        ("--tool", "memcheck", "--print-limit", "400", "--padding", "1024"),
        ("gluon", "gluon, wide", "triton", "bystanders", "schedule", "quantiser"),
    ),
    "racecheck": (_RACE, ("gluon", "bystanders")),
    "synccheck": (("--tool", "synccheck", *_SHORT), ("gluon", "triton")),
    "initcheck": (("--tool", "initcheck", *_SHORT), ("gluon", "triton", "schedule")),
    "racecheck, 64 mbarriers": ((*_HAZARDS, "--num-cuda-barriers", "64"), ("bystanders",)),
}


def find_sanitizer() -> str | None:
    """Look in PATH, where CUDA's toolkit is usually installed, and where pip puts it."""
    places = [*Path("/usr/local").glob("cuda*/bin"), *Path(sys.prefix).glob("lib/*/site-packages")]
    places += [place / "nvidia" / "cu13" / "bin" for place in places]
    where = os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)])
    return shutil.which("compute-sanitizer", path=where)


@dataclasses.dataclass(frozen=True)
class Job:
    """A process to start: what checks it, which cases it runs, and its own ports."""

    check: str
    group: str
    part: str = ""
    command: tuple[str, ...] = ()

    def run(self, until: float, cache: Path) -> dict[str, Any]:
        """Run the cases to their end or to that time, and give what was said."""
        about = {"check": self.check, "group": self.group, "part": self.part}
        began = time.monotonic()
        if began > until - 5:
            return {**about, "status": None, "seconds": 0.0, "text": ""}
        settings = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "OMP_NUM_THREADS": "1"}
        settings["TRITON_CACHE_DIR"] = str(cache)
        process = subprocess.Popen(
            [*self.command, sys.executable, "-u", str(CASES), self.group, self.part or "1/1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | settings,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=until - began)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the sanitizer, and what it checks
            output, _ = process.communicate()
        took = round(time.monotonic() - began, 1)
        text = output.decode(errors="replace")
        return {**about, "status": process.returncode, "seconds": took, "text": text}


def judge(run: dict[str, Any]) -> dict[str, Any]:
    """Put counts in place of what was written, and say whether all cases ended as they should."""
    found = read(run.pop("text"))
    ended = run["status"] == 0 and (run["check"] == ALONE or found["summary"] is not None)
    errors = found["cases"].values()
    right = bool(errors) and all(error is not None and error < ERROR for error in errors)
    return {**run, **found, "ended": ended, "right": right}


def line(run: dict[str, Any]) -> str:
    """Say in a line what came out."""
    words = run["summary"] or ("ran" if run["ended"] else f"did not end, status {run['status']}")
    if not run["right"]:
        words += ", WRONG OR MISSING RESULTS"
    return (
        f"{run['check']:24} {run['group']:12}{run['part']:4} {len(run['cases']):3} cases, "
        f"{run['seconds']:5.1f} s  {words}"
    )


def main() -> bool:
    """Run every check of every group, so many at once; say whether nothing is left open."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--sanitizer", default=find_sanitizer())
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--within", type=float, default=150, help="seconds for all of it")
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

    def write() -> None:
        args.result.write_text(json.dumps({**about, "runs": runs}, indent=1) + "\n")

    def keep(run: dict[str, Any]) -> None:
        with log.open("a") as file:
            file.write(f"### {run['check']}, {run['group']} {run['part']}\n{run['text']}\n")
        runs.append(judge(run))
        print(line(runs[-1]), flush=True)
        write()

    until = time.monotonic() + args.within
    alone = [
        Job(ALONE, group, f"{part + 1}/{PARTS.get(group, 1)}")
        for group in GROUPS
        for part in range(PARTS.get(group, 1))
    ]
    checks = []
    for name, (options, groups) in CHECKS.items():
        for group in filter(GROUPS.__contains__, groups):
            # Ports of its own, of which the sanitizer tries ten.
            rest = ("--port", str(49152 + 16 * len(checks)), "--launch-timeout", "60")
            checks.append(Job(name, group, "", (args.sanitizer, *options, *rest)))
    pool = concurrent.futures.ThreadPoolExecutor(args.at_once)
    with tempfile.TemporaryDirectory() as folder, pool:
        cache = Path(folder)
        for jobs in (alone, checks):
            begun = [pool.submit(job.run, until, cache) for job in jobs]
            for done in concurrent.futures.as_completed(begun):
                keep(done.result())
        about["hand_overs"] = sorted({*in_cache(cache)})
    attribute(runs, {*about["hand_overs"]})
    write()
    unfinished = [run for run in runs if not (run["ended"] and run["right"]) or run["unknown"]]
    for run in unfinished:
        print(f"not as it should be: {line(run)} {run['unknown']}")
    whose = Counter()
    for run in runs:
        for finding in run["findings"]:
            whose[finding["of"]] += finding["count"]
            if finding["of"] == "open":
                print(f"open: {run['check']}, {run['group']}: {finding}")
    print(
        f"findings of the hand-over {whose['hand-over']}, of the loader {whose['loader']}, "
        f"open {whose['open']}"
    )
    return not unfinished and not whose["open"]


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
