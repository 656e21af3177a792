"""Numbers as people read them: SI prefixes and three significant digits."""

from __future__ import annotations

import math

_PREFIXES = {
    -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E",
}  # fmt: skip
MISSING = "–"


def format_quantity(value: float, unit: str = "") -> str:
    """Write a quantity with an SI prefix and three significant digits.

    Parameters
    ----------
    value
        The quantity in its base unit (seconds, bytes, bytes/s, …); NaN means missing.
    unit
        The base unit: ``"s"``, ``"B/s"``, ``"%"``, or empty for a plain number.

    Examples
    --------
    >>> format_quantity(0.000123456, "s")
    '123 µs'
    >>> format_quantity(2.65e12, "B/s")
    '2.65 TB/s'
    >>> format_quantity(float("nan"), "s")
    '–'
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit == "%":
        return f"{value:.1f} %" if abs(value) < 99.95 else f"{value:.0f} %"
    if value == 0:
        return f"0 {unit}".rstrip()
    low = -9 if unit == "s" else 0
    exponent = 3 * math.floor(math.log10(abs(value)) / 3)
    scaled = value / 10.0**exponent
    if abs(round_digits(scaled)) >= 1000:  # 999.9 would read 1e+03
        exponent += 3
    exponent = min(18, max(low, exponent))
    scaled = value / 10.0**exponent
    prefix = _PREFIXES[exponent]
    number = plain(scaled)
    if unit != "s" and not unit[:1].isupper():
        return f"{number}{prefix} {unit}".rstrip()  # "16.4k n_tokens/s": the unit is a name
    return f"{number} {prefix}{unit}"


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number of things: ``1 launch``, ``1,200 launches``."""
    return f"{number} {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def round_digits(value: float, digits: int = 3) -> float:
    """Round to significant digits."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def plain(value: float, digits: int = 3) -> str:
    """Significant digits without an exponent where that stays short."""
    rounded = round_digits(value, digits)
    if rounded == 0:
        return "0"
    if 1e-3 <= abs(rounded) < 1e15:
        return f"{rounded:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"
    return f"{rounded:.{digits}g}"
