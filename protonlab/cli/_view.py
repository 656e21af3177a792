"""``protonlab view``: a profile's tree in the terminal, or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from protonlab.cli._page import page_path, write_views
from protonlab.cli._source import SOURCE, read_profile_of
from protonlab.errors import ProtonLabError


@click.command()
@click.argument("file", type=SOURCE)
@click.option(
    "-m",
    "--metrics",
    metavar="NAMES",
    help="Columns, comma-separated, in proton-viewer's words: time/ms,gbyte/s,util.",
)
@click.option("-i", "--include", metavar="REGEX", help="Only kernels whose name matches.")
@click.option("-e", "--exclude", metavar="REGEX", help="No kernels whose name matches.")
@click.option("-d", "--depth", type=click.IntRange(min=0), help="Deepest frames to print.")
@click.option(
    "--order",
    type=click.Choice(["recorded", "widest"]),
    default="recorded",
    show_default=True,
    help="Order of the frames below each frame.",
)
@click.option("--flame", is_flag=True, help="Write a page with flame graph, bars and table.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The page to write, for --flame."
)
@click.option("--name", help="Which profile of a report to show.")
def view(
    file: Path,
    *,
    metrics: str | None,
    include: str | None,
    exclude: str | None,
    depth: int | None,
    order: Literal["recorded", "widest"],
    flame: bool,
    output: Path | None,
    name: str | None,
) -> None:
    """Print the tree of a profile, as proton-viewer does.

    FILE is what Proton or protonlab wrote, JSON or msgpack, or a report. Every
    frame has its inclusive metrics. A metric without a unit, such as time,
    takes the unit that suits each value; time/ms keeps its own. Patterns are
    matched from the start of the name.

    With --flame the tree becomes FILE.html in this folder, opened where there
    is a desktop.
    """
    from rich.console import Console

    from protonlab.display import profile_views
    from protonlab.views import profile_tree

    profile = read_profile_of(file, name)
    if include is not None or exclude is not None:
        profile = _filtered(profile, include, exclude)
    wanted = [part.strip() for part in metrics.split(",") if part.strip()] if metrics else None
    if flame or output is not None:
        title = profile.info.name or file.name
        write_views(profile_views(profile, metrics=wanted), title, page_path(file, output))
        return
    console = Console(highlight=False)
    tree = profile_tree(profile, metrics=wanted, depth=depth, order=order)
    console.print(tree, soft_wrap=not console.is_terminal)


def _filtered(profile: Any, include: str | None, exclude: str | None) -> Any:
    kept = profile.filter(include=include, exclude=exclude)
    if kept.kernels.empty and not profile.kernels.empty:
        names = list(dict.fromkeys(profile.kernels["name"].astype(str)))
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        raise ProtonLabError(
            "no kernel matches; patterns are anchored at the start of the name, begin with .* to "
            f"match anywhere. Kernels: {', '.join(names[:12])}{more}"
        )
    return kept
