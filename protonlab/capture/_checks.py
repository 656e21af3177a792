"""The lines of a diagnosis: what each thing that recording needs looks like, and what to do."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pynvml

from protonlab import front_end
from protonlab.capture import _platform
from protonlab.capture.clocks import nvml_problem

State = Literal["ok", "warning", "missing"]
Findings = Mapping[str, Mapping[str, Any]]

# Environment that Nsight Systems and Nsight Compute give to the programs they run.
_NSIGHT = ("NSYS_", "NV_NSIGHT_", "NV_TPS_", "NV_COMPUTE_PROFILER_")
_INJECTED = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
_NOTEBOOK = ("ipython", "ipykernel", "plotly", "anywidget", "ipywidgets")


@dataclass(frozen=True)
class Check:
    """One line of a diagnosis.

    Parameters
    ----------
    name
        What was looked at.
    state
        ``"ok"``, ``"warning"`` (recording works, with a limit) or ``"missing"``.
    finding
        What was seen.
    next_step
        What to do about it; empty where there is nothing to do.
    """

    name: str
    state: State
    finding: str
    next_step: str = ""


def gpu(findings: Findings) -> Check:
    """GPUs that this process may use, and their driver."""
    torch = findings.get("torch", {})
    driver = _driver()
    gpus = torch.get("gpus", [])
    if gpus:
        return Check("GPU", "ok", f"{', '.join(gpus)}; {driver or 'driver of unknown version'}")
    if driver and torch.get("cuda") is None:
        return Check("GPU", "missing", f"{driver}, but torch cannot use CUDA", "see torch, below")
    if driver:
        return Check(
            "GPU",
            "missing",
            f"{driver}, but this process may use no GPU",
            "look at CUDA_VISIBLE_DEVICES and at nvidia-smi",
        )
    return Check(
        "GPU",
        "missing",
        "no GPU driver answers",
        "to measure, use a machine with an NVIDIA GPU and driver; until then kernels run on "
        "Triton's interpreter",
    )


def _driver() -> str:
    if nvml_problem():
        return ""
    try:
        cuda = pynvml.nvmlSystemGetCudaDriverVersion()
        version = f"{cuda // 1000}.{cuda % 1000 // 10}"
        return f"driver {pynvml.nvmlSystemGetDriverVersion()}, which runs CUDA up to {version}"
    except pynvml.NVMLError:
        return ""


def torch(findings: Findings) -> Check:
    """Version of torch, and the CUDA it was built for."""
    found = findings.get("torch")
    if found is None or "version" not in found:
        why = _problem(found)
        return Check("torch", "missing", f"torch does not load: {why}", "pip install torch")
    built = _built_for(found)
    if built is None:
        state: State = "warning" if _driver() else "ok"
        step = "install a CUDA build: https://pytorch.org/get-started" if _driver() else ""
        return Check("torch", state, f"{found['version']}, built for the CPU", step)
    return Check("torch", "ok", f"{found['version']}, built for {built}")


def _built_for(found: Mapping[str, Any]) -> str | None:
    if found.get("cuda"):
        return f"CUDA {found['cuda']}"
    return f"ROCm {found['hip']}" if found.get("hip") else None


def triton(findings: Findings) -> Check:
    """Version of Triton."""
    found = findings.get("triton")
    if found is None or "version" not in found:
        why, _, how = _problem(found).partition(": pip install")
        return Check("Triton", "missing", why, how and f"pip install{how}")
    return Check("Triton", "ok", str(found["version"]))


def interpreter(findings: Findings) -> Check:
    """Whether kernels run on the GPU or in Triton's interpreter; in this process, too."""
    found = findings.get("triton", {})
    has_gpu = bool(findings.get("torch", {}).get("gpus"))
    if "triton" in sys.modules and not _platform.has_gpu() and not _platform.interpreting():
        return Check(
            "interpreter",
            "missing",
            "off, and Triton is loaded already: kernels cannot run in this process",
            "restart the kernel and load protonlab first (%load_ext protonlab)",
        )
    message = found.get("interpreter")
    if message and has_gpu:
        return Check(
            "interpreter",
            "warning",
            "on, though there is a GPU: TRITON_INTERPRET is set",
            "unset TRITON_INTERPRET and restart the kernel to measure on the GPU",
        )
    if message:
        return Check("interpreter", "ok", "on, once protonlab is loaded: kernels run on the CPU")
    return Check("interpreter", "ok", "off: kernels run on the GPU")


def cupti(findings: Findings) -> Check:
    """Which CUPTI library Proton would load."""
    found = findings.get("triton", {})
    if "cupti" not in found:
        return Check("CUPTI", "missing", "unknown without Triton", "see Triton, above")
    libraries = found["cupti_libraries"]
    chosen = " (TRITON_CUPTI_LIB_PATH)" if "TRITON_CUPTI_LIB_PATH" in os.environ else ""
    if not libraries:
        return Check(
            "CUPTI",
            "warning",
            f"no libcupti.so in {found['cupti']}{chosen}",
            "unset TRITON_CUPTI_LIB_PATH, or set it to a folder that holds libcupti.so",
        )
    return Check("CUPTI", "ok", f"{libraries[-1]}: {found['cupti']}{chosen}")


