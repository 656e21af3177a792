"""A comparison of overlap on and off in words, from the side that a person chose."""

from __future__ import annotations

import math

from protonlab.model import VariantComparison
from protonlab.model.variant_text import pairs_in_words


def headline(comparison: VariantComparison, *, overlap: bool) -> str:
    """Bandwidth of the chosen setting, and of the other one."""
    on, off = comparison.medians
    chosen, other = (on, off) if overlap else (off, on)
    if math.isnan(chosen):
        return f"Overlap {_word(overlap)}"
    return f"Overlap {_word(overlap)}: {chosen:,.0f} GB/s ({_word(not overlap)}: {other:,.0f} GB/s)"


def sentence(comparison: VariantComparison, *, overlap: bool) -> str:
    """Say what the chosen setting costs or saves against the other one, and how sure that is.

    Examples
    --------
    >>> sentence(comparison, overlap=True)  # doctest: +SKIP
    'With overlap on, a call takes 2.7 % longer (95 % interval 2.3 to 3.1 %, 64 pairs).'
    """
    found = comparison.ratio  # bandwidth without overlap by bandwidth with it
    pairs = pairs_in_words(comparison)
    if found.n == 0:
        return "Nothing measured yet."
    if math.isnan(found.low):
        return f"Cannot tell yet: no interval follows from {pairs}."
    if found.low <= 1 <= found.high:
        low, high = 100 * (found.low - 1), 100 * (found.high - 1)
        return (
            "Cannot tell the settings apart: with overlap on a call takes between "
            f"{low:+.2f} % and {high:+.2f} % of time more ({pairs})."
        )
    times = [found.estimate, found.low, found.high]  # with overlap by without
    if not overlap:
        times = [1 / value for value in times]
    change, low, high = (100 * abs(value - 1) for value in times)
    low, high = sorted((low, high))
    way = "longer" if times[0] > 1 else "less"
    return (
        f"With overlap {_word(overlap)}, a call takes {change:.2f} % {way} "
        f"(95 % interval {low:.2f} to {high:.2f} %, {pairs})."
    )


def _word(overlap: bool) -> str:
    return "on" if overlap else "off"
