"""A Comparison: two profiles, frame by frame and kernel by kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.alignment import align
from protonlab.model.changes import (
    CANNOT_TELL,
    CHANGES,
    NO_VALUE,
    SAME,
    VALUE_COLUMNS,
    moved,
)
from protonlab.model.comparability import notes_on
from protonlab.model.compared import compared_frames, compared_kernels
from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS
from protonlab.model.filtered_kernels import by_compiled_name, filtered_alone
from protonlab.model.job_ranks import JobRanks
from protonlab.model.measured import Measured
from protonlab.model.metrics import Metric
from protonlab.model.profile import Profile
from protonlab.model.renames import RULE, Spellings

_TREE = ("parent_id", "depth")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two profiles compared by one metric; `compare` makes one.

    Parameters
    ----------
    before, after
        The profiles. A kernel that only one of their filters rejected has its compiled name in
        both.
    metric
        The metric. Values are in the unit of its name: ``time`` in ns, ``time/us`` in µs.
    frames
        Both trees as one, in preorder, index ``frame_id``: ``parent_id``, ``depth``, ``name``,
        ``label``, ``kind``, ``renamed_from`` (missing where the name is the same), ``change``,
        ``before`` and ``after`` (inclusive, NaN where absent), ``difference``, ``ratio``; where
        both profiles were repeated ``low``, ``high`` (of the ratio) and ``verdict``; then
        ``exclusive_difference``, which adds up to the root's ``difference``, and
        ``before_frame``, ``after_frame``: the rows in the profiles' own tables, -1 where absent.
        What profiling itself and autotuning launched is left out.
    kernels
        One row a kernel, greatest difference first: ``name``, ``label``, ``renamed_from``, the
        same columns of values, ``count_before`` and ``count_after`` (launches).
    rule
        How names were aligned.
    notes
        Sentences that a reader of the numbers should know.
    """

    before: Profile
    after: Profile
    metric: Metric
    frames: pd.DataFrame
    kernels: pd.DataFrame
    rule: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Comparison: {self.summary}>"

    @property
    def summary(self) -> str:
        """One line: both totals, their difference, and how many kernels changed.

        Examples
        --------
        >>> comparison.summary  # doctest: +SKIP
        'time 1.2 ms before, 1 ms after: 16.7 % less time; kernels: 1 changed, 4 unchanged'
        """
        total = self.frames.iloc[0]
        words = {CANNOT_TELL: "cannot tell of {}", NO_VALUE: f"{{}} without {self.metric.name}"}
        parts = [
            words.get(change, f"{{}} {change}").format(f"{count:,}")
            for change in CHANGES
            if (count := int((self.kernels["change"] == change).sum()))
        ]
        values = [self.metric.format(float(total[side])) for side in ("before", "after")]
        return (
            f"{self.metric.name} {values[0]} before, {values[1]} after: "
            f"{self._total_in_words}; kernels: {', '.join(parts) or 'none'}"
        )

    @property
    def _total_in_words(self) -> str:
        total = self.frames.iloc[0]
        if "verdict" in total:
            return str(total["verdict"])
        is_same = total["change"] == "unchanged" and pd.notna(total["ratio"])
        return SAME if is_same else moved(self.metric, float(total["ratio"]))

    def to_dataframe(self, by: Literal["kernel", "frame"] = "kernel") -> pd.DataFrame:
        """Return the comparison as a table.

        Parameters
        ----------
        by
            ``"kernel"``: the rows of `kernels`; where the metric sums, their differences add up to
            that of the totals. ``"frame"``: the tree, whose values are inclusive.

        Returns
        -------
        pandas.DataFrame
            ``name``, ``change`` (added, removed, changed, unchanged, "cannot tell", or "no value"
            where neither side has the metric), ``before``, ``after``, ``difference``, ``ratio``;
            with repeats ``low``, ``high`` and ``verdict``; then ``renamed_from`` and ``label`` (by
            frame also ``parent_id`` and ``depth``).
        """
        if by not in ("kernel", "frame"):
            raise ProtonLabError(f"by={by!r}; use 'kernel' or 'frame'")
        table = self.kernels if by == "kernel" else self.frames
        tree = () if by == "kernel" else _TREE
        names = ("name", *VALUE_COLUMNS, "renamed_from", "label", *tree)
        return table[[name for name in names if name in table]].copy()


def compare(before: Profile, after: Profile, *, metric: str = "time") -> Comparison:
    """Compare two profiles of the same code: what became slower, faster, new, or went away.

    Without repeats a change within 1 % counts as unchanged. Where both profiles were repeated,
    each ratio has a 95 % interval, which counts as unchanged when all of it lies within 1 %, and
    as "cannot tell" when it reaches farther and holds 1.

    Parameters
    ----------
    before, after
        The profiles. Where they were repeated a different number of times, values are those of
        one repeat.
    metric
        Name in the metric grammar. A metric that does not sum, such as ``"gbyte/s"``, is compared
        frame by frame and kernel by kernel, but what is absent then has no difference.

    Raises
    ------
    MetricError
        If a profile lacks the metric, or it has no number a kernel.
    ProtonLabError
        If these are no profiles.

    Examples
    --------
    >>> protonlab.compare(eager, compiled).to_dataframe()  # doctest: +SKIP
    """
    for side, profile in (("before", before), ("after", after)):
        if isinstance(profile, JobRanks):
            raise ProtonLabError(
                f"{side} is a {type(profile).__name__}; two runs are compared by run.compare(other)"
                ", a rank of one by compare(run.profiles[0], …)"
            )
        if not isinstance(profile, Profile):
            raise ProtonLabError(
                f"{side} is a {type(profile).__name__}; compare() takes two profiles, such as "
                "%%proton makes or protonlab.load reads from a tree"
            )
    gated = filtered_alone([before], [after]) + filtered_alone([after], [before])
    before, after = (by_compiled_name(profile, gated) for profile in (before, after))
    metrics = _metric(before, metric, "before"), _metric(after, metric, "after")
    wanted = metrics[0]
    if (wanted.unit, wanted.scale) != (metrics[1].unit, metrics[1].scale):
        raise MetricError(f"{metric!r} has another unit before than after; name one: time/us")
    numbers = [profile.repeats.number if profile.repeats else 1 for profile in (before, after)]
    per_repeat = numbers[0] != numbers[1]
    sides = (
        Measured.of(before, metrics[0], per_repeat=per_repeat),
        Measured.of(after, metrics[1], per_repeat=per_repeat),
    )
    names = Spellings()
    alignment = align(sides[0].profile.frames, sides[1].profile.frames, names)
    frames = compared_frames(alignment, sides)
    kernels = compared_kernels(alignment, sides, names)
    notes = tuple(notes_on(before, after, wanted, kernels))
    return Comparison(before, after, wanted, frames, kernels, RULE, notes)


def _metric(profile: Profile, name: str, side: str) -> Metric:
    """Read the metric against one profile; refuse what has no number a frame and a kernel."""
    try:
        metric = profile.metric(name)
    except MetricError as error:
        raise MetricError(f"{side}: {error}") from None
    summed = {column.column for column in profile.columns if column.additive}
    if metric.form == "util_bound" or not {*metric.sources} <= summed | {IDEAL_FLOPS, IDEAL_BYTES}:
        raise MetricError(
            f"{side}: {name!r} cannot be compared: it is text, a vector or a property, which has "
            f"no sum over launches. Use one of {', '.join(profile.metrics)}"
        )
    return metric
