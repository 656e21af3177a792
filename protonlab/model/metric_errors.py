"""What is wrong with the name of a metric, and which names would do."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from protonlab.model.frames import MetricColumn
from protonlab.model.sentences import some

_MOST_NAMES = 32


def unknown_metric(name: str, columns: Sequence[MetricColumn], known: Sequence[str]) -> str:
    """Say what is wrong with a metric name, and which names would do.

    Parameters
    ----------
    name
        As asked for.
    columns
        What the profile recorded.
    known
        Names that suit it.
    """
    for column in columns:
        if not column.additive and {column.column, column.stem} & {*name.split("/")}:
            return without_sum(name, column.column)
    plain = [column.stem for column in columns]
    summed = [column.stem for column in columns if column.additive]
    close = difflib.get_close_matches(name, [*known, *summed], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"{name!r} is not a metric of this profile.{hint}\n"
        f"It recorded: {some(plain, _MOST_NAMES) or 'nothing'}. "
        f"Use {', '.join(known) or 'nothing'}, a recorded metric, one by another "
        "(bytes/n_tokens), by time (n_tokens/s), as a share (time/%, time/%parent), or util."
    )


def without_sum(name: str, column: str) -> str:
    """Say that a metric needs a column that cannot be summed, and where its values are."""
    return (
        f"{name!r} has no value here: {column} is a vector, text, or a property, which cannot be "
        "summed. profile.frames holds what each frame recorded"
    )
