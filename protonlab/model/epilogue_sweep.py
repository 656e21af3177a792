"""An EpilogueSweep: overlap against serial over many shapes, each measured in pairs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.compiled import CompiledComparison
from protonlab.model.frames import FloatArray
from protonlab.model.info import ProfileInfo
from protonlab.model.sweep_document import write_sweep
from protonlab.model.sweep_shapes import crossings, of_shape, several_shapes
from protonlab.model.units import MISSING, counted
from protonlab.model.variants import VariantComparison

OVERLAP, SERIAL = "overlap", "serial"
# Why a sweep ended; the second one, of a file whose sweep goes on or was killed.
INTERRUPTED = "it was interrupted"
UNFINISHED = "it has not ended"
KERNELS = ("ours", "upstream")
# Name -> least, most, and what it must be a multiple of: storage tiles are 128 by 128.
LEGAL = {
    "tokens": (1, 8192, 1),
    "experts": (1, 1024, 1),
    "n": (128, 32768, 128),
    "k": (128, 32768, 128),
}
_COLUMNS = (
    *("kernel", "tokens", "experts", "n", "k", "pairs"),
    *("gbyte_s_overlap", "gbyte_s_overlap_low", "gbyte_s_overlap_high"),
    *("gbyte_s_serial", "gbyte_s_serial_low", "gbyte_s_serial_high"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "outputs_equal"),
    *("sm_clock_mhz", "power_w", "temperature_c"),
)


@dataclass(frozen=True, order=True)
class EpilogueCase:
    """One matmul to switch epilogue overlap of: bf16 rows times MXFP4 weights of many experts.

    Parameters
    ----------
    kernel
        ``"ours"``, plain Triton, or ``"upstream"``, the persistent kernel of ``triton_kernels``.
    tokens
        Rows for each expert, on average.
    experts
        How many.
    n, k
        Shape of an expert's weight.

    Raises
    ------
    ProtonLabError
        If the kernel is none of these, or a number is not legal.
    """

    kernel: str = "ours"
    tokens: int = 4
    experts: int = 128
    n: int = 5760
    k: int = 5760

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ProtonLabError(f"kernel={self.kernel!r}; give {' or '.join(map(repr, KERNELS))}")
        for name, (low, high, step) in LEGAL.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high or value % step:
                steps = f", a multiple of {step}" if step > 1 else ""
                raise ProtonLabError(f"{name}={value!r}; give a number from {low} to {high}{steps}")

    @property
    def is_published(self) -> bool:
        """Whether numbers were published for this shape, whichever the kernel."""
        return (self.tokens, self.experts, self.n, self.k) == (4, 128, 5760, 5760)

    def __str__(self) -> str:
        kernel = "our kernel" if self.kernel == "ours" else "upstream's kernel"
        each = f"{counted(self.tokens, 'token')} each"
        return f"{kernel}, {counted(self.experts, 'expert')}, {each}, {self.n} x {self.k}"


@dataclass(frozen=True, eq=False)
class EpilogueSweep:
    """Comparisons of epilogue overlap, on against off; `sweep_epilogue` measures one.

    Parameters
    ----------
    comparisons
        What was measured, in order; ``overlap`` is A, ``serial`` is B.
    compiled
        What the switch changed in the compiled kernel, of some cases, some with PTX.
    info
        On which GPU, with which versions, when.
    copy_gbyte_s
        Bandwidth of a device-to-device copy on this GPU, read and written; None if not measured.
    protocol
        What was asked for: ``budget_s`` of a case, ``protocol``, ``seed`` and more.
    left_out
        What was asked for and is not there, with the reason, one sentence each.
    """

    comparisons: Mapping[EpilogueCase, VariantComparison]
    compiled: Mapping[EpilogueCase, CompiledComparison] = field(default_factory=dict)
    info: ProfileInfo = field(default_factory=ProfileInfo)
    copy_gbyte_s: float | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def cases(self) -> tuple[EpilogueCase, ...]:
        """What was measured, in order."""
        return tuple(self.comparisons)

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody stopped it before the last case."""
        return self.protocol.get("stop_reason") == INTERRUPTED

    @property
    def where(self) -> str:
        """GPU, versions and date, for a label."""
        versions = [f"{name} {version}" for name, version in self.info.versions.items()]
        day = self.info.when[:10]
        return ", ".join(filter(None, (self.info.gpu, *versions, day)))

    def __repr__(self) -> str:
        missing = f", {len(self.left_out)} left out" if self.left_out else ""
        cases = f"{counted(len(self.comparisons), 'case')}{missing}"
        return f"<EpilogueSweep: {cases}, {self.where or 'unknown GPU'}>"

    def __str__(self) -> str:
        if not self.comparisons:
            return "\n".join([repr(self), *self.left_out])
        table = self._table
        which = ["kernel", "k", *several_shapes(table), "tokens"]
        shown = table[[*which, "gbyte_s_overlap", "gbyte_s_serial"]].round(0)
        shown["overlap, %"] = (100 * (1 / table["ratio"] - 1)).round(2)
        shown["interval, %"] = [
            MISSING if math.isnan(low) else f"{100 / high - 100:+.2f} to {100 / low - 100:+.2f}"
            for low, high in zip(table["ratio_low"], table["ratio_high"], strict=True)
        ]
        shown["pairs"] = table["pairs"]
        return "\n".join([repr(self), shown.to_string(index=False), *self.left_out])

    def comparison(self, case: EpilogueCase) -> VariantComparison:
        """Return one case's comparison.

        Raises
        ------
        ProtonLabError
            If it was not measured; the message says what was.
        """
        if case not in self.comparisons:
            near = self.nearest(case)
            raise ProtonLabError(
                f"{case}: not in this sweep of {len(self.comparisons)} cases"
                + (f"; the nearest one is {near}" if near else "")
            )
        return self.comparisons[case]

    def nearest(self, case: EpilogueCase) -> EpilogueCase | None:
        """Find the measured case most like another: kernel, then shape, then tokens."""

        def distance(other: EpilogueCase) -> tuple[Any, ...]:
            ours, theirs = (
                np.log2([each.experts, each.n, each.k, each.tokens]) for each in (case, other)
            )
            apart = np.abs(ours - theirs)
            return other.kernel != case.kernel, float(apart[:3].sum()), float(apart[3])

        return min(self.comparisons, key=distance, default=None)

    def compiled_of(self, case: EpilogueCase) -> CompiledComparison | None:
        """Find what the switch changed in the compiled kernel; None where that is not known.

        Sizes that run the same two kernels share the PTX that was kept of one of them.
        """
        found = self.compiled.get(case)
        if found is None or found.a.ptx:
            return found
        same = (each for each in self.compiled.values() if each.without_ptx() == found)
        return next((each for each in same if each.a.ptx), found)

    @cached_property
    def _table(self) -> pd.DataFrame:
        rows = []
        for case, comparison in self.comparisons.items():
            ratio = comparison.ratio
            clocks = comparison.pairs[["sm_clock_mhz", "power_w", "temperature_c"]].median()
            rows.append(
                (
                    *(case.kernel, case.tokens, case.experts, case.n, case.k, len(comparison)),
                    *(spread for values in comparison.values for spread in _spread(values)),
                    *(ratio.estimate, ratio.low, ratio.high),
                    *(comparison.verdict, comparison.outputs_equal, *clocks),
                )
            )
        return pd.DataFrame(rows, columns=_COLUMNS)

    def to_dataframe(self) -> pd.DataFrame:
        """One row a case.

        Returns
        -------
        pandas.DataFrame
            ``kernel``, ``tokens`` (an expert), ``experts``, ``n``, ``k``, ``pairs``; median GB/s
            ``gbyte_s_overlap`` with the 5 % and 95 % quantiles of its samples behind ``_low`` and
            ``_high``, the same of ``serial``; ``ratio`` (serial by overlap, above 1 where overlap
            is slower) with its 95 % interval, ``verdict``, ``outputs_equal``, and median clock,
            power and temperature.
        """
        return self._table.copy()

    def to_pairs(self) -> pd.DataFrame:
        """One row a pair, with its case and its clocks; see `VariantComparison.pairs`."""
        tables = [
            comparison.to_dataframe()
            .reset_index()
            .assign(
                kernel=case.kernel,
                **{name: getattr(case, name) for name in ("tokens", "experts", "n", "k")},
            )
            for case, comparison in self.comparisons.items()
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def crossings(
        self, kernel: str, k: int, *, n: int | None = None, experts: int | None = None
    ) -> tuple[float, ...]:
        """Tokens an expert at which overlap changes from slower to faster or back, at one shape.

        Between two measured sizes on a logarithmic scale of tokens; only where the intervals of
        both exclude a tie, so that noise makes no crossing. `n` and `experts` are the largest that
        were measured unless they are given.

        Raises
        ------
        ProtonLabError
            If the sweep has other kernels or shapes alone.
        """
        return crossings(of_shape(self._table, kernel, k, n, experts))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it; `load` reads it back, whatever the format.

        Parameters
        ----------
        path
            A name that ends in ``.json``, ``.json.gz``, or ``.parquet``: then the table of pairs
            is the file's table, and the rest stands in its metadata.

        Raises
        ------
        ProtonLabError
            If the name ends in none of these.
        MissingDependencyError
            If it ends in ``.parquet`` and pyarrow is not there.
        OSError
            If the file cannot be written; an older one is left as it was.
        """
        write_sweep(self, Path(path))


def _spread(values: FloatArray) -> tuple[float, float, float]:
    """Median of samples, and their 5 % and 95 % quantiles."""
    if not len(values):
        return (math.nan,) * 3
    middle, low, high = map(float, np.quantile(values, (0.5, 0.05, 0.95)))
    return middle, low, high
