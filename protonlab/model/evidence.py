"""How something was measured, in words: where, with what, and when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from protonlab.model.clocks import ClockReading
from protonlab.model.profile import Profile
from protonlab.model.variants import VariantComparison

_UNKNOWN = "not recorded"
_FIRST = ("driver", "triton", "torch")  # versions that times depend on


@dataclass(frozen=True)
class Evidence:
    """How a profile, or a comparison of variants, was measured, in words.

    Parameters
    ----------
    name
        What it is called.
    where
        GPU, or what took its place.
    versions
        Driver, Triton, torch and others.
    clocks
        SM clock, power and temperature while it was recorded.
    when
        Date and time.
    """

    name: str
    where: str
    versions: str
    clocks: str
    when: str

    @classmethod
    def of(cls, name: str, profile: Profile) -> Self:
        """Put a profile's `info` into words."""
        info = profile.info
        return cls(name, profile.where, _versions(info.versions), _clocks(info.clocks), info.when)

    @classmethod
    def of_variants(cls, comparison: VariantComparison) -> Self:
        """Put how a comparison was measured into words, the clocks from beside its pairs."""
        info = comparison.info
        beside = ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c")
        readings = [
            ClockReading("", "", *map(_known, row))
            for row in comparison.pairs[list(beside)].itertuples(index=False, name=None)
        ]
        where = info.gpu or info.backend or _UNKNOWN
        name = " against ".join(comparison.names)
        return cls(name, where, _versions(info.versions), _clocks(readings), info.when)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _date(self.when))
        for field in fields(self):
            if field.name != "name" and not getattr(self, field.name):
                object.__setattr__(self, field.name, _UNKNOWN)

    def as_json(self) -> dict[str, str]:
        """Plain values that `read` takes."""
        return asdict(self)

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """Check plain values; None when they are something else."""
        names = [field.name for field in fields(cls)]
        texts = [value.get(name) for name in names] if isinstance(value, Mapping) else [None]
        return cls(*map(str, texts)) if all(isinstance(text, str) for text in texts) else None


def _known(value: float) -> Any:
    return None if math.isnan(value) else value


def _versions(versions: Mapping[str, str]) -> str:
    names = [*_FIRST, *(name for name in versions if name not in _FIRST)]
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)


def _date(when: str) -> str:
    """``2026-11-30T04:22:22.123+00:00`` -> ``2026-11-30 04:22 +00:00``."""
    day, _, time = when.partition("T")
    if not time:
        return when
    zone = next((time[at:] for at in range(5, len(time)) if time[at] in "+-Z"), "")
    return f"{day} {time[:5]} {zone}".strip()


def _clocks(readings: Sequence[ClockReading]) -> str:
    parts = []
    for title, unit, values in (
        ("SM", "MHz", [reading.sm_mhz for reading in readings]),
        ("memory", "MHz", [reading.memory_mhz for reading in readings]),
        ("", "W", [reading.power_w for reading in readings]),
        ("", "°C", [reading.temperature_c for reading in readings]),
    ):
        known = [value for value in values if value is not None]
        if known:
            low, high = f"{min(known):.0f}", f"{max(known):.0f}"
            span = low if low == high else f"{low}–{high}"
            parts.append(f"{title} {span} {unit}".strip())
    return ", ".join(parts)
