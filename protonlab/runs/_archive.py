"""An Archive: runs kept over time, as parquet in a folder or behind a URL."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.model.frames import columns_of_all
from protonlab.model.metrics import available_metrics
from protonlab.model.run import Run
from protonlab.model.thresholds import threshold_of
from protonlab.runs._catalogue import Catalogue, Runs
from protonlab.runs._frames import lazy_frames
from protonlab.runs._history import history
from protonlab.runs._ingest import ingest, report, warn_of_problems
from protonlab.runs._leftovers import clean, leftovers
from protonlab.runs._moments import runs_table
from protonlab.runs._regressions import regressions
from protonlab.runs._slow_ranks import stragglers
from protonlab.runs._sources import Appendable, source_of, sources_of
from protonlab.runs._store import store_at

if TYPE_CHECKING:
    import dask.dataframe


class Archive:
    """Runs kept over time: a dataset of parquet files in a folder, or behind any URL of fsspec's.

    Each profile is a file (``run=…/rank=…/step=…/part-….parquet``); small files beside them hold
    the sums of kernels, which answer questions over many runs, and say which files count. What
    takes long is done by Dask: in threads, or on the `distributed.Client` that is active.

    Parameters
    ----------
    url
        Path of a folder, or a URL such as ``s3://bucket/archive``. A folder that is not there, or
        is empty, becomes an archive with the first run.
    storage_options
        What fsspec is to be told for such a URL.
    progress
        Whether to show Dask's bar of progress for what takes more than a second.

    Raises
    ------
    ProtonLabError
        If the folder holds something else, or the URL cannot be reached.
    MissingDependencyError
        If what such a URL needs is not installed; ``pip install 'protonlab[cluster]'``.

    Examples
    --------
    >>> archive = protonlab.Archive("nightly")  # doctest: +SKIP
    >>> archive.append("runs/2026-11-30")  # doctest: +SKIP
    >>> archive.regressions("3%")  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        storage_options: Mapping[str, Any] | None = None,
        progress: bool = True,
    ) -> None:
        self._store = store_at(url, storage_options)
        self._catalogue = Catalogue(self._store)
        self._catalogue.check()
        self._progress = progress

    @property
    def url(self) -> str:
        """Where it lies."""
        return self._store.url

    def __repr__(self) -> str:
        return f"<Archive {self.url!r}>"

    def append(
        self,
        source: Appendable,
        *,
        name: str | None = None,
        step: int | None = None,
        replace: bool = False,
    ) -> pd.DataFrame:
        """Append a run: all of it becomes visible at once, or nothing does.

        The same contents again change nothing. Ranks and steps that are new are added to the run.

        Parameters
        ----------
        source
            Folder or URL of a run, a `Run`, a mapping from ranks to profiles, or one profile.
        name
            What the run is called in the archive; by default as its folder, or as `Run.name`.
        step
            Step of the job that was recorded; by default the first that the manifests name, or 0.
        replace
            Put these profiles in the place of what the archive holds of the same ranks and steps;
            also repairs files that are damaged.

        Returns
        -------
        pandas.DataFrame
            One row, as `ingest` returns.

        Raises
        ------
        ProtonLabError
            If the archive holds other contents of the same rank and step, or gets them from another
            writer now; if no rank has a whole profile; if the store fails.
        """
        self._catalogue.begin()
        sources = [source_of(source, name, step)]
        done = ingest(self._store, sources, replace=replace, progress=self._progress)
        if done[0].problem:
            raise ProtonLabError(f"run {done[0].run!r}: {done[0].problem}")
        return report(done)

    def ingest(
        self, folders: Sequence[str | os.PathLike[str]], *, replace: bool = False
    ) -> pd.DataFrame:
        """Append many runs, each by its folder, spread over Dask's workers.

        Each is appended by itself, as `append` does: one that is damaged, or that a cluster gave
        up, is left out, and a warning says why.

        Parameters
        ----------
        folders
            Folders or URLs of runs, which the workers must be able to read.
        replace
            As in `append`.

        Returns
        -------
        pandas.DataFrame
            One row a run: ``run``; how many profiles were ``added``, and how many ``present``
            already; ``frames`` and ``bytes`` that were added; ``problem``, missing where all is
            well; ``warnings``, on ranks without a profile.
        """
        sources = sources_of(folders)
        self._catalogue.begin()
        done = ingest(self._store, sources, replace=replace, progress=self._progress)
        warn_of_problems(done)
        return report(done)

    @property
    def runs(self) -> pd.DataFrame:
        """The runs that the archive holds, in the order of time.

        Columns: ``run``, ``when`` (UTC; its first rank began, or it was appended), ``ranks``,
        ``world_size`` (more than ``ranks`` where some are missing), ``profiles`` (of ranks and
        steps), ``frames``, ``bytes``, ``gpu``, ``versions``.
        """
        return runs_table(self._catalogue.runs())

    @property
    def metrics(self) -> list[str]:
        """Metric names that suit the archive: time, and rates of what its profiles recorded."""
        columns = columns_of_all(each.columns for each in self._catalogue.runs())
        return available_metrics([each for each in columns if each.additive])

    def history(
        self, kernel: str | None = None, metric: str = "avg_time/us", *, runs: Runs = None
    ) -> pd.DataFrame:
        """Follow a metric of a kernel over the runs, and find where its level changed.

        Parameters
        ----------
        kernel
            Name as recorded, label or compiled name; what bears it is added up. None: all of each
            profile.
        metric
            Name in the metric grammar. A rate, a share and ``avg_time`` are ratios of sums over
            all ranks and steps; what adds up (``time/us``, ``bytes``) is the mean a profile.
        runs
            A pattern such as ``"llama-*"``, or names; by default all.

        Returns
        -------
        pandas.DataFrame
            One row a run that has the kernel, in the order of time: ``run``, ``when``, ``gpu``,
            ``value``; ``profiles``, ``median``, ``lowest``, ``highest``, ``highest_rank``, of
            single profiles; ``level``, the median of the runs between two changes; ``change``, True
            where a new level begins, with ``ratio``, ``low`` and ``high`` (this level by the one
            before, 95 % interval) and ``changed_with``, what else was not the same. To find a
            change takes four runs.

        Raises
        ------
        MetricError
            If no run has the kernel, or the metric is unknown here.
        """
        held = self._catalogue.some(runs)
        parsed = self._catalogue.metric(metric, held)
        return history(self._store, held, kernel, parsed, progress=self._progress)

    def regressions(
        self, threshold: float | str = "3%", *, metric: str = "avg_time/us", runs: Runs = None
    ) -> pd.DataFrame:
        """Find kernels that became slower, and still are.

        Parameters
        ----------
        threshold
            Slowdown that is allowed: ``"3%"`` or 0.03.
        metric
            Name in the metric grammar: a time, or a rate, of which less is worse.
        runs
            As in `history`; runs of one job, as a rule.

        Returns
        -------
        pandas.DataFrame
            One row a kernel of the last run that has any, if its level is worse by more than the
            threshold, costliest first: ``name``, ``label``; ``since`` (the run), ``when``; levels
            ``before`` and ``after``; their ``ratio`` with ``low`` and ``high``, its 95 % interval;
            ``runs_before``, ``runs_after``; ``share`` of the last run's kernel time;
            ``changed_with``.
        """
        allowed = threshold_of(threshold)
        held = self._catalogue.some(runs)
        parsed = self._catalogue.metric(metric, held)
        return regressions(self._store, held, parsed, allowed, progress=self._progress)

    def stragglers(self, *, by: Literal["gpu", "run"] = "gpu", runs: Runs = None) -> pd.DataFrame:
        """Find the GPUs that are slow again and again, or who was waited for in each run.

        By sums of each rank's kernels, collectives apart; `Run.stragglers` says more of one run.

        Parameters
        ----------
        by
            ``"gpu"``: one row for each GPU, or rank of a host where that is not known, that stood
            out. ``"run"``: one row a run.
        runs
            As in `history`.

        Returns
        -------
        pandas.DataFrame
            By GPU, most runs first: ``gpu_uuid``, ``host``, ``ranks``; ``slow_runs``, the number
            it stood out in, of ``runs`` that it was part of; ``share``; ``waited_for``, in how many
            the others waited for it; ``longer`` (by what share its kernels took longer than the
            median rank's) and ``z``, medians over these runs, of which ``since`` is the first and
            ``last`` the last. By run: ``run``, ``when``, ``ranks``, ``waited_for``, ``verdict``.
        """
        return stragglers(self._store, self._catalogue.some(runs), by=by, progress=self._progress)

    def to_dask(
        self, columns: Sequence[str] | None = None, *, runs: Runs = None
    ) -> dask.dataframe.DataFrame:
        """Open the frames of all profiles as one Dask DataFrame, of which nothing is read yet.

        Parameters
        ----------
        columns
            Those to read; by default ``run``, ``rank``, ``step``, ``frame_id``, those of the frame
            table (`Profile.frames`) and every metric that some profile recorded.
        runs
            As in `history`.

        Returns
        -------
        dask.dataframe.DataFrame
            With arrow's types; whole profiles to a partition, some 250,000 frames.
        """
        held = self._catalogue.some(runs)
        frames: dask.dataframe.DataFrame = lazy_frames(self._store, held, columns)
        return frames

    def profile(self, run: str, rank: int = 0, *, step: int | None = None) -> Profile:
        """Load one profile, equal to what was appended; the first step where none is given."""
        return self._catalogue.profile(run, rank, step)

    def load_run(self, run: str, *, step: int | None = None) -> Run:
        """Load what all ranks of a run recorded; the first step where none is given."""
        return self._catalogue.run(run, step)

    @property
    def leftovers(self) -> pd.DataFrame:
        """Files that count for nothing: of appends that go on, or whose process was killed.

        Columns: ``run``, ``file``, ``bytes``, ``written`` (UTC). Other readers see them.
        """
        return leftovers(self._store)

    def clean(self, *, older_than: str | timedelta = "1 day") -> pd.DataFrame:
        """Delete `leftovers` that are old, and return them.

        `older_than` is longer than any append takes: a timedelta, or as ``"1 day"``.
        """
        return clean(self._store, older_than)
