"""Clocks of a GPU while it was measured, and what a reader of its times should know of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A clock that moved by more than this makes times hard to compare.
STEADY = 0.03
IDLE = "idle"
# Reasons for a lower clock that nobody asked for.
SLOWDOWNS = (
    "power cap",
    "hardware slowdown",
    "thermal slowdown",
    "hardware thermal slowdown",
    "power brake",
)


@dataclass(frozen=True)
class ClockReading:
    """State of one GPU at one moment; what its driver does not tell is None.

    Parameters
    ----------
    when
        ISO 8601 with time zone, to the millisecond.
    uuid
        The GPU, as NVML names it (``"GPU-…"``).
    sm_mhz, memory_mhz
        Clocks in MHz.
    power_w
        Power draw in watts.
    temperature_c
        Temperature in °C.
    throttle
        Why the clock is not higher: `IDLE`, one of `SLOWDOWNS`, or a setting of the user's.
    """

    when: str
    uuid: str
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    throttle: tuple[str, ...] = ()


def clock_notes(readings: Sequence[ClockReading]) -> tuple[str, ...]:
    """Say when the SM clock moved by more than 3 % between readings, or a GPU was slowed down.

    Parameters
    ----------
    readings
        In the order of time, of any number of GPUs.

    Examples
    --------
    >>> readings = [ClockReading("", "GPU-1", mhz) for mhz in (1980, 1755)]
    >>> clock_notes(readings)
    ('The SM clock moved between 1755 and 1980 MHz (by 12.8 %) while this was recorded, and times \
with it.',)
    """
    by_gpu: dict[str, list[ClockReading]] = {}
    for reading in readings:
        by_gpu.setdefault(reading.uuid, []).append(reading)
    several = len(by_gpu) > 1
    return tuple(
        note
        for uuid, own in by_gpu.items()
        for note in _notes(own, f" of {uuid[:12]}" if several else "")
    )


def _notes(readings: Sequence[ClockReading], which: str) -> Iterator[str]:
    known = [reading for reading in readings if reading.sm_mhz]
    clocks = [reading.sm_mhz for reading in known if reading.sm_mhz]
    low, high = min(clocks, default=0), max(clocks, default=0)
    if low and high > low * (1 + STEADY):
        idle = any(IDLE in reading.throttle for reading in known if reading.sm_mhz == low)
        yield (
            f"The SM clock{which} moved between {low}{' (idle)' if idle else ''} and {high} MHz "
            f"(by {100 * (high / low - 1):.1f} %) while this was recorded, and times with it."
        )
    for reason in SLOWDOWNS:
        slowed = [reading for reading in readings if reason in reading.throttle]
        if slowed:
            yield (
                f"The GPU{which} was slowed down ({reason}) in {len(slowed)} of {len(readings)} "
                f"readings{_state(slowed)}."
            )


def _state(readings: Sequence[ClockReading]) -> str:
    """Highest power and temperature, and lowest clock, of some readings."""
    watts = [reading.power_w for reading in readings if reading.power_w is not None]
    degrees = [reading.temperature_c for reading in readings if reading.temperature_c is not None]
    clocks = [reading.sm_mhz for reading in readings if reading.sm_mhz is not None]
    parts = [
        *([f"SM clock {min(clocks)} MHz"] if clocks else []),
        *([f"{max(watts):.0f} W"] if watts else []),
        *([f"{max(degrees)} °C"] if degrees else []),
    ]
    return f", at {', '.join(parts)}" if parts else ""
