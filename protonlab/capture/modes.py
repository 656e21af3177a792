"""Proton's modes: what may stand behind ``mode=``, and which backend it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from protonlab.errors import ProtonLabError

# Knob -> its legal values; int: any number from 0 up; None: Proton reads the text itself.
_Knobs = Mapping[str, tuple[str, ...] | type[int] | None]
_INSTRUMENTATION: _Knobs = {
    "metric_type": ("cycle",),
    "sampling_strategy": ("none", "selective"),
    "sampling_options": None,
    "granularity": (
        "cta", "warp", "warp_2", "warp_4", "warp_8",
        "warp_group", "warp_group_2", "warp_group_4", "warp_group_8",
    ),
    "buffer_strategy": ("circular", "flush"),
    "buffer_type": ("shared", "global"),
    "buffer_size": int,
    "optimizations": None,
}  # fmt: skip
# Mode -> the backends that have it, and its knobs.
MODES: Mapping[str, tuple[tuple[str, ...], _Knobs]] = {
    "pcsampling": (("cupti", "rocprofiler"), {"interval": int}),
    "periodic_flushing": (
        ("cupti", "rocprofiler", "roctracer"),
        {"format": ("hatchet", "hatchet_msgpack", "chrome_trace")},
    ),
    "default": (("instrumentation",), _INSTRUMENTATION),
    "mma": (("instrumentation",), _INSTRUMENTATION),
}


@dataclass(frozen=True)
class Mode:
    """A checked mode.

    Parameters
    ----------
    name
        One of `MODES`.
    knobs
        What follows the name, as text.
    given
        What Proton is handed: the text, or the object of Proton's that the user made.
    """

    name: str
    knobs: Mapping[str, str] = field(default_factory=dict)
    given: Any = None

    def __str__(self) -> str:
        """Write the mode as Proton reads it."""
        return ":".join([self.name, *(f"{knob}={value}" for knob, value in self.knobs.items())])

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends that have this mode."""
        return MODES[self.name][0]

    def with_knob(self, knob: str, value: str) -> Mode:
        """Add a knob that was not given."""
        return Mode(self.name, {knob: value, **self.knobs})

    @classmethod
    def read(cls, value: Any) -> Mode:
        """Read a mode: ``"pcsampling:interval=1000"``, or an object of ``triton.profiler.mode``.

        Raises
        ------
        ProtonLabError
            If there is no such mode or knob, or the knob's value is not legal.

        Examples
        --------
        >>> str(Mode.read("pcsampling:interval=1000"))
        'pcsampling:interval=1000'
        """
        if isinstance(value, Mode):
            return value
        is_text = isinstance(value, str)
        if not is_text and not type(value).__module__.startswith("triton.profiler"):
            raise ProtonLabError(
                f"mode={value!r} is a {type(value).__name__}; give text, for example "
                "mode=pcsampling:interval=1000, or an object of triton.profiler.mode"
            )
        name, *parts = str(value).split(":")
        if name not in MODES:
            raise ProtonLabError(f"mode={name}; use {', '.join(MODES)}, or leave it out")
        if not is_text and "instrumentation" in MODES[name][0]:
            return cls(name, {}, value)  # its text does not lead back to it
        return cls(name, dict(_knob(name, part) for part in parts))


def _knob(mode: str, part: str) -> tuple[str, str]:
    knob, equals, value = part.partition("=")
    legal = MODES[mode][1]
    if not equals or knob not in legal:
        raise ProtonLabError(
            f"mode={mode}:{part}: {mode} has {', '.join(f'{each}=…' for each in legal)}, each "
            "behind a colon"
        )
    values = legal[knob]
    least = 1 if knob == "interval" else 0
    if values is int and not (value.isdecimal() and int(value) >= least):
        raise ProtonLabError(f"mode={mode}:{part}: {knob} is a whole number from {least} up")
    if isinstance(values, tuple) and value not in values:
        raise ProtonLabError(f"mode={mode}:{part}: {knob} is one of {', '.join(values)}")
    return knob, value
