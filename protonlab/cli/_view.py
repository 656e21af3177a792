"""``protonlab view``: a profile's tree in the terminal, or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from protonlab.cli._page import page_path, write_views
from protonlab.cli._source import SOURCE, read_source
from protonlab.cli._terminal import print_tree
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
@click.option(
    "--flame", is_flag=True, help="Write a page: flame graph, bars, table; a trace's timeline."
)
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
    matched from the start of the name. Traces and saved comparisons have no
    tree; they say what they hold.

    With --flame the tree becomes FILE.html in this folder, opened where there
    is a desktop.
    """
    from protonlab.display import profile_views
    from protonlab.model import Profile
    from protonlab.views import profile_tree

    found = read_source(file, name)
    page = page_path(file, output) if flame or output is not None else None
    if not isinstance(found, Profile):
        _refuse_options(file, found, metrics=metrics, include=include, exclude=exclude, depth=depth)
        _show_other(file, found, page)
        return
    if include is not None or exclude is not None:
        found = _filtered(found, include, exclude)
    wanted = [part.strip() for part in metrics.split(",") if part.strip()] if metrics else None
    if page is not None:
        write_views(profile_views(found, metrics=wanted), found.info.name or file.name, page)
        return
    print_tree(profile_tree(found, metrics=wanted, depth=depth, order=order))


def _refuse_options(file: Path, found: Any, **given: Any) -> None:
    names = ", ".join(f"--{name}" for name, value in given.items() if value is not None)
    if names:
        raise ProtonLabError(f"{names}: {file} is a {type(found).__name__}, which has no tree")


def _show_other(file: Path, found: Any, page: Path | None) -> None:
    """Show a trace or a comparison of variants, and let a sweep speak for itself."""
    from protonlab.display import trace_views, variant_views
    from protonlab.model import Trace, VariantComparison

    draws = page is not None
    if isinstance(found, Trace):
        parts = trace_views(found, draws=draws)
    elif isinstance(found, VariantComparison):
        parts = variant_views(found, draws=draws)
    elif draws:
        raise ProtonLabError(f"{file} is a {type(found).__name__}, which has no page")
    else:
        parts = [found]
    if page is not None:
        write_views(parts, file.name, page)
        return
    for part in parts:
        click.echo(str(part))


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
