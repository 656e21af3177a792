"""The tree of a run: the trees of all ranks in one, each frame with what it costs on which rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model import Metric, Run
from protonlab.model.frames import IntArray
from protonlab.views.hover import caption
from protonlab.views.names import escaped
from protonlab.views.tree import Tree


@dataclass(frozen=True, eq=False)
class RunTree(Tree):
    """The merged tree of a run; a box is as wide as its mean over all ranks.

    Parameters
    ----------
    run
        The run.
    spread
        A row a frame: the columns of `RankValues.spread`.
    """

    run: Run
    spread: pd.DataFrame

    @classmethod
    def of(cls, run: Run, metric: Metric) -> RunTree:
        """Take a run, by a metric that may be summed, as a tree."""
        tree = run.tree
        values = tree.values(metric)
        parent = tree.frames["parent_id"].to_numpy(np.int64)
        depth = tree.frames["depth"].to_numpy(np.int64)
        row = np.arange(len(parent), dtype=np.int64)
        # Where a rank has not got the frame it spent nothing there.
        mean = values.totals / len(tree.ranks)
        return cls(
            *(parent, depth, mean, ~tree.overhead, row, metric, tree.frames, run, values.spread)
        )

    @property
    def title(self) -> str:
        """Name of the run."""
        return self.run.name or "all"

    def lines(self, nodes: IntArray) -> list[str]:
        """Mean, the lowest and the highest rank, and how far they are apart."""
        metric, number = self.metric, len(self.run.tree.ranks)
        title = escaped(caption(metric))
        texts = []
        for mean, row in zip(
            self.value[nodes].tolist(), self.spread.iloc[nodes].to_dict("records"), strict=True
        ):
            lines = [f"{title}, mean of the ranks: <b>{escaped(metric.format(mean))}</b>"]
            if row["ranks"] > 0:
                lines += [
                    f"lowest: {escaped(metric.format(row['min']))} on rank {row['lowest']}",
                    f"highest: {escaped(metric.format(row['max']))} on rank {row['highest']}",
                ]
            if row["spread"] == row["spread"]:
                lines.append(f"spread: <b>{100 * row['spread']:.1f} %</b> of the median")
            if row["ranks"] < number:
                lines.append(f"on {row['ranks']} of {number} ranks")
            texts.append("<br>".join(lines))
        return texts
