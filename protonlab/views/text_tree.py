"""The tree as text for a terminal: proton-viewer's, with a column for each metric."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from protonlab.model import Metric, Profile
from protonlab.model.changes import CANNOT_TELL, NO_VALUE
from protonlab.model.comparison import Comparison
from protonlab.model.frames import FloatArray
from protonlab.model.none_kept import why_none_kept
from protonlab.model.sentences import cleaned
from protonlab.model.units import counted
from protonlab.views.columns import Column, column_of, why_no_util
from protonlab.views.compared_table import ratio_text, value_columns
from protonlab.views.names import shortened

Order = Literal["recorded", "widest"]
_LONGEST_LABEL = 120
_GAP = "  "
# Share of the whole, or of the greatest value of a metric that has no whole -> rich's style.
_STYLES = ((0.5, "bold red"), (0.1, "yellow"), (0.01, "green"), (0.0, "dim"))
_CHANGES = {"added": "magenta", "changed": ""}  # all else is dim
_NO_DIFFERENCE = ("unchanged", CANNOT_TELL, NO_VALUE)
# Difference, ratio and change, then after and before.
_OF_A_COMPARISON = (2, 3, 4, 1, 0)
NAME_STYLES = {"root": "bold", "scope": "bold", "python": "cyan"}


@dataclass(frozen=True, eq=False, repr=False)
class TextTree:
    """Rows of a tree with columns of cells; prints itself with rich, in colour where there is some.

    Parameters
    ----------
    title
        One line above.
    columns
        Cells of each metric, one a row of the tree.
    styles
        Rich's style of each cell, column by column.
    names
        Name of each row behind its guides.
    name_styles
        Rich's style of each name.
    guides
        Lines to each row from its parent.
    notes
        Sentences below.
    importance
        Positions of columns, the one first that a narrow terminal leaves out last; empty where
        they stand in that order.
    """

    title: str
    columns: tuple[Column, ...]
    styles: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    name_styles: tuple[str, ...]
    guides: tuple[str, ...]
    notes: tuple[str, ...] = ()
    importance: tuple[int, ...] = ()

    def __repr__(self) -> str:
        page = io.StringIO()
        console = Console(file=page, width=10_000, color_system=None, force_jupyter=False)
        console.print(self, soft_wrap=True, highlight=False)
        return page.getvalue().rstrip("\n")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one line a row, cut to the console's width unless it is told to ignore that."""
        if self.title:
            yield Text(cleaned(self.title), style="bold")
        widths = [max(map(len, (column.header, *column.cells))) for column in self.columns]
        head = [
            column.header.ljust(width) if column.is_text else column.header.rjust(width)
            for column, width in zip(self.columns, widths, strict=True)
        ]
        yield self._line(Text(_GAP.join([*head, "name"]), style="underline"), options)
        for row, name in enumerate(self.names):
            line = Text()
            for column, styles, width in zip(self.columns, self.styles, widths, strict=True):
                cell = column.cells[row]
                text = cell.ljust(width) if column.is_text else cell.rjust(width)
                line.append(text, style=styles[row]).append(_GAP)
            line.append(self.guides[row], style="dim")
            line.append(name, style=self.name_styles[row])
            yield self._line(line, options)
        for note in self.notes:
            yield Text(cleaned(note), style="italic")

    @staticmethod
    def _line(text: Text, options: ConsoleOptions) -> Text:
        text.no_wrap = True
        text.overflow = options.overflow or "ellipsis"
        return text


def profile_tree(
    profile: Profile,
    *,
    metrics: Sequence[str] | None = None,
    depth: int | None = None,
    order: Order = "recorded",
) -> TextTree:
    """Write a profile's tree, every frame with its inclusive metrics.

    Parameters
    ----------
    profile
        The profile.
    metrics
        Names in the metric grammar; by default those that suit the profile. Those with a unit
        (``time/us``) keep it; those without (``time``) take for each value the unit that suits it.
    depth
        Deepest frames to show; the root has 0.
    order
        ``"recorded"``, or ``"widest"``: siblings with the greatest first metric first.

    Raises
    ------
    MetricError
        If a metric is unknown in this profile.
    """
    wanted = [profile.metric(name) for name in metrics or _default_names(profile)]
    frames = profile.to_dataframe([metric.name for metric in wanted])
    first = next((metric for metric in wanted if metric.form != "util_bound"), None)
    keys = frames[first.name] if first and order == "widest" else None
    rows, guides, hidden = walk(frames, keys, depth)
    shown = frames.loc[rows]
    columns = [_column(metric, shown[metric.name]) for metric in wanted]
    styles = [_heat(metric, frames[metric.name], shown[metric.name]) for metric in wanted]
    return TextTree(
        title=" · ".join(filter(None, (profile.info.name, profile.where))),
        columns=tuple(columns),
        styles=tuple(styles),
        names=names_of(shown),
        name_styles=tuple(NAME_STYLES.get(str(kind), "") for kind in shown["kind"]),
        guides=guides,
        notes=(
            *deeper(hidden, depth),
            *(f"{why}." for why in why_none_kept(profile)),
            *why_no_util(profile, wanted, frames),
            *profile.info.notes,
        ),
    )


