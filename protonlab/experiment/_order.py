"""The order in which two variants are measured: random, balanced, and such that drift cancels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

ORDERS = ("ABBA", "BAAB")


def balanced_orders(seed: int) -> Iterator[str]:
    """Yield blocks of four samples without end.

    A block holds two pairs, one of each order, so that a steady drift falls out of it. Of every two
    blocks one begins with A and one with B; which of them comes first is random.

    Parameters
    ----------
    seed
        Gives the same order again.

    Examples
    --------
    >>> from itertools import islice
    >>> sorted(islice(balanced_orders(0), 2))
    ['ABBA', 'BAAB']
    """
    random = np.random.default_rng(seed)
    while True:
        yield from (ORDERS[which] for which in random.permutation(2))
