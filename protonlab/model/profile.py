"""A Profile: what remains of a session. Frames, devices, and how they came to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import pandas as pd

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.devices import Device, ideal_times
from protonlab.model.document import write_document
from protonlab.model.filters import KernelFilter, compile_pattern
from protonlab.model.frames import (
    OVERHEAD_KINDS,
    BoolArray,
    IntArray,
    MetricColumn,
    ancestors,
    below,
    inclusive_column,
    pruned,
    subtree_ends,
)
from protonlab.model.info import ProfileInfo
from protonlab.model.kernels import KERNEL_TEXT, hooked, kernel_columns, kernel_sums
from protonlab.model.metrics import Metric, available_metrics
from protonlab.model.units import counted


@dataclass(frozen=True, eq=False)
class Profile:
    """A finished profile: a tree of frames with their metrics. Operations return new profiles.

    Parameters
    ----------
    frames
        The frame table, as `protonlab.model.frames` describes it.
    columns
        Its metric columns, ``count`` among them.
    devices
        Devices that ran kernels.
    info
        How the profile came to be.
    """

    frames: pd.DataFrame
    columns: tuple[MetricColumn, ...]
    devices: tuple[Device, ...] = ()
    info: ProfileInfo = field(default_factory=ProfileInfo)

    def __repr__(self) -> str:
        name = f" {self.info.name!r}" if self.info.name else ""
        kernels = counted(len(self.kernels), "kernel")
        launches = counted(int(self.kernels["count"].sum()), "launch", "launches")
        return f"<Profile{name}: {kernels}, {launches}, {self.where}>"

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
            Sum each frame with everything below it; a rate is then a ratio of inclusive sums.
            False: what each frame recorded itself.
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
        wanted = [self.metric(name) for name in self._names(metrics)]
        table = self._kernel_sums if by == "kernel" else self._sums(inclusive=inclusive)
        parent = self.frames["parent_id"].to_numpy() if by == "frame" else None
        text = list(KERNEL_TEXT if by == "kernel" else _FRAME_TEXT)
        source = self.kernels if by == "kernel" else self.frames
        result = source[text].astype(
            {name: object for name in text if isinstance(source[name].dtype, pd.CategoricalDtype)}
        )
        for metric in wanted:
            if metric.form == "util_bound":
                result[metric.name] = metric.bounds(table)
                continue
            result[metric.name] = metric.values(table, parent)
            if metric.form == "util":
                result["util_bound"] = metric.bounds(table)
        if by == "frame" and not overhead:
            result = result[~self.overhead]
        return result

    def metric(self, name: str) -> Metric:
        """Read one metric name against this profile; MetricError when it is unknown here."""
        if not isinstance(name, str):
            raise MetricError(f"{name!r} is no metric name; give a string such as 'time/us'")
        return Metric.parse(name, self.columns)

    @property
    def metrics(self) -> list[str]:
        """Metric names that suit this profile: time, and rates of what its kernels recorded."""
        return available_metrics(self._kernel_columns)

    def _names(self, metrics: Sequence[str] | str | None) -> Sequence[str]:
        if metrics is None:
            return self.metrics
        return [metrics] if isinstance(metrics, str) else metrics

    @cached_property
    def inclusive(self) -> pd.DataFrame:
        """Every additive metric column summed over each frame's subtree, index ``frame_id``.

        What profiling itself launched does not count towards frames outside of it.
        """
        parent, depth = self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy()
        return pd.DataFrame(
            {
                column.column: inclusive_column(
                    self.frames[column.column], parent, depth, self._ends, self.overhead
                )
                for column in self.columns
                if column.additive
            },
            index=self.frames.index,
        )

    @cached_property
    def overhead(self) -> BoolArray:
        """Frames that profiling or autotuning launched, shape (n,)."""
        flags: BoolArray = self.frames["kind"].isin(OVERHEAD_KINDS).to_numpy()
        return flags

    @cached_property
    def _ends(self) -> IntArray:
        return subtree_ends(self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy())

    def _sums(self, *, inclusive: bool) -> pd.DataFrame:
        """Columns that metrics are computed from, with totals and ideal times."""
        sums = self.frames[[column.column for column in self.columns]].copy()
        if inclusive:
            sums[self.inclusive.columns] = self.inclusive
        sums = sums.join(self._ideal)
        sums.attrs["total"] = self._total
        return sums

    @cached_property
    def _total(self) -> dict[str, float]:
        return {
            str(column): float(values.iloc[0]) if pd.notna(values.iloc[0]) else float("nan")
            for column, values in self.inclusive.items()
        }

    @cached_property
    def _ideal(self) -> pd.DataFrame:
        return ideal_times(self.frames, self.devices)

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel, summed over the tree, slowest first.

        Columns: ``name`` (as recorded), ``label`` (short), ``kernel`` (compiled name, missing in
        foreign files), ``hook`` (kept, filtered, unseen), ``devices`` (how many ran it), then
        ``count`` and each additive metric that a kernel recorded, summed. Overhead is left out.
        """
        metrics = [column.column for column in self._kernel_columns]
        return self._kernel_sums[[*KERNEL_TEXT, "devices", *metrics]]

    @cached_property
    def _kernel_columns(self) -> list[MetricColumn]:
        return kernel_columns(self.frames, self.columns)

    @cached_property
    def _kernel_sums(self) -> pd.DataFrame:
        metrics = [column.column for column in self.columns if column.additive]
        table = kernel_sums(self.frames.join(self._ideal), [*metrics, *self._ideal.columns])
        table.attrs["total"] = self._total
        return table

    def filter(self, *, include: str | None = None, exclude: str | None = None) -> Profile:
        """Keep the kernels that match, with the path to them.

        Patterns are the launch hook's: ``re.match`` on the compiled name, or on the recorded name
        where no hook's record is at hand.

        Raises
        ------
        ProtonLabError
            If a pattern is no regular expression.
        """
        kernel_filter = KernelFilter(include, exclude)
        names = self.frames["kernel"].astype(object).fillna(self.frames["name"].astype(object))
        verdict = {name: kernel_filter.matches(name) for name in names.unique()}
        is_kernel = (self.frames["kind"] == "kernel").to_numpy()
        kept = names.map(verdict).to_numpy(dtype=bool) & is_kernel
        keep = ancestors(kept, self._ends)
        keep[0] = True
        return self.take(keep)

    def subtree(self, pattern: str) -> Profile:
        """Keep the frames whose name or label matches, with all below them and the path to them.

        Raises
        ------
        ProtonLabError
            If `pattern` is no regular expression or no frame matches it.
        """
        regex = compile_pattern(pattern, "pattern")
        assert regex is not None
        names = {*self.frames["name"].cat.categories, *self.frames["label"].cat.categories}
        hits = {name for name in names if regex.match(name)}
        matched = (self.frames["name"].isin(hits) | self.frames["label"].isin(hits)).to_numpy()
        if not matched.any():
            seen = ", ".join(sorted(map(str, self.frames["label"].unique()))[:12])
            raise ProtonLabError(
                f"no frame matches {pattern!r}; patterns match from the start. Frames: {seen}"
            )
        return self.take(below(matched, self._ends) | ancestors(matched, self._ends))

    def take(self, keep: BoolArray) -> Profile:
        """Keep some frames; the parent of a kept frame becomes its nearest kept ancestor.

        Parameters
        ----------
        keep
            Shape (n,); the root must be kept.
        """
        parent, depth = pruned(
            self.frames["parent_id"].to_numpy(), self.frames["depth"].to_numpy(), keep
        )
        index = pd.RangeIndex(len(parent), name="frame_id")
        frames = self.frames[keep].set_axis(index, axis=0)
        return replace(self, frames=frames.assign(parent_id=parent, depth=depth))

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
        """Write the profile as Proton's own JSON; `protonlab.load` gives back an equal profile.

        The file stays readable by proton-viewer; what Proton's format has no place for stands
        under the key ``protonlab`` beside the root's ``frame``. An older file survives a failure.
        """
        write_document(self.frames, self.columns, self.devices, self.info, Path(path))


_FRAME_TEXT = ("parent_id", "depth", "name", "label", "kind")
