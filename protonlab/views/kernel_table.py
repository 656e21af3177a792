"""A table that shows itself as HTML, which sorts and searches without a network, or as text.

Our own few kilobytes of script and style travel with each table. itables was measured instead: it
brings 726 kB of script and style into each notebook that must work offline.
"""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protonlab.model.sentences import cleaned
from protonlab.views.assets import asset
from protonlab.views.columns import Column
from protonlab.views.names import escaped, told_apart
from protonlab.views.sources import Sources

_TEXT_WIDTH = 110
_SHORTEST = 36
_WORDS = ' class="words"'
_GAP = 3  # letters from one column of the text to the next


@dataclass(frozen=True, eq=False)
class KernelTable:
    """A table of kernels.

    Parameters
    ----------
    title
        One line above the table.
    columns
        The kernels' labels first.
    names
        Full name of each kernel, for the tooltip and for searching.
    note
        What is not shown, in sentences; may be empty.
    sources
        What the table was made of; it travels along, for a report.
    """

    title: str
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    note: str = ""
    sources: Sources = field(default_factory=Sources)

    def made_of(self, sources: Sources) -> Self:
        """Return the table with what it was made of."""
        return replace(self, sources=sources)

    def without_notes(self, told: Collection[str]) -> Self:
        """Leave out sentences of the note that stand elsewhere on the page."""
        note = self.note
        for sentence in told:
            note = note.replace(sentence, "")
        return replace(self, note=" ".join(note.split()))

    @property
    def headers(self) -> tuple[str, ...]:
        """Title of each column."""
        return tuple(column.header for column in self.columns)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Cells as text, one tuple a kernel."""
        return tuple(zip(*(column.cells for column in self.columns), strict=True))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        own = {"text/html": self.html(), "text/plain": str(self)}
        return own | self.sources.bundle()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [cleaned(self.title), *(self._grid() if self.names else []), cleaned(self.note)]
        return "\n".join(line.rstrip() for line in lines if line)

    def _grid(self) -> list[str]:
        """Lay the cells out as text; names give way where a line would become too long."""
        first, *others = self.columns
        widths = [max(map(len, (column.header, *column.cells))) for column in others]
        room = max(_TEXT_WIDTH - sum(widths) - _GAP * len(widths), _SHORTEST)
        labels = told_apart(first.cells, room)
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        grid.add_column(first.header, no_wrap=True)
        for column in others:
            grid.add_column(
                Text(column.header), justify="left" if column.is_text else "right", no_wrap=True
            )
        for row in zip(labels, *(column.cells for column in others), strict=True):
            grid.add_row(*map(Text, row))
        page = io.StringIO()
        # In a notebook rich would display the grid by itself.
        Console(file=page, width=10_000, color_system=None, force_jupyter=False).print(grid)
        return page.getvalue().splitlines()

    def html(self) -> str:
        """HTML of the table with its style and its script; it loads nothing."""
        note = f'<p class="protonlab-note">{escaped(self.note)}</p>' if self.note else ""
        style = f"<style>{asset('table.css')}</style>"
        if not self.names:
            title = f'<p class="protonlab-note">{escaped(self.title)}</p>'
            return f"<div>{style}{title}{note}</div>"
        head = "".join(
            f'<th scope="col"{_WORDS * column.is_text}>{escaped(column.header)}</th>'
            for column in self.columns
        )
        body = "".join(
            f"<tr>{self._cells(row, cells, name)}</tr>"
            for row, (cells, name) in enumerate(zip(self.rows, self.names, strict=True))
        )
        return (
            f'<div>{style}<table class="protonlab-table"><caption>{escaped(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
            f"<script>{asset('table.js')}</script></div>"
        )

    def _cells(self, row: int, cells: Sequence[str], name: str) -> str:
        parts = [f'<td title="{escaped(name)}">{escaped(cells[0])}</td>']
        for column, text in zip(self.columns[1:], cells[1:], strict=True):
            bar = column.bars[row] if column.bars else math.nan
            if not math.isnan(bar):
                parts.append(f'<td class="share">{_bar(bar, column)}<b>{escaped(text)}</b></td>')
            else:
                parts.append(f"<td{_WORDS * column.is_text}>{escaped(text)}</td>")
        return "".join(parts)


def _bar(percent: float, column: Column) -> str:
    if not column.is_diverging:
        return f'<i style="width: {percent:.1f}%"></i>'
    side = "less" if percent < 0 else "more"
    return f'<i class="{side}" style="width: {abs(percent) / 2:.1f}%"></i>'
