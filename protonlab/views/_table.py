"""The kernel table: HTML that sorts and searches without a network, and a text twin.

Our own few kilobytes of script and style travel with each table. itables was measured instead: it
brings 726 kB of script and style into each notebook that must work offline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Profile
from protonlab.model.units import MISSING, counted, plain
from protonlab.views.names import cleaned, escaped, shortened, told_apart
from protonlab.views.selection import select

_TEXT_WIDTH = 110
_SHORTEST = 24
_LONGEST_LABEL, _LONGEST_NAME = 120, 400


@dataclass(frozen=True, eq=False)
class KernelTable:
    """A table of kernels that shows itself as HTML or as text.

    Parameters
    ----------
    title
        One line above the table.
    headers
        Column titles with units, the kernel's first.
    rows
        Cells as text, one tuple a kernel.
    names
        Full name of each kernel, for the tooltip.
    shares
        Time share of each kernel in percent, drawn as a bar behind the cell; NaN draws none.
    share_column
        Index of that column, -1 when there is none.
    note
        What is not shown, in one sentence; may be empty.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    shares: tuple[float, ...]
    share_column: int
    note: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [self.title, *self._grid(), self.note]
        return "\n".join(line.rstrip() for line in lines if line)

    def _grid(self) -> list[str]:
        if not self.rows:
            return []
        cells = [self.headers, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        widths[0] = min(widths[0], max(_TEXT_WIDTH - sum(widths[1:]) - 2 * len(widths), _SHORTEST))
        labels = told_apart([row[0] for row in cells], widths[0])
        lines = [
            "  ".join(
                [label.ljust(widths[0])]
                + [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
            )
            for label, row in zip(labels, cells, strict=True)
        ]
        return [lines[0], "─" * len(lines[0]), *lines[1:]]

    def html(self) -> str:
        """HTML of the table with its style and its script; it loads nothing."""
        note = f'<p class="protonlab-note">{escaped(self.note)}</p>' if self.note else ""
        title = f'<p class="protonlab-note">{escaped(self.title)}</p>'
        if not self.rows:
            return f"<div><style>{_asset('table.css')}</style>{title}{note}</div>"
        head = "".join(f"<th>{escaped(header)}</th>" for header in self.headers)
        body = "".join(
            f"<tr>{self._cells(row, name, share)}</tr>"
            for row, name, share in zip(self.rows, self.names, self.shares, strict=True)
        )
        return (
            f"<div><style>{_asset('table.css')}</style>{title}"
            f'<table class="protonlab-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
            f"</table>{note}<script>{_asset('table.js')}</script></div>"
        )

    def _cells(self, row: tuple[str, ...], name: str, share: float) -> str:
        cells = [f'<td title="{escaped(name)}">{escaped(row[0])}</td>']
        for index, text in enumerate(row[1:], start=1):
            if index == self.share_column and share == share:
                cells.append(
                    f'<td class="share"><i style="width: {share:.1f}%"></i>'
                    f"<b>{escaped(text)}</b></td>"
                )
            else:
                cells.append(f"<td>{escaped(text)}</td>")
        return "".join(cells)


def table(
    profile: Profile,
    *,
    metrics: Sequence[str] | str | None = None,
    top: int = 200,
    everything: bool = False,
) -> KernelTable:
    """Make a table of kernels, slowest first, each summed over the tree.

    Parameters
    ----------
    profile
        The profile.
    metrics
        Names in the metric grammar; by default those that suit the profile.
    top
        Most kernels to list.
    everything
        Also kernels outside of the filter that the profile was recorded with. Without them a line
        says how many there are and their share of time.

    Raises
    ------
    MetricError
        If a metric is unknown here.

    Examples
    --------
    >>> protonlab.table(profile, metrics=["time/us", "gbyte/s", "util"])  # doctest: +SKIP
    """
    if top < 1:
        raise ProtonLabError(f"top={top}; give at least 1")
    selection = select(profile, everything=everything)
    asked = [metrics] if isinstance(metrics, str) else metrics
    wanted = _names(profile) if asked is None else list(asked)
    values = profile.to_dataframe(wanted, by="kernel").loc[selection.kernels.index]
    listed = values.head(top)
    notes = list(selection.notes)
    if not len(values):
        notes.append("No kernel was recorded.")
    if len(values) > top:
        notes.append(f"{counted(len(values) - top, 'more kernel')}: top={top}.")
    columns = [_Column.of(profile.metric(name), listed[name]) for name in wanted]
    has_hook = listed["hook"].nunique() > 1
    hooks = [("" if pd.isna(hook) else str(hook),) for hook in listed["hook"]]
    labels = [shortened(cleaned(str(label)), _LONGEST_LABEL) for label in listed["label"]]
    return KernelTable(
        title=" · ".join(filter(None, (cleaned(profile.info.name), profile.where))),
        headers=("kernel", *(column.header for column in columns), *(["hook"] * has_hook)),
        rows=tuple(
            (label, *numbers, *(hook * has_hook))
            for label, hook, *numbers in zip(
                labels, hooks, *(column.cells for column in columns), strict=True
            )
        ),
        names=tuple(shortened(cleaned(str(name)), _LONGEST_NAME) for name in listed["name"]),
        shares=tuple(listed["time/%"]) if "time/%" in wanted else (np.nan,) * len(listed),
        share_column=wanted.index("time/%") + 1 if "time/%" in wanted else -1,
        note=" ".join(notes),
    )


@dataclass(frozen=True)
class _Column:
    """A column of numbers as text, with one unit for all."""

    header: str
    cells: tuple[str, ...]

    @classmethod
    def of(cls, metric: Metric, values: pd.Series) -> _Column:
        if metric.form == "util_bound":
            return cls(metric.name, tuple(MISSING if pd.isna(v) else str(v) for v in values))
        scale, header = _scale(metric, values)
        whole = metric.name == "count"
        cells = (
            MISSING if pd.isna(value) else f"{value:.0f}" if whole else plain(value * scale)
            for value in values
        )
        return cls(header, tuple(cells))


def _scale(metric: Metric, values: pd.Series) -> tuple[float, str]:
    """Factor for a column and its header; big numbers of a user's own metric go by thousands."""
    stem, _, unit = metric.name.rpartition("/")
    if metric.form == "util":
        return 100.0, "util (%)"
    if metric.unit == "s" or unit == "%":
        return 1.0, f"{stem} ({unit.replace('us', 'µs')})"
    if metric.name == "count" or metric.unit in ("B/s", "FLOP/s"):
        return 1.0, metric.name
    largest = float(values.abs().max()) if values.notna().any() else 0.0
    for power, prefix in ((9, "G"), (6, "M"), (3, "k")):
        if largest >= 10.0 ** (power + 1):
            return 10.0**-power, f"{metric.name} ({prefix})"
    return 1.0, metric.name


def _names(profile: Profile) -> list[str]:
    """Take the profile's own choice, with times in ms where µs would take too many digits."""
    names = profile.metrics
    times = profile.kernels.get("time_ns", pd.Series(dtype=float))
    if times.notna().any() and float(times.max()) >= 1e7:
        names = ["time/ms" if name == "time/us" else name for name in names]
    return names


def _asset(name: str) -> str:
    return (resources.files("protonlab.views") / "static" / name).read_text("utf-8")
