"""``protonlab view``: a profile's tree in the terminal, or as a page."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from protonlab.cli._page import page_path, write_views
from protonlab.cli._run_view import FOLDER_OR_FILE, path_for, view_run
from protonlab.cli._source import kind_of, no_kernel, read_source
from protonlab.cli._terminal import DEPTH, ORDER, PAGE_HAS_ALL, print_tree
from protonlab.cli._usage import refuse_typed, typed_wrongly
from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.sentences import cleaned_lines

if TYPE_CHECKING:
    from protonlab.model.epilogue_sweep import EpilogueSweep


@click.command()
@click.argument("file", type=FOLDER_OR_FILE)
@click.option(
    "-m",
    "--metrics",
    metavar="NAMES",
    help="Columns, comma-separated, in proton-viewer's words: time/ms,gbyte/s,util.",
)
@click.option("-i", "--include", metavar="REGEX", help="Only kernels whose name or label matches.")
@click.option("-e", "--exclude", metavar="REGEX", help="No kernels whose name or label matches.")
@DEPTH
@ORDER
@click.option(
    "--flame", is_flag=True, help="Write a page: flame graph, bars, table; a trace's timeline."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The page to write, for --flame."
)
@click.option("--name", help="Which profile of a report to show.")
def view(
    file: Path | str,
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
    matched from the start of the name, or of the label that is shown. Traces,
    saved comparisons and sweeps have no tree; they say what they hold.

    FILE may also be the folder of a run, or its URL: then the trees of its ranks are one,
    and the lines below say which ranks are missing, and which one the others
    wait for.

    With --flame the tree becomes FILE.html in this folder, opened where there
    is a desktop.
    """
    from protonlab.display import profile_views
    from protonlab.model import Profile
    from protonlab.model.filters import compile_pattern
    from protonlab.views import profile_tree

    if flame or output is not None:
        refuse_typed("depth", "order", reason=PAGE_HAS_ALL)
    with typed_wrongly():
        compile_pattern(include, "include")
        compile_pattern(exclude, "exclude")
    wanted = [part.strip() for part in metrics.split(",") if part.strip()] if metrics else None
    if isinstance(file, str) or file.is_dir():
        if name is not None:
            raise ProtonLabError(f"--name {name}: {file} is the folder of a run, no report")
        with typed_wrongly(MetricError):
            view_run(
                file,
                metrics=wanted,
                include=include,
                exclude=exclude,
                depth=depth,
                order=order,
                page=page_path(output, path_for(file)) if flame or output is not None else None,
            )
        return
    found = read_source(file, name)
    page = page_path(output, file) if flame or output is not None else None
    if not isinstance(found, Profile):
        options = ("metrics", "include", "exclude", "depth", "order")
        refuse_typed(*options, reason=f"{file} is {kind_of(found)}, which has no tree")
        _show_other(file, found, page)
        return
    if include is not None or exclude is not None:
        found = _filtered(found, include, exclude)
    with typed_wrongly(MetricError):
        if page is not None:
            write_views(profile_views(found, metrics=wanted), found.info.name or file.name, page)
        else:
            print_tree(profile_tree(found, metrics=wanted, depth=depth, order=order))


def _show_other(file: Path, found: Any, page: Path | None) -> None:
    """Show what has no tree: as views where it has some, else in its own words."""
    from protonlab.display import trace_views, variant_views
    from protonlab.model import Trace, VariantComparison
    from protonlab.model.epilogue_sweep import EpilogueSweep

    draws = page is not None
    if isinstance(found, Trace):
        parts = trace_views(found, draws=draws)
    elif isinstance(found, VariantComparison):
        parts = variant_views(found, draws=draws)
    elif isinstance(found, EpilogueSweep) and draws:
        parts = list(_sweep_views(found))
    elif draws:
        raise ProtonLabError(f"{file} is {kind_of(found)}, which has no page")
    else:
        parts = [found]
    if page is not None:
        write_views(parts, file.name, page)
        return
    for part in parts:
        click.echo(cleaned_lines(str(part)))


def _sweep_views(sweep: EpilogueSweep) -> Iterator[Any]:
    """Draw each kernel at each shape, and then tell every case."""
    from protonlab.display import InWords
    from protonlab.views import overlap_by_tokens

    shapes = dict.fromkeys((case.kernel, case.k, case.n, case.experts) for case in sweep.cases)
    for kernel, k, n, experts in shapes:
        yield overlap_by_tokens(sweep, kernel=kernel, k=k, n=n, experts=experts)
    yield InWords(str(sweep), f"<pre>{html.escape(str(sweep))}</pre>")


def _filtered(profile: Any, include: str | None, exclude: str | None) -> Any:
    kept = profile.filter(include=include, exclude=exclude)
    if kept.kernels.empty and not profile.kernels.empty:
        raise no_kernel(profile.kernels["label"])
    return kept
