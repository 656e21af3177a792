"""What a switch changed in the compiled kernel, as a table, and both PTX texts side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.assembly import Passage
from protonlab.model.compiled import PTX, SASS, CompiledComparison
from protonlab.model.units import MISSING
from protonlab.views.assets import asset
from protonlab.views.names import escaped, shortened

_LONGEST = 60
_MOST_LINES = 4_000  # of a side-by-side difference


@dataclass(frozen=True, eq=False)
class CompiledTable:
    """A table with a row for each resource, and for each choice and class of instructions.

    Parameters
    ----------
    comparison
        Two compiled variants.
    """

    comparison: CompiledComparison

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str(self.comparison)

    def html(self) -> str:
        """HTML of the table with its style; it loads nothing and needs no script."""
        compared = self.comparison
        rows = compared.to_display()
        heads = ("", *compared.names, " − ".join(reversed(compared.names)))
        head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in heads)
        title = f"{compared.kernel}, compiled for {compared.a.target}"
        return (
            f"<div><style>{asset('compiled.css')}</style>"
            f'<table class="protonlab-compiled"><caption>{escaped(title)}</caption>'
            f"<thead><tr>{head}</tr></thead>{''.join(self._groups(rows))}</table>"
            f"{self._notes()}</div>"
        )

    def _groups(self, rows: pd.DataFrame) -> Iterator[str]:
        for group, part in rows.groupby("group", sort=False):
            aside = ", as written" if group in (PTX, SASS) else ""
            head = escaped(f"{group}{aside}")
            yield f'<tbody><tr><th colspan="4" scope="rowgroup">{head}</th></tr>'
            for row in part.itertuples():
                what = str(row.what)
                one, other = _value(what, row.value_a), _value(what, row.value_b)
                marked = ' class="differs"' if row.differs else ""
                change = _change(row.value_a, row.value_b) if row.differs else ""
                yield (
                    f"<tr{marked}><td>{escaped(what)}</td><td>{one}</td><td>{other}</td>"
                    f"<td>{change}</td></tr>"
                )
            yield "</tbody>"

    def _notes(self) -> str:
        return "".join(
            f'<p class="protonlab-compiled-note">{escaped(note)}</p>'
            for note in self.comparison.notes
        )


@dataclass(frozen=True, eq=False)
class PTXDifference:
    """Two PTX texts side by side, without what is the same on long stretches.

    Parameters
    ----------
    names
        Of the variants.
    passages
        Stretches of lines, in order.
    """

    names: tuple[str, str]
    passages: tuple[Passage, ...]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        first, second = self.names
        lines = [f"- {first}", f"+ {second}"]
        for passage in self.passages:
            if passage.differs:
                lines += [f"-{number:6} {text}" for number, text in passage.left]
                lines += [f"+{number:6} {text}" for number, text in passage.right]
            else:
                lines += [f" {number:6} {text}" for number, text in passage.left]
        return "\n".join(lines)

    def html(self) -> str:
        """HTML that scrolls, with its style; it loads nothing and needs no script."""
        heads = "".join(f'<th scope="col" colspan="2">{escaped(name)}</th>' for name in self.names)
        return (
            f'<div class="protonlab-ptx" tabindex="0"><style>{asset("compiled.css")}</style>'
            f'<table class="protonlab-both"><colgroup>{"<col>" * 4}</colgroup>'
            f"<thead><tr>{heads}</tr></thead>"
            f"<tbody>{''.join(self._rows())}</tbody></table>"
            "</div>"
        )

    def _rows(self) -> Iterator[str]:
        shown, before = 0, 0
        for passage in self.passages:
            start = passage.left[0][0] if passage.left else before + 1
            if before and start > before + 40 and not passage.differs:
                yield '<tr class="gap"><td colspan="4">⋯</td></tr>'
            marked = ' class="differs"' if passage.differs else ""
            for row in range(max(len(passage.left), len(passage.right))):
                if shown == _MOST_LINES:
                    yield '<tr class="gap"><td colspan="4">more differs; print() has all</td></tr>'
                    return
                shown += 1
                cells = "".join(_line(lines, row) for lines in (passage.left, passage.right))
                yield f"<tr{marked}>{cells}</tr>"
            if passage.left:
                before = passage.left[-1][0]


def compiled_table(comparison: CompiledComparison) -> CompiledTable:
    """Show what differs between two compiled variants of a kernel.

    Resources and loops are always there; of constexprs, arguments and options those that differ,
    and of classes of instructions also those that a reader of a matmul looks for first.

    Raises
    ------
    ProtonLabError
        If `comparison` is none of compare_compiled's.
    """
    return CompiledTable(_checked(comparison))


def ptx_difference(comparison: CompiledComparison) -> PTXDifference:
    """Lay the PTX of two compiled variants side by side.

    Raises
    ------
    ProtonLabError
        If `comparison` is none of compare_compiled's, or the PTX of a variant was not kept.

    Examples
    --------
    >>> protonlab.ptx_difference(protonlab.compare_compiled(variants))  # doctest: +SKIP
    """
    for variant in (_checked(comparison).a, comparison.b):
        if not variant.ptx:
            raise ProtonLabError(
                f"the PTX of {variant.name!r} was not kept; compare_compiled() on the compiled "
                "kernels reads it again"
            )
    return PTXDifference(comparison.names, tuple(comparison.passages))


def _checked(comparison: Any) -> CompiledComparison:
    if not isinstance(comparison, CompiledComparison):
        raise ProtonLabError(
            f"comparison is of type {type(comparison).__name__}; give what compare_compiled() "
            'returns, such as compare_compiled({"overlap": f, "serial": g})'
        )
    return comparison


def _line(lines: tuple[tuple[int, str], ...], row: int) -> str:
    if row >= len(lines):
        return "<td></td><td></td>"
    number, text = lines[row]
    return f"<td>{number}</td><td>{escaped(text.strip().expandtabs(2))}</td>"


def _value(what: str, value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return MISSING
    if what == "occupancy":
        return f"{100 * value:.0f} %"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = str(value)
    short = shortened(text, _LONGEST)
    return (
        escaped(short)
        if short == text
        else f'<span title="{escaped(text)}">{escaped(short)}</span>'
    )


def _change(one: Any, other: Any) -> str:
    numbers = all(isinstance(each, int) and not isinstance(each, bool) for each in (one, other))
    return f"{other - one:+,}" if numbers else "differs"
