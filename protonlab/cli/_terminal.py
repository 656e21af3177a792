"""What commands draw for a person who watches, and print for everybody else.

``%%sh`` in a notebook and many CI services set FORCE_COLOR, and rich then takes their pipes for
terminals: colours are welcome there, but what moves is not, and there is no width to cut lines to.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def printable(text: str) -> str:
    """Take what would steer a terminal out of words that hold names of a file's kernels."""
    from protonlab.views.names import cleaned

    return "\n".join(map(cleaned, text.split("\n")))


def progress_console() -> Console:
    """Make a console on standard error whose progress is drawn in a terminal only."""
    from rich.console import Console

    return Console(stderr=True, force_terminal=sys.stderr.isatty())


def print_tree(tree: RenderableType) -> None:
    """Print a tree, its lines cut to the width of a terminal if it goes to one."""
    from rich.console import Console

    Console(highlight=False).print(tree, soft_wrap=not sys.stdout.isatty())
