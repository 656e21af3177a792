"""Recording: the launch hook, sessions, and Triton's interpreter where there is no GPU.

Names resolve on first use: importing this package loads no Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.capture._hook import LaunchHook
    from protonlab.capture._option import Option
    from protonlab.capture._platform import device, enable_interpreter
    from protonlab.capture.diagnosis import doctor
    from protonlab.capture.options import OPTIONS, option
    from protonlab.capture.proton_words import CheckedWords, ProtonWords
    from protonlab.capture.roofs import measure_roofs
    from protonlab.capture.session import Session

_HOME = {
    "CheckedWords": "proton_words",
    "LaunchHook": "_hook",
    "OPTIONS": "options",
    "Option": "_option",
    "ProtonWords": "proton_words",
    "Session": "session",
    "device": "_platform",
    "doctor": "diagnosis",
    "enable_interpreter": "_platform",
    "measure_roofs": "roofs",
    "option": "options",
}

__all__ = [
    "OPTIONS",
    "CheckedWords",
    "LaunchHook",
    "Option",
    "ProtonWords",
    "Session",
    "device",
    "doctor",
    "enable_interpreter",
    "measure_roofs",
    "option",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.capture' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.capture.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
