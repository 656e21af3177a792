"""What each repeat of a measured piece of code recorded, beside the sums over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model.frames import BoolArray, FloatArray, MetricColumn

# Where Proton has no phases, each repeat runs in a scope of this name and its number.
REPEAT_SCOPE = "__protonlab_repeat:"
NOT_REPEATED = "nothing was repeated here; record with %%proton repeat=20 or Session.repeats(20)"


@dataclass(frozen=True, eq=False)
class Repeats:
    """Metrics of each repeat, for the frames that recorded something in it.

    Parameters
    ----------
    number
        How many repeats there were.
    values
        Sorted by ``repeat`` (0 to `number` - 1), then ``frame_id``; beside them the additive
        metric columns of the frame table, exclusive, missing where a frame recorded none.
    """

    number: int
    values: pd.DataFrame

    def take(self, keep: BoolArray) -> Repeats:
        """Keep some frames, shape (n,), as `Profile.take` numbers them."""
        position = np.cumsum(keep) - 1
        frame = self.values["frame_id"].to_numpy()
        values = self.values[keep[frame]].reset_index(drop=True)
        return Repeats(self.number, values.assign(frame_id=position[frame[keep[frame]]]))

    def times(self, frames: pd.DataFrame) -> FloatArray:
        """Time of all kernels in each repeat, in ns, shape (number,); overhead is left out."""
        kernels = frames.index[frames["kind"] == "kernel"]
        rows = self.values[self.values["frame_id"].isin(kernels)]
        sums = rows.groupby("repeat")["time_ns"].sum().reindex(range(self.number), fill_value=0)
        return sums.to_numpy(dtype=np.float64)

    def frames(
        self, frames: pd.DataFrame, columns: Sequence[MetricColumn], repeat: int
    ) -> pd.DataFrame:
        """Return the frame table with the metrics of one repeat in place of the sums."""
        values = self.values[self.values["repeat"] == repeat].set_index("frame_id")
        return _replaced(frames, columns, values)

    def mean(self, frames: pd.DataFrame, columns: Sequence[MetricColumn]) -> pd.DataFrame:
        """Return the frame table with what a repeat recorded on average in place of the sums."""
        sums = self.values.drop(columns="repeat").groupby("frame_id").sum(min_count=1)
        return _replaced(frames, columns, sums / self.number)


def _replaced(
    frames: pd.DataFrame, columns: Sequence[MetricColumn], values: pd.DataFrame
) -> pd.DataFrame:
    """Put other metrics, by frame, in place of a frame table's own."""
    result = frames.copy()
    for column in (each.column for each in columns):
        if column in values:
            result[column] = values[column].reindex(frames.index)
        else:
            result[column] = pd.Series(np.nan, index=frames.index)
    return result
