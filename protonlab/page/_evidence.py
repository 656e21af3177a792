"""What a page says of the profiles behind its figures: where, with what, and when measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protonlab.model import ClockReading, Profile

_UNKNOWN = "not recorded"
_FIRST = ("driver", "triton", "torch")  # versions that times depend on


@dataclass(frozen=True)
class Evidence:
    """How one profile was measured, in words.

    Parameters
    ----------
    name
        The profile.
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
    def of(cls, name: str, profile: Profile) -> Evidence:
        """Put a profile's `info` into words."""
        info = profile.info
        names = [*_FIRST, *(name for name in info.versions if name not in _FIRST)]
        versions = [f"{name} {info.versions[name]}" for name in names if name in info.versions]
        return cls(
            name=name,
            where=profile.where,
            versions=", ".join(versions) or _UNKNOWN,
            clocks=_clocks(info.clocks) or _UNKNOWN,
            when=_date(info.when) or _UNKNOWN,
        )


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
