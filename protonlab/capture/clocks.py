"""Reading clocks, power and temperature through NVML, of the GPUs that this process uses.

A GPU is found by its UUID, which torch knows: NVML counts all GPUs of the machine, CUDA those that
the process may see, in an order of its own. Nothing that goes wrong here reaches a session.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

import pynvml

from protonlab.capture._platform import gpus_in_use
from protonlab.model import ClockReading
from protonlab.model.clocks import IDLE

# NVML's bit -> our words. Other bits are left out.
_REASONS = {
    pynvml.nvmlClocksThrottleReasonGpuIdle: IDLE,
    pynvml.nvmlClocksThrottleReasonApplicationsClocksSetting: "clock setting",
    pynvml.nvmlClocksThrottleReasonSwPowerCap: "power cap",
    pynvml.nvmlClocksThrottleReasonHwSlowdown: "hardware slowdown",
    pynvml.nvmlClocksThrottleReasonSyncBoost: "sync boost",
    pynvml.nvmlClocksThrottleReasonSwThermalSlowdown: "thermal slowdown",
    pynvml.nvmlClocksThrottleReasonHwThermalSlowdown: "hardware thermal slowdown",
    pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
    pynvml.nvmlClocksThrottleReasonDisplayClockSetting: "display clock setting",
}


class Clocks:
    """Readings of the GPUs that torch has a context on, taken when `read` is called."""

    def __init__(self) -> None:
        self._readings: list[tuple[int, ClockReading]] = []

    def read(self) -> None:
        """Take one reading of each GPU in use; none where NVML gives none."""
        with suppress(Exception):  # CUDA may have failed in the user's code
            for ordinal in gpus_in_use():
                reading = read_clocks(ordinal)
                if reading is not None:
                    self._readings.append((ordinal, reading))

    def of(self, ordinals: Iterable[int]) -> tuple[ClockReading, ...]:
        """Give back the readings of some GPUs, by the ordinals that CUDA gives them here."""
        wanted = set(ordinals)
        return tuple(reading for ordinal, reading in self._readings if ordinal in wanted)


def read_clocks(ordinal: int) -> ClockReading | None:
    """Read one GPU; None where NVML does not serve it.

    Parameters
    ----------
    ordinal
        As CUDA counts in this process.
    """
    handle, uuid, problem = _handle(ordinal)
    if problem:
        return None
    watts = _value(pynvml.nvmlDeviceGetPowerUsage, handle)
    reasons = _value(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    reading = ClockReading(
        when=datetime.now().astimezone().isoformat(timespec="milliseconds"),
        uuid=uuid,
        sm_mhz=_value(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        memory_mhz=_value(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM),
        power_w=None if watts is None else watts / 1000,
        temperature_c=_value(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        throttle=tuple(word for bit, word in _REASONS.items() if reasons & bit),
    )
    numbers = (reading.sm_mhz, reading.memory_mhz, reading.power_w, reading.temperature_c)
    return reading if any(number is not None for number in numbers) else None


def clock_problem(ordinal: int) -> str | None:
    """Why a GPU's clocks cannot be read, as one sentence; None when they can."""
    problem = _handle(ordinal)[2]
    if problem:
        return problem
    if read_clocks(ordinal) is None:
        return "NVML gives no clock, power or temperature of this GPU"
    return None


def driver_version() -> str:
    """Version of NVIDIA's driver; empty where NVML does not tell."""
    if _start() is not None:
        return ""
    with suppress(pynvml.NVMLError):
        version = pynvml.nvmlSystemGetDriverVersion()
        return version.decode() if isinstance(version, bytes) else str(version)
    return ""


def nvml_problem() -> str | None:
    """Why NVML cannot be used at all, as one sentence; None when it can."""
    return _start()


@functools.cache
def _start() -> str | None:
    """Start NVML, once a process; why it did not start, or None."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return f"NVML cannot be used ({error}); it comes with NVIDIA's driver"
    return None


@functools.cache
def _handle(ordinal: int) -> tuple[Any, str, str | None]:
    """NVML's handle of a GPU, its UUID, and why there is no handle."""
    problem = _start()
    if problem:
        return None, "", problem
    torch = sys.modules["torch"]
    if torch.version.hip is not None:
        return None, "", "NVML reads NVIDIA's GPUs only, and this torch is built for AMD's"
    uuid = getattr(torch.cuda.get_device_properties(ordinal), "uuid", None)
    if uuid is None:
        return None, "", "this torch does not tell which GPU it uses (no UUID)"
    name = f"GPU-{str(uuid).removeprefix('GPU-')}"
    try:
        return pynvml.nvmlDeviceGetHandleByUUID(name), name, None
    except pynvml.NVMLError_NotFound:
        return None, name, "NVML does not list this GPU, as with a MIG slice; MIG has no own clock"
    except pynvml.NVMLError as error:
        return None, name, f"NVML gives no access to this GPU ({error})"


def _value(ask: Callable[..., int], *arguments: Any) -> int | None:
    try:
        return int(ask(*arguments))
    except pynvml.NVMLError:  # not supported by this GPU, or no permission
        return None
