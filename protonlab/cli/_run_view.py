"""What ``protonlab view`` and ``diff`` show of runs' folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from protonlab.cli._page import page_path, write_views
from protonlab.cli._source import no_kernel
from protonlab.cli._terminal import print_tree
from protonlab.cli._usage import refuse_typed
from protonlab.errors import ProtonLabError
from protonlab.model.sentences import cleaned_lines

if TYPE_CHECKING:
    from protonlab.model import Run


class FolderOrFile(click.Path):
    """A path that is there, or the URL of a run's folder, as text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Leave a URL as it is."""
        if isinstance(value, str) and "://" in value:
            return value
        return super().convert(value, param, ctx)


FOLDER_OR_FILE = FolderOrFile(exists=True, path_type=Path)


def is_folder(source: Path | str) -> bool:
    """Whether a command was given a folder, here or behind a URL."""
    return isinstance(source, str) or source.is_dir()


def path_for(source: Path | str) -> Path:
    """Path whose name a page takes."""
    if isinstance(source, str):
        return Path(source.rstrip("/").rsplit("/", 1)[-1])
    return source.resolve()


def view_run(
    folder: Path | str,
    *,
    metrics: list[str] | None,
    include: str | None,
    exclude: str | None,
    depth: int | None,
    order: Literal["recorded", "widest"],
    page: Path | None,
) -> None:
    """Print the tree of a run's ranks, who is missing, and who is waited for; or write its page.

    Raises
    ------
    ProtonLabError
        If the folder is no run's, several metrics are asked for, or no kernel matches.
    """
    from protonlab.display import run_views
    from protonlab.runs import load_run
    from protonlab.views import run_tree

    run = load_run(folder)
    if not run.profiles:
        options = ("metrics", "include", "exclude", "depth", "order")
        refuse_typed(*options, reason=f"{folder} holds traces, which have no tree")
    metric = (metrics or ["time"])[0]
    if metrics and len(metrics) > 1:
        raise ProtonLabError(
            f"--metrics {','.join(metrics)}: the tree of a run is of one metric, with its spread "
            f"over the ranks; give one, such as {metric}"
        )
    if include is not None or exclude is not None:
        run = _filtered(run, include, exclude)
    if page is not None:
        write_views(run_views(run, metrics=metrics, draws=True), run.name, page)
        return
    if run.profiles:
        print_tree(run_tree(run, metric=metric, depth=depth, order=order))
    else:
        click.echo(cleaned_lines("\n".join((f"{run.name}: {run.summary}", *run.notes))))
    if len(run.ranks) > 1:
        found = run.stragglers()
        click.echo(cleaned_lines("\n".join((found.verdict, *found.notes))))


def diff_runs(
    before: Path | str,
    after: Path | str,
    *,
    metric: str,
    depth: int | None,
    order: Literal["recorded", "widest"],
    page: bool,
    output: Path | None,
) -> None:
    """Print what changed from one run to another, or write a page of it.

    Raises
    ------
    ProtonLabError
        If one of them is a file, or no run's folder.
    """
    from protonlab.display import comparison_views
    from protonlab.runs import load_run
    from protonlab.views import comparison_tree

    for one, other in ((before, after), (after, before)):
        if not is_folder(one):
            raise ProtonLabError(
                f"{other} is the folder of a run and {one} a file; compare a run with a run, or "
                f"the file of one rank ({other}/rank-00000.hatchet) with a file"
            )
    comparison = load_run(before).compare(load_run(after), metric=metric)
    if page or output is not None:
        paths = path_for(before), path_for(after)
        title = " → ".join(path.name for path in paths)
        write_views(comparison_views(comparison), title, page_path(output, *paths))
        return
    print_tree(comparison_tree(comparison, depth=depth, order=order))


def _filtered(run: Run, include: str | None, exclude: str | None) -> Run:
    """Keep the kernels that match on every rank."""
    profiles: dict[int, Any] = {
        rank: profile.filter(include=include, exclude=exclude)
        for rank, profile in run.profiles.items()
    }
    if profiles and all(profile.kernels.empty for profile in profiles.values()):
        raise no_kernel(
            label for profile in run.profiles.values() for label in profile.kernels["label"]
        )
    return replace(run, profiles=profiles)
