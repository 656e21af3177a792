"""``protonlab diff``: what changed between two profiles, in the terminal or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from protonlab.cli._page import page_path, write_views
from protonlab.cli._run_view import FOLDER_OR_FILE, diff_runs
from protonlab.cli._source import read_profile_of
from protonlab.cli._terminal import DEPTH, ORDER, PAGE_HAS_ALL, print_tree
from protonlab.cli._usage import refuse_typed, typed_wrongly
from protonlab.errors import MetricError, ProtonLabError


@click.command()
@click.argument("before", metavar="A", type=FOLDER_OR_FILE)
@click.argument("after", metavar="B", type=FOLDER_OR_FILE)
@click.option(
    "-m",
    "--metric",
    default="time",
    show_default=True,
    help="What to compare, in proton-viewer's words: avg_time/us, gbyte/s.",
)
@DEPTH
@ORDER
@click.option("--flame", is_flag=True, help="Write a page with flame graph, bars and table.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The page to write, for --flame."
)
@click.option("--name-a", metavar="NAME", help="Which profile of A, where A is a report.")
@click.option("--name-b", metavar="NAME", help="Which profile of B, where B is a report.")
def diff(
    before: Path | str,
    after: Path | str,
    *,
    metric: str,
    depth: int | None,
    order: Literal["recorded", "widest"],
    flame: bool,
    output: Path | None,
    name_a: str | None,
    name_b: str | None,
) -> None:
    """Print what changed from profile A to profile B.

    Both trees as one: each frame before and after, what is new and what is
    gone, with kernels that were renamed found again. The last lines say how.
    Where the code was repeated, the first line says how sure the change is.
    A and B may also be folders of runs: then values are those of a rank on
    average, and how sure a change is follows from the ranks.

    With --flame it becomes A_vs_B.html in this folder, opened where there is a
    desktop.
    """
    from protonlab.display import comparison_views
    from protonlab.model import compare
    from protonlab.views import comparison_tree

    if flame or output is not None:
        refuse_typed("depth", "order", reason=PAGE_HAS_ALL)
    if isinstance(before, str) or isinstance(after, str) or before.is_dir() or after.is_dir():
        for option, name in (("--name-a", name_a), ("--name-b", name_b)):
            if name is not None:
                raise ProtonLabError(f"{option} {name}: runs are compared, no reports")
        with typed_wrongly(MetricError):
            diff_runs(
                before,
                after,
                metric=metric,
                depth=depth,
                order=order,
                page=flame,
                output=output,
            )
        return
    profiles = (
        read_profile_of(before, name_a, "--name-a"),
        read_profile_of(after, name_b, "--name-b"),
    )
    with typed_wrongly(MetricError):
        comparison = compare(*profiles, metric=metric)
    if flame or output is not None:
        title = f"{before.name} → {after.name}"
        write_views(comparison_views(comparison), title, page_path(output, before, after))
        return
    print_tree(comparison_tree(comparison, depth=depth, order=order))
