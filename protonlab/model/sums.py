"""What is added up from a frame table: over subtrees, and over the frames of each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from protonlab.model.devices import Device, ideal_times
from protonlab.model.frames import (
    OVERHEAD_KINDS,
    BoolArray,
    IntArray,
    MetricColumn,
    inclusive_column,
    subtree_ends,
)
from protonlab.model.kernels import kernel_columns, kernel_sums


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of one profile, each computed when it is first asked for.

    Parameters
    ----------
    frames, columns, devices
        Those of the profile.
    """

    frames: pd.DataFrame
    columns: Sequence[MetricColumn]
    devices: Sequence[Device]

    @cached_property
    def ends(self) -> IntArray:
        """Row behind the last descendant of each frame, shape (n,)."""
        return subtree_ends(self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy())

    @cached_property
    def overhead(self) -> BoolArray:
        """Frames that profiling or autotuning launched, shape (n,)."""
        flags: BoolArray = self.frames["kind"].isin(OVERHEAD_KINDS).to_numpy()
        return flags

    @cached_property
    def inclusive(self) -> pd.DataFrame:
        """Every additive metric column summed over each frame's subtree, index ``frame_id``."""
        parent, depth = self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy()
        return pd.DataFrame(
            {
                column.column: inclusive_column(
                    self.frames[column.column], parent, depth, self.ends, self.overhead
                )
                for column in self.columns
                if column.additive
            },
            index=self.frames.index,
        )

    def by_frame(self, *, inclusive: bool) -> pd.DataFrame:
        """Columns that metrics are computed from, with totals and ideal times, one row a frame."""
        sums = self.frames[[column.column for column in self.columns]].copy()
        if inclusive:
            sums[self.inclusive.columns] = self.inclusive
        sums = sums.join(self._ideal)
        sums.attrs["total"] = self._total
        return sums

    @cached_property
    def by_kernel(self) -> pd.DataFrame:
        """The same, one row a kernel, slowest first, with its names and how many devices ran it."""
        metrics = [column.column for column in self.columns if column.additive]
        table = kernel_sums(self.frames.join(self._ideal), [*metrics, *self._ideal.columns])
        table.attrs["total"] = self._total
        return table

    def by_group(self, groups: pd.Series) -> pd.DataFrame:
        """Add up what `by_kernel` does, one row a group of frames.

        Parameters
        ----------
        groups
            Group of each frame, index ``frame_id``; a frame without one is left out.

        Returns
        -------
        pandas.DataFrame
            Index: the groups as they first appear. A value is missing where no frame of the group
            has one.
        """
        metrics = [column.column for column in self.columns if column.additive]
        table = self.frames.join(self._ideal)[[*metrics, *self._ideal.columns]]
        sums = table.groupby(groups, sort=False, observed=True).sum(min_count=1)
        sums.attrs["total"] = self._total
        return sums

    @cached_property
    def kernel_columns(self) -> list[MetricColumn]:
        """Columns that a kernel has a value in, not scopes alone."""
        return kernel_columns(self.frames, self.columns)

    @cached_property
    def _total(self) -> dict[str, float]:
        return {
            str(column): float(values.iloc[0]) if pd.notna(values.iloc[0]) else float("nan")
            for column, values in self.inclusive.items()
        }

    @cached_property
    def _ideal(self) -> pd.DataFrame:
        return ideal_times(self.frames, self.devices)
