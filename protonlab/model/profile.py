"""A Profile: what remains of a session. Frames, devices, and how they came to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.devices import Device
from protonlab.model.distribution import distribution
from protonlab.model.filters import KernelFilter
from protonlab.model.frames import BoolArray, MetricColumn, check_columns, pruned
from protonlab.model.info import ProfileInfo
from protonlab.model.kernels import KERNEL_TEXT, hooked
from protonlab.model.metrics import Metric, available_metrics, metric_names
from protonlab.model.repeats import NOT_REPEATED, Repeats
from protonlab.model.saving import save_profile
from protonlab.model.selection import matching_kernels, matching_subtrees, unmatched
from protonlab.model.sentences import printable
from protonlab.model.sums import Sums
from protonlab.model.tuning import tuning_table
from protonlab.model.units import counted


@dataclass(frozen=True, eq=False)
class Profile:
    """A finished profile: a tree of frames with their metrics. Operations return new profiles.

    Parameters
    ----------
    frames
        The frame table, as `protonlab.model.frames` describes it.
    columns
        All of its metric columns, ``count`` among them; a table with others is a ProtonLabError.
    devices
        Devices that ran kernels.
    info
        How the profile came to be.
    repeats
        What each repeat recorded, where the code was repeated; `frames` holds the sums.
    """

    frames: pd.DataFrame
    columns: tuple[MetricColumn, ...]
    devices: tuple[Device, ...] = ()
    info: ProfileInfo = field(default_factory=ProfileInfo)
    repeats: Repeats | None = None

    def __post_init__(self) -> None:
        check_columns(self.frames, self.columns)

    def __repr__(self) -> str:
        name = f" {self.info.name!r}" if self.info.name else ""
        kernels = counted(len(self.kernels), "kernel")
        launches = counted(int(self.kernels["count"].sum()), "launch", "launches")
        return f"<Profile{name}: {kernels}, {launches}, {printable(self.where)}>"

    @property
    def where(self) -> str:
        """Where the kernels ran: GPU or devices, for captions."""
        devices = ", ".join(map(str, self.devices))
        if self.info.gpu and self.devices and self.devices[0].device_type != "CPU":
            return self.info.gpu
        return devices or self.info.backend or "no device recorded"

    def to_dataframe(
        self,
        metrics: Sequence[str] | str | None = None,
        *,
        inclusive: bool = True,
        by: Literal["frame", "kernel"] = "frame",
        overhead: bool = False,
    ) -> pd.DataFrame:
        """Compute metrics, one row a frame or one row a kernel.

        Parameters
        ----------
        metrics
            Names in the metric grammar (`protonlab.model.metrics`); by default those that suit
            the profile.
        inclusive
            Sum each frame with everything below it; a rate is then a ratio of inclusive sums, and
            the time of kernels without the metric counts. False: what each frame recorded itself.
        by
            ``"frame"``: the tree, index ``frame_id``. ``"kernel"``: the rows of `kernels`.
        overhead
            Also rows for what profiling and autotuning launched.

        Returns
        -------
        pandas.DataFrame
            ``name``, ``label``, ``kind`` (and ``parent_id``, ``depth`` by frame), then one float64
            column a metric; ``util`` brings ``util_bound``. Missing values are NaN.

        Raises
        ------
        MetricError
            If a metric is unknown here.

        Examples
        --------
        >>> profile.to_dataframe(["time/us", "gbyte/s", "n_tokens/s"])  # doctest: +SKIP
        """
        if by not in ("frame", "kernel"):
            raise ProtonLabError(f"by={by!r}; use 'frame' or 'kernel'")
        wanted = [self.metric(name) for name in metric_names(metrics, self.metrics)]
        table = self._sums.by_kernel if by == "kernel" else self._sums.by_frame(inclusive=inclusive)
        parent = self.frames["parent_id"].to_numpy() if by == "frame" else None
        text = list(KERNEL_TEXT if by == "kernel" else _FRAME_TEXT)
        source = self.kernels if by == "kernel" else self.frames
        result = source[text].astype(
            {name: object for name in text if isinstance(source[name].dtype, pd.CategoricalDtype)}
        )
        found: dict[str, object] = {}
        for metric in wanted:
            if metric.form != "util_bound":
                found[metric.name] = metric.values(table, parent)
            if metric.form in ("util", "util_bound"):
                found["util_bound"] = metric.bounds(table)
        result = pd.DataFrame({**result, **found}, index=result.index)
        if by == "frame" and not overhead:
            result = result[~self.overhead]
        return result

    def metric(self, name: str) -> Metric:
        """Read one metric name against this profile; MetricError when it is unknown here."""
        return Metric.parse(name, self.columns)

    @property
    def metrics(self) -> list[str]:
        """Metric names that suit this profile: time, and rates of what its kernels recorded."""
        return available_metrics(self._sums.kernel_columns)

    @cached_property
    def _sums(self) -> Sums:
        return Sums(self.frames, self.columns, self.devices)

    @property
    def inclusive(self) -> pd.DataFrame:
        """Every additive metric column summed over each frame's subtree, index ``frame_id``.

        What profiling itself launched does not count towards frames outside of it.
        """
        return self._sums.inclusive

    @property
    def overhead(self) -> BoolArray:
        """Frames that profiling or autotuning launched, shape (n,)."""
        return self._sums.overhead

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel, summed over the tree, slowest first.

        Columns: ``name`` (as recorded), ``label`` (short), ``kernel`` (compiled name, missing in
        foreign files), ``hook`` (kept, filtered, unseen), ``devices`` (how many ran it), then
        ``count`` and each additive metric that a kernel recorded, summed. Overhead is left out.
        """
        metrics = [column.column for column in self._sums.kernel_columns]
        return self._sums.by_kernel[[*KERNEL_TEXT, "devices", *metrics]]

    @property
    def tuning(self) -> pd.DataFrame:
        """What autotuners tried, one row a configuration (`protonlab.model.tuning`)."""
        return tuning_table(self.info.tuning)

    def filter(self, *, include: str | None = None, exclude: str | None = None) -> Profile:
        """Keep the kernels that match, with the path to them.

        Patterns are matched as the launch hook does, with ``re.match``: on the compiled name, or on
        the recorded name where no hook's record is at hand; and on the label that views show. One
        that matches no kernel is said so in ``info.notes``.

        Raises
        ------
        ProtonLabError
            If a pattern is no regular expression.
        """
        wanted = KernelFilter(include, exclude)
        kept = self.take(matching_kernels(self.frames, self._sums.ends, wanted))
        notes = dict.fromkeys((*self.info.notes, *unmatched(self.frames, wanted)))
        return replace(kept, info=replace(self.info, notes=tuple(notes)))

    def subtree(self, pattern: str) -> Profile:
        """Keep the frames whose name or label matches, with all below them and the path to them.

        Raises
        ------
        ProtonLabError
            If `pattern` is no regular expression or no frame matches it.
        """
        return self.take(matching_subtrees(self.frames, self._sums.ends, pattern))

    def take(self, keep: BoolArray) -> Profile:
        """Keep some frames; the parent of a kept frame becomes its nearest kept ancestor.

        Parameters
        ----------
        keep
            Shape (n,); the root must be kept, or it is a ProtonLabError.
        """
        parent, depth = pruned(
            self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy(), keep
        )
        index = pd.RangeIndex(len(parent), name="frame_id")
        frames = self.frames[keep].set_axis(index, axis=0)
        repeats = self.repeats and self.repeats.take(keep)
        return replace(self, frames=frames.assign(parent_id=parent, depth=depth), repeats=repeats)

    def repeat(self, number: int) -> Profile:
        """Return what one repeat recorded, as a profile by itself.

        Raises
        ------
        ProtonLabError
            If there is no such repeat.
        """
        if self.repeats is None:
            raise ProtonLabError(NOT_REPEATED)
        if number not in range(self.repeats.number):
            last = self.repeats.number - 1
            raise ProtonLabError(f"repeat {number!r}; this profile holds repeats 0 to {last}")
        frames = self.repeats.frames(self.frames, self.columns, number)
        return replace(self, frames=frames, repeats=None)

    def distribution(
        self,
        metric: str = "time/us",
        *,
        quantiles: Sequence[float] = (0.05, 0.95),
        interval: Literal["t", "bootstrap"] = "t",
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Say how a metric of each kernel varies over the repeats.

        Parameters
        ----------
        metric
            Name in the metric grammar; each repeat gives one value.
        quantiles
            Between 0 and 1.
        interval, confidence
            As `protonlab.model.statistics.interval` takes them.

        Returns
        -------
        pandas.DataFrame
            One row a kernel, as in `kernels`: its names, ``n`` (repeats in which it ran), ``min``,
            ``q05``, ``q95``, ``median``, ``max``, ``estimate``, ``low``, ``high``.

        Raises
        ------
        ProtonLabError
            If nothing was repeated, or an argument is not legal.
        """
        if self.repeats is None:
            raise ProtonLabError(NOT_REPEATED)
        tables = [
            self.repeat(number).to_dataframe(metric, by="kernel")
            for number in range(self.repeats.number)
        ]
        return distribution(self.kernels, tables, metric, quantiles, interval, confidence)

    def with_hook(
        self,
        kernel_of: Mapping[str, str],
        kept: Collection[str],
        filtered: Collection[str],
        recorded: Mapping[str, Collection[str]] | None = None,
    ) -> Profile:
        """Fill in what a launch hook knows; drop metrics that another session's hook recorded.

        Parameters
        ----------
        kernel_of
            Recorded name -> compiled name.
        kept, filtered
            Compiled names that the hook kept and rejected.
        recorded
            Compiled name -> launch metadata keys that the hook recorded; None: all of them.
        """
        frames = hooked(self.frames, self.columns, kernel_of, kept, filtered, recorded)
        return replace(self, frames=frames)

    def save(self, path: str | Path) -> None:
        """Write the profile in the format that the file's name asks for; a failure changes nothing.

        ``.hatchet`` (Proton's own JSON, and what it has no place for) and ``.parquet`` load again
        as an equal profile; ``.speedscope.json``, ``.folded``, ``.csv`` are for other programs.
        Another name is a `ProtonLabError`, a file that cannot be written an `OSError`.
        """
        save_profile(self, Path(path))


_FRAME_TEXT = ("parent_id", "depth", "name", "label", "kind")
