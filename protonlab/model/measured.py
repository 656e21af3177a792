"""One metric of one profile, as a comparison needs it: by frame, by kernel, and by repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from protonlab.model.frames import FloatArray
from protonlab.model.metrics import Metric
from protonlab.model.profile import Profile
from protonlab.model.sums import Sums


@dataclass(frozen=True, eq=False)
class Measured:
    """A metric of a profile.

    Parameters
    ----------
    profile
        Without what profiling itself and autotuning launched.
    metric
        The metric.
    """

    profile: Profile
    metric: Metric

    @classmethod
    def of(cls, profile: Profile, metric: Metric, *, per_repeat: bool) -> Measured:
        """Leave the overhead out; on demand put what a repeat took on average for the sums."""
        shown = profile.take(~profile.overhead) if profile.overhead.any() else profile
        if per_repeat and shown.repeats is not None:
            shown = replace(shown, frames=shown.repeats.mean(shown.frames, shown.columns))
        return cls(shown, metric)

    @cached_property
    def frames(self) -> FloatArray:
        """Inclusive value of each frame, shape (n,)."""
        return self._by_frame(self.profile, inclusive=True)

    @cached_property
    def exclusive(self) -> FloatArray:
        """What each frame recorded itself, shape (n,)."""
        return self._by_frame(self.profile, inclusive=False)

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """Columns ``label``, ``value`` and ``count`` of each kernel; index: its name as recorded.

        Rows of one name that a launch hook tells apart are added.
        """
        return self._by_kernel(self.profile)

    @property
    def repeats(self) -> int:
        """How often the code ran; 0 where it was not repeated."""
        return self.profile.repeats.number if self.profile.repeats else 0

    @cached_property
    def frames_by_repeat(self) -> FloatArray:
        """The same for each repeat, shape (repeats, n)."""
        return self._each(lambda one: self._by_frame(one, inclusive=True), self.frames)

    @cached_property
    def kernels_by_repeat(self) -> FloatArray:
        """The same for each repeat, shape (repeats, kernels), in the order of `kernels`."""
        names = self.kernels.index
        return self._each(
            lambda one: self._by_kernel(one)["value"].reindex(names).to_numpy(),
            self.kernels["value"].to_numpy(),
        )

    def _each(self, values: Callable[[Profile], FloatArray], sums: FloatArray) -> FloatArray:
        rows = [values(self.profile.repeat(number)) for number in range(self.repeats)]
        table = np.stack(rows) if rows else np.empty((0, len(sums)))
        if not self.metric.additive:
            return table
        # What did not run in a repeat took no time in it, so that means and sums agree.
        return np.where(np.isnan(sums), np.nan, np.nan_to_num(table))

    def _by_frame(self, profile: Profile, *, inclusive: bool) -> FloatArray:
        name = self.metric.name
        table = profile.to_dataframe(name, inclusive=inclusive, overhead=True)
        return table[name].to_numpy(dtype=np.float64)

    def _by_kernel(self, profile: Profile) -> pd.DataFrame:
        table = Sums(profile.frames, profile.columns, profile.devices).by_kernel
        groups = table.groupby("name", sort=False)
        sums = groups.sum(numeric_only=True, min_count=1)
        sums.attrs["total"] = table.attrs["total"]
        return pd.DataFrame(
            {
                "label": groups["label"].first(),
                "value": self.metric.values(sums),
                "count": sums["count"].to_numpy(dtype=np.float64, na_value=np.nan),
            },
            index=sums.index,
        )
