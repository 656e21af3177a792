"""A VariantComparison: two callables measured in pairs, and how sure their ratio is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.frames import FloatArray, MetricColumn
from protonlab.model.info import ProfileInfo
from protonlab.model.metrics import Metric
from protonlab.model.pair_warnings import ROUND, pair_warnings
from protonlab.model.paired import paired_ratio, round_means
from protonlab.model.profile import Profile
from protonlab.model.statistics import Interval
from protonlab.model.variant_document import variants_document, write_variants
from protonlab.model.variant_text import as_html, as_text, verdict

GOING_ON = "not by then"  # why a measurement ended that went on when it was looked at
PAIR_COLUMNS: Mapping[str, type] = {
    "order": object,
    "time_ns_a": np.float64,
    "time_ns_b": np.float64,
    "value_a": np.float64,
    "value_b": np.float64,
    "sm_clock_mhz": np.float64,
    "memory_clock_mhz": np.float64,
    "power_w": np.float64,
    "temperature_c": np.float64,
    "throttle": object,
    "at_s": np.float64,
}


@dataclass(frozen=True, eq=False)
class VariantComparison:
    """Two variants of the same work, measured in pairs; `compare_variants` makes one.

    Parameters
    ----------
    names
        Names of the variants A and B, in the order in which they were given.
    metric
        What is compared; values are in the unit of its name (``time/us`` in µs).
    pairs
        One row a pair, index ``pair``: ``order`` (``"AB"`` or ``"BA"``), ``time_ns_a`` and
        ``time_ns_b`` (of one call), ``value_a`` and ``value_b`` (the metric), then the GPU beside
        it: ``sm_clock_mhz``, ``memory_clock_mhz``, ``power_w``, ``temperature_c`` (NaN where
        unknown), ``throttle`` (why the clock was not higher), and ``at_s``, seconds since
        measuring began. Where something was made anew on the way, a column ``round`` counts how
        often by then: pairs of one round share what was made.
    protocol
        What was done: ``protocol``, ``budget_s``, ``seed``, ``warmup_s``, ``launches`` (calls in a
        sample of A and of B), ``made_anew`` (what each round makes), ``flush_bytes``, ``timer``,
        ``stop_reason`` and more.
    info
        When, on which GPU, with which versions (``versions["driver"]`` is NVIDIA's).
    outputs_equal
        Whether both returned the same; None where they return nothing to compare.
    outputs
        The same in words.
    notes
        What is known of the measurement as a whole that a reader should know.
    profiles
        A profile of each variant by itself, from some plain calls.
    """

    names: tuple[str, str]
    metric: Metric
    pairs: pd.DataFrame
    protocol: Mapping[str, Any] = field(default_factory=dict)
    info: ProfileInfo = field(default_factory=ProfileInfo)
    outputs_equal: bool | None = None
    outputs: str = ""
    notes: tuple[str, ...] = ()
    profiles: tuple[Profile, Profile] | None = None

    def __post_init__(self) -> None:
        missing = [name for name in PAIR_COLUMNS if name not in self.pairs]
        if missing:
            raise ProtonLabError(f"pairs lack {', '.join(missing)}; see VariantComparison")

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @cached_property
    def ratio(self) -> Interval:
        """``value_b / value_a`` with its 95 % interval.

        The estimate is the geometric mean of the pairs' ratios. Below 20 pairs Student's t on
        their logarithms, from there on a bootstrap; where there are rounds, on means of rounds
        (`protonlab.model.paired.paired_ratio`).
        """
        return paired_ratio(self.values[0], self.values[1], rounds=self._rounds)

    @property
    def rounds(self) -> int | None:
        """How many rounds there are; None where nothing was made anew."""
        return None if self._rounds is None else len(np.unique(self._rounds))

    @property
    def ratios(self) -> FloatArray:
        """``value_b / value_a``: what the interval rests on, of each round or else each pair."""
        logs = np.log(self.values[1] / self.values[0])
        ratios: FloatArray = np.exp(
            logs if self._rounds is None else round_means(logs, self._rounds)
        )
        return ratios

    @property
    def _rounds(self) -> FloatArray | None:
        table = self.pairs
        return table[ROUND].to_numpy(np.float64) if ROUND in table else None

    @property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """The metric of A and of B, shape (pairs,) each."""
        table = self.pairs
        return table["value_a"].to_numpy(np.float64), table["value_b"].to_numpy(np.float64)

    @property
    def times_ns(self) -> tuple[FloatArray, FloatArray]:
        """Time of one call of A and of B in ns, shape (pairs,) each."""
        table = self.pairs
        return table["time_ns_a"].to_numpy(np.float64), table["time_ns_b"].to_numpy(np.float64)

    @property
    def medians(self) -> tuple[float, float]:
        """Median of the metric of A and of B, in the unit of its name; NaN without pairs."""
        first, second = (float(np.median(side)) if len(side) else np.nan for side in self.values)
        return first, second

    @property
    def verdict(self) -> str:
        """One sentence: which variant is faster, by how much, and how sure that is.

        ``x % faster`` means that the other one takes ``1 + x / 100`` times as long.

        Examples
        --------
        >>> comparison.verdict  # doctest: +SKIP
        'serial is 2.7 % faster, 95 % interval 2.3 to 3.1, 64 pairs'
        """
        return verdict(self)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What makes the numbers doubtful: different outputs, moved clocks, two peaks, drift."""
        different = (f"The outputs differ: {self.outputs}.",) if self.outputs_equal is False else ()
        return (*different, *self.notes, *pair_warnings(self.names, self.pairs))

    def first(self, n: int) -> VariantComparison:
        """Return the comparison as it stood after its first `n` pairs; its protocol says so.

        Raises
        ------
        ProtonLabError
            If `n` is no whole number, or negative; more than there are gives all.
        """
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 0:
            raise ProtonLabError(f"first({n!r}): give a number of pairs, 0 or more")
        if n >= len(self):
            return self
        part = f"a part: {n} of {len(self)} pairs"
        protocol = {**self.protocol, "stop_reason": part}
        if "in_words" in protocol:
            ended = self.protocol.get("stop_reason") or GOING_ON
            for words in (f"stopped: {ended}", ended):  # the second one where this is a part, too
                protocol["in_words"] = protocol["in_words"].replace(words, part)
        return replace(self, pairs=self.pairs.iloc[:n], protocol=protocol)

    def by_time(self) -> VariantComparison:
        """Return the same pairs with the time of a call as their metric."""
        metric = Metric.parse("time/us", [MetricColumn.from_raw("time (ns)")])
        times = {
            f"value_{side}": self.pairs[f"time_ns_{side}"] * metric.factor for side in ("a", "b")
        }
        return replace(self, metric=metric, pairs=self.pairs.assign(**times))

    def to_dataframe(self) -> pd.DataFrame:
        """Return the pairs as a table of your own; see `pairs` for its columns."""
        return self.pairs.copy()

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """All of it as plain values for JSON, for a file that holds more than this."""
        values: Mapping[str, Any] = json.loads("".join(variants_document(self)))
        return values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it as JSON, gzipped where the name ends in ``.gz``; `load` reads it back.

        Raises
        ------
        ProtonLabError
            If the name ends neither in ``.json`` nor in ``.json.gz``.
        OSError
            If the file cannot be written; an older one is left as it was.
        """
        write_variants(self, Path(path))
