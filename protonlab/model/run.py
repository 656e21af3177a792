"""A Run: what the ranks of one job recorded, together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.clock_alignment import align_clocks
from protonlab.model.frames import MetricColumn
from protonlab.model.job_ranks import JobRanks
from protonlab.model.merged_trace import merged_trace
from protonlab.model.metrics import Metric, available_metrics, metric_names
from protonlab.model.profile import Profile
from protonlab.model.rank_frames import RankFrames
from protonlab.model.rank_tables import MergedTree, by_rank, long_table
from protonlab.model.run_comparison import RunComparison, compare_runs
from protonlab.model.run_notes import notes_on_run
from protonlab.model.sentences import first_of, on_ranks
from protonlab.model.straggler_search import stragglers_of
from protonlab.model.stragglers import Stragglers
from protonlab.model.trace import Trace

By = Literal["kernel", "frame"]


@dataclass(frozen=True, eq=False, repr=False)
class Run(JobRanks):
    """The profiles and traces of the ranks of one job; `load_run` reads one from its folder.

    Parameters
    ----------
    name
        Name of the run: of its folder, as a rule.
    profiles
        Rank -> what it recorded, of the ranks whose profile is whole.
    manifests
        Rank -> what it says about itself, also of ranks that did not end; empty where profiles
        came without.
    traces
        Rank -> its trace, of ranks that recorded with ``data="trace"``.
    warnings
        Sentences on what was found amiss when the run was read.

    Raises
    ------
    ProtonLabError
        If a rank is no whole number from 0 up, or what belongs to it is something else.
    """

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know: `warnings`, then how the ranks differ."""
        return (*self.warnings, *notes_on_run(self, self._frames if self.profiles else None))

    @property
    def frames(self) -> pd.DataFrame:
        """Frame tables of all ranks, one behind the other, in the order of the ranks.

        Columns: ``rank``, ``frame_id`` and ``parent_id`` (within the rank), and what else a frame
        table has (`protonlab.model.frames`), with the metrics of all ranks.
        """
        return self._frames.table

    @property
    def columns(self) -> tuple[MetricColumn, ...]:
        """Metric columns of `frames`."""
        return self._frames.columns

    @property
    def metrics(self) -> list[str]:
        """Metric names that suit the run: time, and rates of what kernels recorded."""
        return available_metrics(self._frames.kernel_columns)

    def metric(self, name: str) -> Metric:
        """Read one metric name against this run; MetricError when it is unknown here."""
        return Metric.parse(name, self.columns)

    def to_dataframe(
        self, metrics: Sequence[str] | str | None = None, *, by: By = "kernel"
    ) -> pd.DataFrame:
        """Compute metrics, one row for each kernel, or frame, of each rank.

        Parameters
        ----------
        metrics
            Names in the metric grammar; by default those that suit the run.
        by
            ``"kernel"``: each rank's kernels, summed over its tree. ``"frame"``: each rank's tree,
            every frame with all below it.

        Returns
        -------
        pandas.DataFrame
            ``rank``; by frame ``frame_id``, ``parent_id``, ``depth``; ``name``, ``label``,
            ``kind``; then one float64 column a metric, NaN where missing. What profiling itself
            and autotuning launched is left out.

        Raises
        ------
        MetricError
            If a metric is unknown here.
        ProtonLabError
            If no rank left a profile.

        Examples
        --------
        >>> run.to_dataframe("time/ms").groupby("rank")["time/ms"].sum()  # doctest: +SKIP
        """
        _check_by(by)
        wanted = [self.metric(name) for name in metric_names(metrics, self.metrics)]
        return long_table(self._frames, self.profiles, wanted, by)

    def by_rank(self, metric: str = "time/us", *, by: By = "kernel") -> pd.DataFrame:
        """Lay the ranks beside each other: a row a kernel, or frame, and a column a rank.

        Parameters
        ----------
        metric
            Name in the metric grammar.
        by
            ``"kernel"``: most time over all ranks first. ``"frame"``: the tree that the ranks'
            trees make together, in preorder, every frame with all below it.

        Returns
        -------
        pandas.DataFrame
            ``name``, ``label`` (by frame also ``parent_id``, ``depth``, ``kind``; its index is
            ``frame_id``), a column for each rank, called by its number; then ``ranks`` (how many
            have a value), ``median``, ``min``, ``max``, ``lowest`` and ``highest`` (the ranks that
            have these) and ``spread``, the range by the median: 0.1 where the highest is a tenth
            of the median above the lowest. Missing values are NaN.

        Raises
        ------
        MetricError
            If the metric is unknown here, or has no number a kernel.
        ProtonLabError
            If no rank left a profile.

        Examples
        --------
        >>> run.by_rank("time/ms").nlargest(5, "spread")  # doctest: +SKIP
        """
        _check_by(by)
        return by_rank(self._frames, self.profiles, self.metric(metric), by)

    def stragglers(self, *, skip: int = 1, ranks: Collection[int] | None = None) -> Stragglers:
        """Say which rank the others wait for, if any, and how that is known.

        From traces: most of the time in a collective is waiting, so the rank that waits least in it
        came last. It is waited for when it comes late by at least 1 % of a step, more regularly
        from step to step than chance explains (in one run of 100; with fewer than six steps in
        one of 10, and the verdict says "probably"), and, from five ranks on, farther from the
        median than the others spread (z of at least 3.5, by the median absolute deviation). From
        profiles that tell steps apart, the same by their time in collectives; from sums over all
        steps, only what computing and waiting agree on.

        Parameters
        ----------
        skip
            How many steps to leave out at the beginning: a session's start skews the ranks. A step
            is an entry of the outermost scope, or what the manifests count; where neither is
            there, a quarter of the collectives is left out.
        ranks
            Those that talk to each other, where groups of ranks do; None: all.

        Raises
        ------
        ProtonLabError
            If `skip` is negative, a rank is not there, or none left anything.

        Examples
        --------
        >>> run.stragglers().verdict  # doctest: +SKIP
        'Rank 1 is waited for: it came last to 72 of 72 collectives of 9 steps, …'
        """
        if isinstance(skip, bool) or not isinstance(skip, int) or skip < 0:
            raise ProtonLabError(f"skip={skip!r}; give a number of steps, 0 or more")
        chosen = self.ranks if ranks is None else ranks
        if (
            not isinstance(chosen, Collection)
            or not {*chosen} <= {*self.ranks}
            or (self.ranks and not chosen)
        ):
            raise ProtonLabError(
                f"ranks={ranks!r}; give some of this run's, {on_ranks(self.ranks)}, as in [0, 1]"
            )
        return stragglers_of(self, skip, {*chosen})

    def compare(self, other: Run, *, metric: str = "time") -> RunComparison:
        """Compare this run with a later one: what became slower, faster, new, or went away.

        Values are those of a rank on average, and ratios are those of these values, with 95 %
        intervals across ranks: Student's t on the logarithm of the ratio. Where both runs have the
        same ranks each is compared with itself, so that what one GPU has always been slower by
        does not count. What an interval means is said as by `compare`. A note names a rank that
        changed far more than the others.

        Parameters
        ----------
        other
            The run after this one.
        metric
            Name in the metric grammar.

        Raises
        ------
        MetricError
            If a run lacks the metric, or it has no number a kernel.
        ProtonLabError
            If `other` is no run, or no rank of one left a profile.

        Examples
        --------
        >>> run.compare(protonlab.load_run("runs/tonight")).summary  # doctest: +SKIP
        """
        if not isinstance(other, Run):
            raise ProtonLabError(
                f"a run is compared with a run, not with a {type(other).__name__}; load_run() "
                "reads one, Run.from_profiles() makes one"
            )
        return compare_runs(self, other, metric)

    def merged_trace(self) -> Trace:
        """Lay the ranks' traces over each other on the first rank's clock.

        Clocks are aligned on the ends of collectives, which all ranks leave together; the first of
        ``info.notes`` says how well they agree afterwards. Lanes are called after their rank,
        processes and flow arrows are numbered anew, so that `Trace.save` writes one file that
        Perfetto opens.

        Raises
        ------
        ProtonLabError
            If no rank left a trace, or one counts cycles.
        """
        if not self.traces:
            raise ProtonLabError(
                f"run {self.name!r} has no trace of a rank; record with data='trace'"
            )
        return merged_trace(self.name, self.traces, align_clocks(self.traces), self.notes)

    def merged(self) -> Profile:
        """Add the ranks up to one profile, as if one process had run all of it.

        Frames of one name and kind below one parent are one, and every metric that sums is the sum
        over the ranks. Its devices are those of the first rank.

        Raises
        ------
        ProtonLabError
            If no rank left a profile.
        """
        first = self.profiles[self._frames.ranks[0]]
        return self.tree.profile(self.name, first, self.notes)

    @cached_property
    def tree(self) -> MergedTree:
        """The tree that the ranks' trees make together, for figures."""
        return MergedTree(self._frames, self.profiles)

    @cached_property
    def _frames(self) -> RankFrames:
        if not self.profiles:
            held = "none"
            if self.traces:
                held = (
                    "only traces: timeline(run) and run.traces show them, and a job that is "
                    "recorded without data='trace' has profiles"
                )
            raise ProtonLabError(
                f"run {self.name!r} has no profile of a rank, {held}. {first_of(self.warnings)}"
            )
        return RankFrames.of(self.profiles)


def _check_by(by: object) -> None:
    if by not in ("kernel", "frame"):
        raise ProtonLabError(f"by={by!r}; use 'kernel' or 'frame'")
