"""Roofs of a device: the bandwidths and rates that no kernel can exceed, measured or promised."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from protonlab.errors import ProfileFormatError
from protonlab.model.clocks import ClockReading
from protonlab.model.devices import FLOPS_WIDTHS, Device
from protonlab.model.units import format_quantity
from protonlab.model.writing import write_atomically

ROOFS_VERSION = 1
MEASURED, DATA_SHEET = "measured", "data sheet"
# Name of a matmul roof -> width of its operands in bits, as in ``flops16``.
WIDTH_OF = {"fp8": 8, "bf16": 16, "tf32": 32, "fp32": 32, "fp64": 64}


@dataclass(frozen=True)
class Roof:
    """One bandwidth or rate.

    Parameters
    ----------
    name
        ``"copy"`` (bytes read and written), ``"read"``, or what is multiplied: ``"bf16"``.
    value
        Median of the samples; or what the data sheet says.
    unit
        ``"B/s"`` or ``"FLOP/s"``.
    low, high
        Slowest and fastest sample.
    count
        Number of samples; 0 for a data sheet.
    how
        What was run.
    clock
        The GPU's clocks right behind the samples, still under load; None where NVML tells nothing.
    """

    name: str
    value: float
    unit: Literal["B/s", "FLOP/s"]
    low: float
    high: float
    count: int = 0
    how: str = ""
    clock: ClockReading | None = None

    def __str__(self) -> str:
        text = f"{self.name} {format_quantity(self.value, self.unit)}"
        if not self.count:
            return text
        low, high = (format_quantity(value, self.unit) for value in (self.low, self.high))
        clock = f", SM at {self.clock.sm_mhz} MHz" if self.clock and self.clock.sm_mhz else ""
        return f"{text} (median of {self.count}, {low} to {high}{clock}; {self.how})"


@dataclass(frozen=True)
class Roofs:
    """Roofs of one device.

    Parameters
    ----------
    gpu, uuid
        The device: its name, and as NVML identifies it.
    source
        ``"measured"`` on that device, or ``"data sheet"``.
    roofs
        Each roof.
    when
        When they were measured, ISO 8601 with time zone.
    versions
        Of driver, torch and Triton.
    notes
        What could not be measured, and why.

    Examples
    --------
    >>> protonlab.measure_roofs().bandwidth  # doctest: +SKIP
    """

    gpu: str
    uuid: str = ""
    source: str = MEASURED
    roofs: tuple[Roof, ...] = ()
    when: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        head = " · ".join(filter(None, (self.gpu, self.source, self.when, versions)))
        return "\n".join([head, *(f"  {roof}" for roof in self.roofs), *self.notes])

    __repr__ = __str__

    def __getitem__(self, name: str) -> Roof:
        """Roof of a name; KeyError where there is none."""
        for roof in self.roofs:
            if roof.name == name:
                return roof
        raise KeyError(name)

    @property
    def bandwidth(self) -> Roof | None:
        """The highest bandwidth: no kernel moves bytes faster."""
        known = [roof for roof in self.roofs if roof.unit == "B/s"]
        return max(known, key=lambda roof: roof.value, default=None)

    def matmul(self, width: int) -> Roof | None:
        """Return the highest rate for operands of so many bits: of TF32 and FP32 the faster."""
        known = [roof for roof in self.roofs if WIDTH_OF.get(roof.name) == width]
        return max(known, key=lambda roof: roof.value, default=None)

    @classmethod
    def of_data_sheet(cls, device: Device, gpu: str = "") -> Roofs:
        """Peaks of a device as its data sheet promises them; without roofs where none is known."""
        roofs = []
        if device.peak_bandwidth is not None:
            peak = device.peak_bandwidth
            roofs.append(Roof("memory", peak, "B/s", peak, peak))
        for width, name in ((8, "fp8"), (16, "bf16"), (32, "tf32")):
            rate = device.peak_flops(width) if width in FLOPS_WIDTHS else None
            if rate is not None:
                roofs.append(Roof(name, rate, "FLOP/s", rate, rate))
        notes = () if len(roofs) > 1 else (f"No data sheet's peaks are known for {device}.",)
        return cls(gpu or str(device), source=DATA_SHEET, roofs=tuple(roofs), notes=notes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the roofs as JSON; `Roofs.load` gives back equal ones."""
        document = {"protonlab_roofs": ROOFS_VERSION} | dataclasses.asdict(self)
        write_atomically([json.dumps(document, indent=1, allow_nan=False), "\n"], Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Roofs:
        """Read what `save` wrote.

        Raises
        ------
        ProfileFormatError
            If the file is something else.
        OSError
            If it cannot be read.
        """
        try:
            document = json.loads(Path(path).read_text("utf-8"))
            if document["protonlab_roofs"] != ROOFS_VERSION:
                raise ValueError(f"version {document['protonlab_roofs']!r}")
            return _roofs(document)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ProfileFormatError(
                f"{os.fspath(path)}: no roofs that this protonlab saved ({error!r}); "
                "measure_roofs() measures them anew"
            ) from None


def cached_roofs(uuid: str) -> Roofs | None:
    """Return what was measured on a GPU by this user on this machine, or None.

    Parameters
    ----------
    uuid
        The GPU, as NVML identifies it.
    """
    try:
        return Roofs.load(cache_path(uuid)) if uuid else None
    except (OSError, ProfileFormatError):
        return None


def cache_path(uuid: str) -> Path:
    """File in the user's cache folder that keeps the roofs of one GPU."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    name = re.sub(r"[^\w-]", "_", uuid)
    return Path(base) / "protonlab" / "roofs" / f"{name}.json"


def _roofs(document: Mapping[str, Any]) -> Roofs:
    roofs = tuple(_roof(each) for each in document["roofs"])
    text = {name: str(document[name]) for name in ("gpu", "uuid", "source", "when")}
    versions = {str(name): str(version) for name, version in document["versions"].items()}
    return Roofs(**text, roofs=roofs, versions=versions, notes=_texts(document["notes"]))


def _roof(document: Mapping[str, Any]) -> Roof:
    clock = document["clock"]
    if clock is not None:
        clock = ClockReading(**{**clock, "throttle": _texts(clock["throttle"])})
    value, low, high = (float(document[name]) for name in ("value", "low", "high"))
    if not all(math.isfinite(each) and each > 0 for each in (value, low, high)):
        raise ValueError(f"a roof of {value}")
    if document["unit"] not in ("B/s", "FLOP/s"):
        raise ValueError(f"unit {document['unit']!r}")
    return Roof(
        str(document["name"]), value, document["unit"], low, high,
        int(document["count"]), str(document["how"]), clock,
    )  # fmt: skip


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
