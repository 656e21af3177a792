"""One metric of one profile, as a comparison needs it: by frame, by kernel, and by repeat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from protonlab.model.frames import FloatArray, IntArray
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
        if not self.repeats:
            return np.empty((0, len(self.frames)))
        sums = self._repeats.by_frame(inclusive=True)
        parent = self._repeats.frames["parent_id"].to_numpy()
        return self._each(sums, self.frames, parent)

    @cached_property
    def kernels_by_repeat(self) -> FloatArray:
        """The same for each repeat, shape (repeats, kernels), in the order of `kernels`."""
        names = self.kernels.index
        if not self.repeats:
            return np.empty((0, len(names)))
        frames = self._repeats.frames
        kernels = (frames["kind"] == "kernel").to_numpy()
        group = names.get_indexer(pd.Index(frames["name"].astype(object))).astype(np.float64)
        group += len(names) * (np.arange(-1, len(frames) - 1) // len(self.frames))
        groups = pd.Series(np.where(kernels, group, np.nan), index=frames.index)
        sums = self._repeats.by_group(groups).reindex(range(-1, self.repeats * len(names)))
        return self._each(sums, self.kernels["value"].to_numpy())

    def _each(
        self, sums: pd.DataFrame, whole: FloatArray, parent: IntArray | None = None
    ) -> FloatArray:
        """Compute the metric from sums of all repeats, whose first row stands for none of them."""
        # A share is one of its repeat.
        roots = self._repeats.inclusive.iloc[1 :: len(self.frames)]
        sums.attrs["total"] = {
            str(name): np.append(
                np.nan, np.repeat(values.to_numpy(np.float64, na_value=np.nan), len(whole))
            )
            for name, values in roots.items()
        }
        table = self.metric.values(sums, parent)[1:].reshape(self.repeats, len(whole))
        if not self.metric.additive:
            return table
        # What did not run in a repeat took no time in it, so that means and sums agree.
        return np.where(np.isnan(whole), np.nan, np.nan_to_num(table))

    @cached_property
    def _repeats(self) -> Sums:
        """The trees of all repeats, one behind the other, below a root of their own."""
        profile, repeats = self.profile, self.profile.repeats
        assert repeats is not None
        frames, number, size = profile.frames, self.repeats, len(profile.frames)
        rows = np.append(0, np.tile(np.arange(size), number))
        table = frames.iloc[rows].reset_index(drop=True)
        first = np.repeat(np.arange(number) * size + 1, size)
        parent = np.tile(frames["parent_id"].to_numpy(), number)
        table["parent_id"] = np.append(-1, np.where(parent < 0, 0, parent + first))
        table["depth"] += np.append(0, np.ones(number * size, dtype=np.int64))
        values = repeats.values.set_index(
            repeats.values["repeat"] * size + repeats.values["frame_id"] + 1
        ).reindex(table.index)
        for column in (each.column for each in profile.columns):
            table[column] = values.get(column, np.nan)
        return Sums(table, profile.columns, profile.devices)

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
