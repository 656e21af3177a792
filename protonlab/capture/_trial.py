"""Trying to record, in a process of its own: ``python -m protonlab.capture._trial``.

`doctor` runs this, so that neither a crash nor a CUPTI that is taken disturbs the person's process.
Each finding is written as soon as it is known: what a crash cuts off is then known, too.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from protonlab.capture import _platform, _proton, clocks
from protonlab.capture.session import Session
from protonlab.errors import ProtonLabError

PREFIX = "protonlab trial: "


def main() -> None:
    """Write one line for each stage: `PREFIX`, its name, a JSON object."""
    for stage in (_torch, _triton, _recording):
        try:
            for finding in stage():
                _write(stage.__name__.strip("_"), finding)
        except Exception as error:
            reason = str(error) if isinstance(error, ProtonLabError) else repr(error)
            _write(stage.__name__.strip("_"), {"problem": " ".join(reason.split())})


def findings_in(output: str) -> dict[str, dict[str, Any]]:
    """Read the stages back from a trial's standard output."""
    findings = {}
    for line in output.splitlines():
        if line.startswith(PREFIX):
            stage, _, finding = line.removeprefix(PREFIX).partition(" ")
            findings[stage] = json.loads(finding)
    return findings


def _write(stage: str, finding: Mapping[str, Any]) -> None:
    print(f"{PREFIX}{stage} {json.dumps(finding)}", flush=True)


def _torch() -> Iterator[dict[str, Any]]:
    """Versions of torch and CUDA, and the GPUs that this process may use."""
    import torch

    found = {"version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip}
    if not torch.cuda.is_available():
        yield {**found, "gpus": []}
        return
    torch.zeros(1, device="cuda")
    gpus = range(torch.cuda.device_count())
    yield {
        **found,
        "gpus": [torch.cuda.get_device_name(gpu) for gpu in gpus],
        "clocks": [_clock_finding(gpu) for gpu in gpus],
    }


def _clock_finding(gpu: int) -> dict[str, Any]:
    problem = clocks.clock_problem(gpu)
    start = time.perf_counter()
    reading = clocks.read_clocks(gpu)
    cost = time.perf_counter() - start
    if reading is None:
        return {"problem": problem}
    return {"sm_mhz": reading.sm_mhz, "throttle": reading.throttle, "cost_us": 1e6 * cost}


def _triton() -> Iterator[dict[str, Any]]:
    """Triton's version, whether it interprets, which CUPTI Proton takes, and Proton's features."""
    message = _platform.enable_interpreter()
    proton = _proton.require()
    folder = Path(_cupti_folder(proton))
    yield {
        "version": proton.version,
        "interpreter": message,
        "cupti": _shown(folder, Path(inspect.getfile(proton.profiler)).parent.parent),
        "cupti_libraries": sorted(path.name for path in folder.glob("libcupti.so*")),
        "features": _features(proton),
    }


def _cupti_folder(proton: _proton.Proton) -> str:
    torch = sys.modules.get("torch")
    newest = "cupti_lib_blackwell_dir"  # for GPUs of compute capability 10 and higher
    if (
        torch is not None
        and torch.cuda.is_available()
        and torch.version.hip is None
        and torch.cuda.get_device_capability()[0] >= 10
        and hasattr(proton.knobs.proton, newest)
    ):
        return str(getattr(proton.knobs.proton, newest))
    return str(proton.knobs.proton.cupti_lib_dir)


def _shown(folder: Path, package: Path) -> str:
    """Name a folder without saying where things lie on this machine, as far as possible."""
    if folder.is_relative_to(package):
        return f"Triton's own, {folder.relative_to(package)}"
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _features(proton: _proton.Proton) -> dict[str, bool]:
    hook = inspect.signature(proton.profiler.start).parameters["hook"]
    tests: dict[str, Callable[[], bool]] = {
        "hook objects": lambda: "Hook" in str(hook.annotation),
        "tensors as metrics": lambda: proton.records_device_tensors,
        "vectors as metrics": lambda: proton.records_vectors,
        "data in memory": lambda: hasattr(proton.libproton, "get_data"),
        "msgpack": lambda: hasattr(proton.libproton, "get_data_msgpack"),
        "phases": lambda: hasattr(proton.libproton, "advance_data_phase"),
    }
    return {name: test() for name, test in tests.items()}


def _recording() -> Iterator[dict[str, Any]]:
    """Start a session, launch something, end it, and look for the launch."""
    start = time.perf_counter()
    with Session("trial") as session:
        if session.problem is None:
            _launch()
    found: dict[str, Any] = {"problem": session.problem}
    if session.problem is None:
        profile = session.profile
        found |= {
            "launches": int(profile.kernels["count"].sum()),
            "backend": profile.info.backend,
            "seconds": time.perf_counter() - start,
        }
    yield found


def _launch() -> None:
    """Launch a kernel; where kernels are interpreted, write what the interpreter would."""
    if not _platform.interpreting():
        torch = sys.modules["torch"]
        torch.zeros(1, device="cuda").add_(1)
        return
    proton = _proton.require()
    scope = proton.record_scope()
    proton.enter_op(scope, "trial")
    proton.add_metrics(scope, {"time (ns)": 1, "count": 1})
    proton.exit_op(scope, "trial")


if __name__ == "__main__":
    main()