def recording(findings: Findings, ended: str) -> Check:
    """Whether a session really records, tried in a process of its own.

    Parameters
    ----------
    findings
        Of the trial.
    ended
        How the trial ended, where it did not end well.
    """
    found = findings.get("recording")
    if found is None:
        return Check(
            "recording",
            "missing",
            f"the trial {ended or 'said nothing'}",
            "run python -m protonlab.capture._trial in a shell to see its output",
        )
    if found["problem"]:
        finding, _, step = str(found["problem"]).partition("; ")
        return Check("recording", "missing", finding, step or "see the lines above")
    seconds = f"{found['seconds']:.1f} s"
    if not found["launches"]:
        return Check(
            "recording",
            "missing",
            f"a session started and ended ({seconds}), but no launch came back",
            "look for another profiler, below; restart the kernel",
        )
    return Check(
        "recording",
        "ok",
        f"a session started, recorded and ended ({found['backend']}, {seconds})",
    )


def features(findings: Findings) -> Check:
    """Features of this Triton's Proton."""
    found = findings.get("triton", {}).get("features", {})
    present = [name for name, there in found.items() if there]
    absent = [name for name, there in found.items() if not there]
    if not found:
        return Check("Proton", "missing", "unknown without Triton", "see Triton, above")
    if absent:
        return Check(
            "Proton",
            "warning",
            f"without {', '.join(absent)}{'; with ' if present else ''}{', '.join(present)}",
            "Triton 3.7 brings these; protonlab does without where it can",
        )
    return Check("Proton", "ok", ", ".join(present))


def other_profilers() -> Check:
    """Profilers that may hold CUPTI, which serves one at a time."""
    flags: Any = getattr(sys.modules.get("triton.profiler.flags"), "flags", None)
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    nsight = sorted(name for name in os.environ if name.startswith(_NSIGHT) or name in _INJECTED)
    seen = [
        *(
            ["the proton command runs this process"]
            if getattr(flags, "command_line", False)
            else []
        ),
        *(["torch.profiler is recording"] if getattr(profiler, "_is_profiler_enabled", 0) else []),
        *([f"Nsight is at work ({', '.join(nsight)})"] if nsight else []),
    ]
    if seen:
        return Check(
            "other profilers",
            "warning",
            "; ".join(seen),
            "CUPTI serves one profiler at a time: start this process without the other one",
        )
    if "torch.profiler" in sys.modules:
        loaded = "torch.profiler is loaded; once it has recorded, Proton cannot in that process"
        return Check("other profilers", "ok", f"none at work ({loaded})")
    return Check("other profilers", "ok", "none at work")


def clocks(findings: Findings) -> Check:
    """Whether NVML tells clocks, power and temperature."""
    found = findings.get("torch", {}).get("clocks", [])
    problem = next((one["problem"] for one in found if one.get("problem")), nvml_problem())
    if problem:
        return Check("clocks", "warning", problem, "profiles come without clocks; nothing else")
    if not found:
        return Check("clocks", "warning", "no GPU to read", "see GPU, above")
    now = ", ".join(f"{one['sm_mhz']} MHz" for one in found)
    reasons = ", ".join(sorted({word for one in found for word in one["throttle"]}))
    cost = max(one["cost_us"] for one in found)
    return Check(
        "clocks",
        "ok",
        f"NVML reads them in {cost:.0f} µs: SM {now}{f' ({reasons})' if reasons else ''}",
    )


def shown_in() -> Check:
    """Where outputs go, and what figures can do there."""
    here = front_end.front_end()
    if here.is_live:
        return Check("front end", "ok", f"{here.name}: figures zoom, and follow the theme")
    if here is front_end.HEADLESS:
        finding = f"{here.name}: figures are stored as plotly's JSON and pictures"
        return Check("front end", "ok", finding)
    if here.draws:
        finding = f"{here.name}: plotly draws figures; no zoom by click, no update in a cell"
        return Check("front end", "ok", finding)
    step = "open a notebook in JupyterLab, Notebook or VS Code for figures"
    return Check("front end", "warning", f"{here.name}: profiles show as text", step)


def packages() -> Check:
    """Versions of what notebooks and figures need."""
    versions = {name: _version(name) for name in _NOTEBOOK}
    absent = [name for name, version in versions.items() if version is None]
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if absent:
        step = f"pip install {' '.join(absent)}"
        return Check("packages", "missing", f"no {', no '.join(absent)}; {found}", step)
    return Check("packages", "ok", found)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _problem(found: Mapping[str, Any] | None) -> str:
    return "the trial ended before it" if found is None else str(found.get("problem", "unknown"))
