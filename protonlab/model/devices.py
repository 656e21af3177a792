"""The device table of a profile, and the peaks that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

# Peak rates by architecture, the figures Proton's own viewer uses (triton/profiler/specs.py, 3.9).
# NVIDIA: dense FLOP/s at 8 bits; wider types run at 8 / width of it. sm_90 scales the data sheet's
# H100 PCIe figure by SM count and clock; sm_100 counts 16,384 operations per SM and cycle.
_A100_FLOPS8 = 624e12
_L40_FLOPS8 = 330.3e12
_H100_PCIE_FLOPS8, _H100_PCIE_SMS, _H100_PCIE_CLOCK_KHZ = 1513e12, 114, 1755e3
_B200_FLOPS8_PER_SM_CYCLE = 16384
# AMD: operations per compute unit and cycle at 8 bits, and bandwidth in bytes/s.
_AMD_FLOPS8_PER_CU_CYCLE = {"gfx90a": 1024, "gfx942": 4096, "gfx950": 8192}
_AMD_BANDWIDTH = {"gfx90a": 3.2e12, "gfx942": 5.3e12, "gfx950": 8.0e12}

FLOPS_WIDTHS = (8, 16, 32, 64)
# Columns of `ideal_times`, the sources of the metric util.
IDEAL_FLOPS, IDEAL_BYTES = "_ideal_flops_ns", "_ideal_bytes_ns"


@dataclass(frozen=True)
class Device:
    """One device as Proton records it.

    Parameters
    ----------
    device_type
        ``"CUDA"``, ``"HIP"``, or ``"CPU"`` for Triton's interpreter.
    device_id
        Ordinal within the process.
    arch
        Architecture, such as ``"90"`` (sm_90) or ``"gfx942"``.
    num_sms
        Streaming multiprocessors or compute units.
    clock_rate_khz, memory_clock_rate_khz
        Highest clocks, in kHz.
    bus_width
        Memory bus width in bits.
    """

    device_type: str
    device_id: int
    arch: str | None = None
    num_sms: int | None = None
    clock_rate_khz: float | None = None
    memory_clock_rate_khz: float | None = None
    bus_width: int | None = None

    def peak_flops(self, width: int) -> float | None:
        """Peak FLOP/s for operands of `width` bits, or None when it is not known."""
        scale = 8 / width
        if self.device_type == "CUDA":
            if self.arch == "80":
                return _A100_FLOPS8 * scale
            if self.arch == "89":
                return _L40_FLOPS8 * scale
            if not self.num_sms or not self.clock_rate_khz:
                return None
            if self.arch == "90":
                speed = self.num_sms / _H100_PCIE_SMS * self.clock_rate_khz / _H100_PCIE_CLOCK_KHZ
                return speed * _H100_PCIE_FLOPS8 * scale
            if self.arch == "100":
                return self.num_sms * _B200_FLOPS8_PER_SM_CYCLE * self.clock_rate_khz * 1e3 * scale
            return None
        per_cycle = _AMD_FLOPS8_PER_CU_CYCLE.get(self.arch or "")
        if per_cycle is None or not self.num_sms or not self.clock_rate_khz:
            return None
        return per_cycle * self.num_sms * self.clock_rate_khz * 1e3 * scale

    @property
    def peak_bandwidth(self) -> float | None:
        """Peak memory bandwidth in bytes/s, or None when it is not known."""
        if self.device_type == "CUDA":
            if not self.bus_width or not self.memory_clock_rate_khz:
                return None
            return 2 * self.bus_width / 8 * self.memory_clock_rate_khz * 1e3
        return _AMD_BANDWIDTH.get(self.arch or "")

    @property
    def why_no_peak(self) -> str | None:
        """Why `util` cannot be computed on this device, or None where it can."""
        if self.device_type == "CPU":
            return "Triton's interpreter has no peak rates"
        if self.peak_bandwidth is not None and self.peak_flops(16) is not None:
            return None
        return (
            f"no peak rates are known for {self.device_type} device {self.device_id} "
            f"(arch {self.arch or 'not recorded'})"
        )

    def __str__(self) -> str:
        if self.device_type == "CPU":
            return "interpreter, CPU"
        known = []
        if self.arch:
            known.append(f"sm_{self.arch}" if self.device_type == "CUDA" else self.arch)
        if self.num_sms:
            known.append(f"{self.num_sms} SMs")
        about = f" ({', '.join(known)})" if known else ""
        return f"{self.device_type} {self.device_id}{about}"


def ideal_times(frames: pd.DataFrame, devices: Iterable[Device]) -> pd.DataFrame:
    """Compute what each kernel's flops and bytes would take at its device's peak, in ns.

    A value is missing where the kernel recorded none or the device's peak is unknown. Flops of
    several widths add up, as in proton-viewer.
    """
    flops, nbytes = np.full(len(frames), np.nan), np.full(len(frames), np.nan)
    numbers = frames.select_dtypes("number")  # one that a file has as text is not worked with
    types = frames["device_type"].astype(object)
    ids = frames["device_id"].to_numpy(dtype=np.float64, na_value=np.nan)
    for device in devices:
        rows = (types == device.device_type).to_numpy(dtype=bool) & (ids == device.device_id)
        if device.peak_bandwidth is not None and "bytes" in numbers:
            recorded = numbers["bytes"].to_numpy(dtype=np.float64, na_value=np.nan)[rows]
            nbytes[rows] = recorded / device.peak_bandwidth * 1e9
        for width in FLOPS_WIDTHS:
            peak = device.peak_flops(width)
            if peak is None or f"flops{width}" not in numbers:
                continue
            recorded = numbers[f"flops{width}"].to_numpy(dtype=np.float64, na_value=np.nan)[rows]
            time = recorded / peak * 1e9
            flops[rows] = np.where(np.isnan(time), flops[rows], time + np.nan_to_num(flops[rows]))
    return pd.DataFrame({IDEAL_FLOPS: flops, IDEAL_BYTES: nbytes}, index=frames.index)
