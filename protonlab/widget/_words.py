"""A comparison of overlap on and off in words, from the side that a person chose."""

from __future__ import annotations

import math

from protonlab.model import VariantComparison
from protonlab.model.changes import percent_of
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
    times = [found.estimate, found.low, found.high]  # with overlap by without
    if not overlap:
        times = [1 / found.estimate, 1 / found.high, 1 / found.low]
    ratio, low, high = times
    chosen = f"with overlap {_word(overlap)}, a call takes"
    if low <= 1 <= high:
        bounds = f"between {percent_of(low)} less and {percent_of(high)} more time"
        return f"Cannot tell the settings apart: {chosen} {bounds} ({pairs})."
    shares = [percent_of(each).removesuffix(" %") for each in sorted((low, high), key=_change)]
    interval = f"95 % interval {' to '.join(shares)} %, {pairs}"
    way = "longer" if ratio > 1 else "less"
    return f"W{chosen[1:]} {percent_of(ratio)} {way} ({interval})."


def _change(ratio: float) -> float:
    return abs(ratio - 1)


def _word(overlap: bool) -> str:
    return "on" if overlap else "off"
