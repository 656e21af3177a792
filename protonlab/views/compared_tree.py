"""A comparison as a tree: both profiles in one, each frame with what it cost before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model.changes import ratio_texts
from protonlab.model.comparison import Comparison
from protonlab.model.frames import IntArray, subtree_sums
from protonlab.views.names import escaped, hover_lines
from protonlab.views.tree import Tree


@dataclass(frozen=True, eq=False)
class ComparedTree(Tree):
    """The merged tree of two profiles.

    A frame's own part is as wide as the larger of its two values, so what became faster and what
    is gone keep the room that they took. A box is as wide as the frames in it.

    Parameters
    ----------
    comparison
        The comparison.
    """

    comparison: Comparison

    @classmethod
    def of(cls, comparison: Comparison) -> ComparedTree:
        """Take a comparison, by a metric that may be summed, as a tree."""
        frames = comparison.frames
        parent = frames["parent_id"].to_numpy(dtype=np.int64)
        depth = frames["depth"].to_numpy(dtype=np.int64)
        own = []
        for side in ("before", "after"):
            whole = frames[side].to_numpy(dtype=np.float64, na_value=np.nan)
            held = np.bincount(parent[1:], weights=np.nan_to_num(whole[1:]), minlength=len(frames))
            own.append(np.nan_to_num(whole) - held)
        widest = np.maximum(*own)
        # Differences of float sums leave a trace where there is nothing.
        widest[np.abs(widest) < 1e-9 * widest.max(initial=0.0)] = 0.0
        value = subtree_sums(widest, parent, depth)
        row = np.arange(len(frames), dtype=np.int64)
        shown = np.ones(len(frames), dtype=np.bool_)
        return cls(parent, depth, value, shown, row, comparison.metric, frames, comparison)

    @property
    def title(self) -> str:
        """What the root is called."""
        return "all"

    def lines(self, nodes: IntArray) -> list[str]:
        """Both values, difference, ratio, and what the repeats say."""
        metric = self.metric
        texts = []
        for frame in self.frames.iloc[nodes].to_dict("records"):
            difference = metric.format(abs(frame["difference"]))
            sign = "−" if frame["difference"] < 0 else "+" if frame["difference"] > 0 else ""
            rows = {
                "before": metric.format(frame["before"]),
                "after": metric.format(frame["after"]),
                "difference": f"{sign}{difference}",
                "ratio": _times(
                    *(frame[name] for name in ("ratio", "low", "high") if name in frame)
                ),
            }
            lines = [f"{name}: <b>{escaped(text)}</b>" for name, text in rows.items() if text]
            if isinstance(frame["renamed_from"], str):
                lines.append(f"before: {hover_lines(frame['renamed_from'])}")
            change = {"added": "new", "removed": "gone"}.get(frame["change"], frame["change"])
            lines.append(escaped(frame.get("verdict", change)))
            texts.append("<br>".join(lines))
        return texts


def _times(ratio: float, *bounds: float) -> str:
    if pd.isna(ratio):
        return ""
    text, *ends = ratio_texts(ratio, *(bound for bound in bounds if pd.notna(bound)))
    return f"{text} × ({' to '.join(ends)})" if ends else f"{text} ×"
