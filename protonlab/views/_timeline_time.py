"""The time axis of a timeline: which unit, from where on, and how a stretch of time is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from protonlab.errors import ProtonLabError
from protonlab.model import Trace, format_quantity
from protonlab.model.units import plain
from protonlab.views._timeline_rows import Rows

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True)
class TimeAxis:
    """Numbers of a trace on the axis.

    Parameters
    ----------
    origin
        Where the axis has its zero, in the trace's unit.
    step
        How many of the trace's units are one of the axis'.
    title
        What the axis shows, with the unit.
    ns
        ns that one of the trace's units takes; None for cycles without a clock.
    """

    origin: int
    step: float
    title: str
    ns: float | None

    @classmethod
    def of(cls, trace: Trace, rows: Rows, clock_mhz: float | None) -> TimeAxis:
        """Choose the unit by the time that the events take.

        Raises
        ------
        ProtonLabError
            If a clock is given that is no positive number, or where times are in ns anyway.
        """
        ns = 1.0 if trace.unit == "ns" else None
        if clock_mhz is not None:
            if ns is not None:
                raise ProtonLabError(
                    f"clock_mhz={clock_mhz!r}, but this trace is in ns; leave it out. It turns the "
                    "cycles of the instrumentation backend into time"
                )
            if not isinstance(clock_mhz, (int, float)) or not 0 < clock_mhz < math.inf:
                raise ProtonLabError(f"clock_mhz={clock_mhz!r}; give the SM clock in MHz, as 1980")
            ns = 1e3 / clock_mhz
        origin = int(rows.start.min()) if len(rows.start) else 0
        if ns is None:
            return cls(origin, 1.0, "cycles since the first event", None)
        span = (int(rows.end.max()) - origin) * ns if len(rows.end) else 0.0
        size, unit = next((each for each in _UNITS if span >= each[0]), _UNITS[-1])
        at = "" if clock_mhz is None else f", at {plain(clock_mhz)} MHz"
        return cls(origin, size / ns, f"time since the first event ({unit}{at})", ns)

    def of_values(self, values: Any) -> Any:
        """Place of points in time on the axis."""
        return (np.asarray(values) - self.origin) / self.step

    def back(self, value: float) -> float:
        """Point in time of a place on the axis."""
        return value * self.step + self.origin

    def amount(self, value: float) -> str:
        """Write a stretch of time with its unit."""
        if self.ns is None:
            return f"{value:,.0f} cycles"
        return format_quantity(value * self.ns * 1e-9, "s")