def comparison_tree(
    comparison: Comparison, *, depth: int | None = None, order: Order = "recorded"
) -> TextTree:
    """Write the tree of a comparison: before, after, difference and ratio of every frame."""
    frames = comparison.frames
    keys = frames[["before", "after"]].max(axis=1) if order == "widest" else None
    rows, guides, hidden = walk(frames, keys, depth)
    shown = frames.loc[rows]
    columns = value_columns(comparison, shown)
    changes = [str(change) for change in shown["change"]]
    more = np.sign(shown["difference"].to_numpy(dtype=np.float64))
    if comparison.metric.is_better_high:
        more = -more
    tones = tuple(
        "dim" if change in _NO_DIFFERENCE else "red" if sign > 0 else "blue"
        for change, sign in zip(changes, more, strict=True)
    )
    columns.append(Column("ratio", tuple(map(ratio_text, shown["ratio"]))))
    columns.append(Column("change", tuple(changes), is_text=True))
    names = tuple(
        name if pd.isna(old) else f"{name}  (was {shortened(str(old), _LONGEST_LABEL)})"
        for name, old in zip(names_of(shown), shown["renamed_from"], strict=True)
    )
    plain = ("",) * len(rows)
    return TextTree(
        title=comparison.summary,
        columns=tuple(columns),
        styles=tuple(
            tones if column.header.startswith(("difference", "ratio", "change")) else plain
            for column in columns
        ),
        names=names,
        name_styles=tuple(_CHANGES.get(change, "dim") for change in changes),
        guides=guides,
        notes=(*deeper(hidden, depth), *comparison.notes, comparison.rule),
        importance=_OF_A_COMPARISON,
    )


def _default_names(profile: Profile) -> list[str]:
    """Take the profile's own choice, with times in units of their own."""
    own = {"time/us": "time", "avg_time/us": ""}
    return [name for each in profile.metrics if (name := own.get(each, each))]


def _column(metric: Metric, values: pd.Series) -> Column:
    if "/" in metric.name or metric.form in ("util", "util_bound") or metric.name == "count":
        return column_of(metric, values)
    return Column(metric.name, tuple(metric.format(float(value)) for value in values))


def _heat(metric: Metric, every: pd.Series, shown: pd.Series) -> tuple[str, ...]:
    """Style of each cell by its share of the greatest value, which is the root's of a sum."""
    if metric.form == "util_bound":
        return ("",) * len(shown)
    greatest = float(np.nanmax(every.to_numpy(dtype=np.float64), initial=0.0))
    values: FloatArray = shown.to_numpy(dtype=np.float64)
    if not greatest > 0:
        return ("dim",) * len(values)
    return tuple(
        next((style for least, style in _STYLES if value / greatest >= least), "dim")
        for value in values
    )


def names_of(frames: pd.DataFrame) -> tuple[str, ...]:
    """Write the labels of frames, shortened."""
    return tuple(shortened(str(label), _LONGEST_LABEL) for label in frames["label"])


def walk(
    frames: pd.DataFrame, keys: pd.Series | None, depth: int | None
) -> tuple[list[int], tuple[str, ...], int]:
    """Put rows into the order to print, with the lines before each name; count what is too deep."""
    children: dict[int, list[int]] = {}
    for row, parent in zip(frames.index.tolist(), frames["parent_id"].tolist(), strict=True):
        children.setdefault(parent, []).append(row)
    if keys is not None:
        rank = keys.fillna(-np.inf).to_dict()
        for siblings in children.values():
            siblings.sort(key=lambda row: -rank[row])
    rows, guides = [], []
    for row, lines, level in _descend(children):
        if depth is None or level <= depth:
            rows.append(row)
            guides.append(lines)
    return rows, tuple(guides), len(frames) - len(rows)


def deeper(hidden: int, depth: int | None) -> list[str]:
    """Say how many frames are too deep to be shown."""
    be = "is" if hidden == 1 else "are"
    return [f"{counted(hidden, 'frame')} below depth {depth} {be} not shown."] if hidden else []


def _descend(children: dict[int, list[int]]) -> Iterator[tuple[int, str, int]]:
    """Visit rows in preorder without recursion: a tree may be thousands deep."""
    roots = children.get(-1, [])
    waiting: list[tuple[int, str, str, int]] = [(row, "", "", 0) for row in reversed(roots)]
    while waiting:
        row, lines, below, level = waiting.pop()
        yield row, lines, level
        own: list[Any] = children.get(row, [])
        for number, child in enumerate(reversed(own)):
            fork, rest = ("└─ ", "   ") if number == 0 else ("├─ ", "│  ")
            waiting.append((child, below + fork, below + rest, level + 1))
