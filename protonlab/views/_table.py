"""The kernel table of a profile, and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Profile, Run
from protonlab.model.comparison import Comparison
from protonlab.model.metrics import MOST_METRICS, metric_names
from protonlab.views.columns import Column, column_of, full_name, kernel_column, why_no_util
from protonlab.views.compared_table import compared_table
from protonlab.views.kernel_table import KernelTable
from protonlab.views.rank_table import rank_table
from protonlab.views.selection import check_count, more_than, no_kernels_of, select
from protonlab.views.sources import keeps_sources


@keeps_sources
def table(
    profile: Profile | Comparison | Run,
    *,
    metrics: Sequence[str] | str | None = None,
    top: int = 200,
    everything: bool = False,
) -> KernelTable:
    """Make a table of kernels, slowest first, each summed over the tree.

    On a page it sorts by a click on a header, is searched, copied, and saved as CSV, all without
    a network; as text it is a plain grid.

    Parameters
    ----------
    profile
        The profile. A comparison gives before, after, difference, ratio and verdict of its metric,
        greatest difference first. A run gives the median of the ranks, the lowest, the highest,
        and which ranks these are.
    metrics
        Names in the metric grammar; by default those that suit the profile. A comparison has its
        own, and the table of a run is of one, by default ``"time"``.
    top
        Most kernels to list.
    everything
        Also kernels outside of the filter that the profile was recorded with. Without them a line
        says how many there are and their share of time.

    Raises
    ------
    MetricError
        If a metric is unknown here.
    ProtonLabError
        If another argument is not legal.

    Examples
    --------
    >>> protonlab.table(profile, metrics=["time/us", "gbyte/s", "util"])  # doctest: +SKIP
    """
    check_count("top", top)
    if isinstance(profile, Run):
        return rank_table(profile, metrics, top)
    if isinstance(profile, Comparison):
        if metrics is not None:
            raise ProtonLabError(
                f"metrics={metrics!r}: a comparison is of one metric, {profile.metric.name!r}; "
                "name another one in compare(…, metric=…)"
            )
        return compared_table(profile, top)
    if not isinstance(profile, Profile):
        raise no_kernels_of("table", profile)
    selection = select(profile, everything=everything)
    wanted = _wanted(profile, metrics)
    values = profile.to_dataframe([each.name for each in wanted], by="kernel")
    values = values.loc[selection.kernels.index]
    listed = values.head(top)
    notes = list(selection.notes)
    if not len(values):
        notes.append("No kernel was recorded.")
    notes += why_no_util(profile, wanted, values)
    notes += more_than(top, len(values))
    if metrics is None and len(wanted) >= MOST_METRICS:
        notes.append(
            "More was recorded than is shown: profile.columns lists it, metrics= names it."
        )
    columns = [kernel_column(listed)]
    columns += [column_of(metric, listed[metric.name]) for metric in wanted]
    if listed["hook"].nunique() > 1:
        hooks = tuple("" if pd.isna(hook) else str(hook) for hook in listed["hook"])
        columns.append(Column("hook", hooks, is_text=True))
    return KernelTable(
        title=" · ".join(filter(None, (profile.info.name, profile.where))),
        columns=tuple(columns),
        names=tuple(map(full_name, listed["name"])),
        note=" ".join(notes),
    )


def _wanted(profile: Profile, metrics: Sequence[str] | str | None) -> list[Metric]:
    """Read metric names, each once; by default the profile's own choice."""
    names = dict.fromkeys(metric_names(metrics, _default_names(profile)))
    return [profile.metric(name) for name in names]


def _default_names(profile: Profile) -> list[str]:
    """Take the profile's own choice, with times in ms where µs would take too many digits."""
    names = profile.metrics
    times = profile.kernels.get("time_ns", pd.Series(dtype=float))
    if times.notna().any() and float(times.max()) >= 1e7:
        names = ["time/ms" if name == "time/us" else name for name in names]
    return names
