"""``protonlab demo``: the first notebook, run for real."""

from __future__ import annotations

from pathlib import Path

import click

from protonlab.cli._terminal import progress_console


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("protonlab-demo.html"),
    show_default=True,
    help="The page to write.",
)
def demo(output: Path) -> None:
    """Run the first notebook here and write it as one HTML page.

    The kernels run on the GPU, or on Triton's interpreter where there is none.
    """
    from protonlab.demo import run_demo
    from protonlab.views import table

    with progress_console().status("Running the first notebook …") as status:
        profile = run_demo(
            output,
            on_cell=lambda cell, cells: status.update(
                f"Running the first notebook: cell {cell} of {cells} …"
            ),
        )
    click.echo(str(table(profile)))
    click.echo(f"\nRan on: {profile.where}")
    click.echo(f"Page:   {output.resolve()}")
