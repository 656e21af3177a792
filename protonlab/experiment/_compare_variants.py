"""Comparing two variants, from beginning to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from protonlab.experiment._maker import Variants
from protonlab.experiment._measurement import Measurement
from protonlab.model import VariantComparison


def compare_variants(
    variants: Variants | Callable[[], Variants],
    *,
    setup: Callable[[], Any] | None = None,
    budget_s: float = 10,
    metric: str | None = None,
    protocol: Literal["sustained", "burst"] = "sustained",
    seed: int = 0,
) -> VariantComparison:
    """Measure two variants of the same work in interleaved pairs, and say which is faster.

    Each variant is called once and its output kept, profiled in some plain calls, and warmed up
    until times are stable. Then come blocks of two pairs in balanced random order (ABBA), so that
    drift cancels, in rounds: behind two blocks graphs, and what else can be, are made anew. It ends
    when the 95 % interval of the ratio, which rests on means of rounds, is narrower than 0.2 % with
    12 pairs at least, or the budget is spent. Proton times the kernels of each sample; CUDA events
    stand in where it cannot. The result's ``protocol`` says all that was done.

    Parameters
    ----------
    variants
        Exactly two names and callables without arguments that launch kernels, of any kind. What
        they return is compared. In the sustained protocol each is captured in CUDA graphs: its
        Python runs at captures only. Or a function that makes such a mapping with inputs of its
        own: it is called for each round, with the last round's still there, and the interval then
        also holds for other places in memory, which another run has.
    setup
        Called before each sample, untimed: puts inputs back that the variants write to. A sample
        is many calls, so a variant that uses up its input in one call does so in a copy.
    budget_s
        Seconds to warm up and measure; compiling and tuning come on top.
    metric
        A rate that the kernels' launch metadata makes (``"gbyte/s"``, ``"tflop16/s"``,
        ``"n_tokens/s"``) or a time (``"time/us"``). By default ``"gbyte/s"``, or ``"time/us"``
        where a variant records no bytes, or a call of one moves more than one of the other.
    protocol
        ``"sustained"``: back to back in CUDA graphs, nothing flushed, at the clock that the GPU's
        power cap leaves. ``"burst"``: few plain launches behind a rest, each with an empty L2.
    seed
        Of the order of blocks.

    Returns
    -------
    VariantComparison
        Its ``verdict`` is one sentence; ``profiles`` are the two profiles.

    Raises
    ------
    ProtonLabError
        If these are not two callables, one raises or launches nothing, or an argument is not legal.
    MetricError
        If a variant does not record the metric.
    CaptureError
        If a variant runs out of the GPU's memory, which is given back.

    Examples
    --------
    >>> comparison = protonlab.compare_variants(  # doctest: +SKIP
    ...     {"overlap": lambda: matmul(x, w, options=a), "serial": lambda: matmul(x, w, options=b)}
    ... )
    >>> comparison.verdict  # doctest: +SKIP
    'serial is 2.7 % faster, 95 % interval 2.3 to 3.1, 64 pairs'
    """
    with Measurement(
        variants, setup=setup, budget_s=budget_s, metric=metric, protocol=protocol, seed=seed
    ) as measurement:
        while not measurement.done:
            measurement.step()
        return measurement.comparison
