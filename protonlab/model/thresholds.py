"""How much slower is allowed: a share, as people write it."""

from __future__ import annotations

import re
from numbers import Real

from protonlab.errors import ProtonLabError

_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")
_LARGEST = 10.0


def threshold_of(value: float | str) -> float:
    """Read a threshold: ``"3%"``, ``"0.03"`` or 0.03.

    Raises
    ------
    ProtonLabError
        If it is no share, or so large that a percent sign is missing.
    """
    number: float | None = None
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value)
        if match is not None:
            number = float(match[1]) / (100 if match[2] else 1)
            if not match[2] and number >= 1:
                number = None  # "3" could mean 3 % or 300 %
    elif isinstance(value, Real) and not isinstance(value, bool) and 0 <= value < 1:
        number = float(value)
    if number is None or not 0 <= number < _LARGEST:
        raise ProtonLabError(f"threshold={value!r}; write it as 3% or 0.03, below {_LARGEST:.0%}")
    return number
