"""``protonlab report``: a notebook as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from protonlab.cli._terminal import progress_console
from protonlab.errors import ProtonLabError


@click.command()
@click.argument("notebook", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The page to write; by default beside the notebook.",
)
@click.option("--execute", is_flag=True, help="Run the notebook first, in its own folder.")
@click.option(
    "-p",
    "--parameters",
    "assignments",
    metavar="NAME=VALUE",
    multiple=True,
    help="Run it with this value behind the cell tagged 'parameters'; repeatable.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for one cell.",
)
@click.option("--allow-errors", is_flag=True, help="A cell that raises is no failure.")
@click.option("--no-code", is_flag=True, help="Leave out what the cells typed.")
@click.option("--strip-data", is_flag=True, help="Leave out the profiles behind the figures.")
@click.option("--keep-paths", is_flag=True, help="Keep folders and host names.")
@click.option("--title", help="Title of the page; by default the first heading.")
def report(
    notebook: Path,
    output: Path | None,
    *,
    execute: bool,
    assignments: tuple[str, ...],
    timeout: float,
    allow_errors: bool,
    no_code: bool,
    strip_data: bool,
    keep_paths: bool,
    title: str | None,
) -> None:
    """Write a notebook as one HTML page to share.

    The page opens offline with its figures alive, and holds the profiles behind
    them: protonlab.load("NOTEBOOK.html") reads them back. Folders and host
    names are taken out.

    Exits with 1 when a cell failed; the page is written and shows it.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from protonlab.report import ReportOptions, export, read_assignments

    try:
        parameters = read_assignments(assignments)
    except ProtonLabError as error:
        raise click.UsageError(str(error)) from error
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = progress_console()
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(f"Running {notebook.name}", total=None, visible=False)
        target, problem, note = export(
            notebook,
            output,
            parameters=parameters,
            timeout=timeout if execute or parameters else None,
            title=title,
            options=ReportOptions(
                show_code=not no_code,
                embed_data=not strip_data,
                keep_paths=keep_paths,
                allow_errors=allow_errors,
            ),
            on_cell=lambda cell, cells: progress.update(
                task, completed=cell - 1, total=cells, visible=True
            ),
        )
    if note:
        click.echo(f"Note: {note}.", err=True)
    if problem:
        raise ProtonLabError(f"{notebook}: {problem}; the page shows it: {target}")
    size = target.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    click.echo(f"{target}: {shown}")
