"""What commands draw for a person who watches, and print for everybody else.

``%%sh`` in a notebook and many CI services set FORCE_COLOR, and rich then takes their pipes for
terminals: colours are welcome there, but what moves is not, and there is no width to cut lines to.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from protonlab.views.text_tree import TextTree

_ROOM = 20  # characters that are left to names
# Options of commands that print a tree.
DEPTH = click.option("-d", "--depth", type=click.IntRange(min=0), help="Deepest frames to print.")
ORDER = click.option(
    "--order",
    type=click.Choice(["recorded", "widest"]),
    default="recorded",
    show_default=True,
    help="Order of the frames below each frame.",
)
PAGE_HAS_ALL = "of the printed tree; a page has all frames, and its flame graph zooms"


def progress_console() -> Console:
    """Make a console on standard error whose progress is drawn in a terminal only."""
    from rich.console import Console

    return Console(stderr=True, force_terminal=sys.stderr.isatty())


def print_tree(tree: TextTree) -> None:
    """Print a tree; if it goes to a terminal, some columns make room there for the names."""
    from rich.console import Console

    console, watched = Console(highlight=False), sys.stdout.isatty()
    console.print(fitted(tree, console.width) if watched else tree, soft_wrap=not watched)


def fitted(tree: TextTree, width: int) -> TextTree:
    """Leave out the columns that matter least, but one, where names would have no room."""
    used = min(_ROOM, max(map(len, map("".join, zip(tree.guides, tree.names, strict=True)))))
    kept: set[int] = set()
    for place in tree.importance or range(len(tree.columns)):
        column = tree.columns[place]
        used += max(map(len, (column.header, *column.cells))) + len("  ")
        if kept and used > width:
            break
        kept.add(place)
    left_out = [column.header for at, column in enumerate(tree.columns) if at not in kept]
    if not left_out:
        return tree
    note = f"Left out, since the terminal has {width} columns: {', '.join(left_out)}."
    return replace(
        tree,
        columns=tuple(tree.columns[place] for place in sorted(kept)),
        styles=tuple(tree.styles[place] for place in sorted(kept)),
        notes=(*tree.notes, note),
        importance=(),
    )
