"""The command line: the same things as in Python, from a shell.

Exit codes: 0, all went well; 1, something failed, and standard error says what; 2, the command was
typed wrongly. A command imports what it needs when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from protonlab.errors import ProtonLabError


class _Commands(click.Group):
    """Commands whose expected errors are a line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ProtonLabError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="protonlab", message="protonlab %(version)s")
def main() -> None:
    """Profile GPU kernels and look at what ran.

    In a notebook: %load_ext protonlab, then %%proton over a cell.
    """


@main.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Look at what recording needs here, and try to record.

    Exits with 1 when recording is impossible. What it prints names devices and versions only.
    """
    from rich.console import Console

    from protonlab.capture import doctor as diagnose

    with Console(stderr=True).status("Trying to record …"):
        diagnosis = diagnose()
    click.echo(str(diagnosis))
    if not diagnosis.can_record:
        context.exit(1)


@main.command()
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
    from rich.console import Console

    from protonlab.demo import run_demo
    from protonlab.views import table

    with Console(stderr=True).status("Running the first notebook …") as status:
        profile = run_demo(
            output,
            on_cell=lambda cell, cells: status.update(
                f"Running the first notebook: cell {cell} of {cells} …"
            ),
        )
    click.echo(str(table(profile)))
    click.echo(f"\nRan on: {profile.where}")
    click.echo(f"Page:   {output.resolve()}")


@main.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def convert(source: Path, target: Path) -> None:
    """Write a profile or trace again, as the name of TARGET says.

    \b
    .hatchet           Proton's own JSON, also for proton-viewer
    .parquet           a table of frames
    .speedscope.json   for speedscope.app
    .folded            for flamegraph.pl and inferno
    .csv               a table of frames
    .chrome_trace      for Perfetto; from a trace

    A name that ends in .gz as well gets it gzipped.
    """  # noqa: D301  # click keeps the lines behind a real backspace
    from protonlab.formats import load
    from protonlab.model import Trace

    try:
        loaded = load(source)
        name = target.name.lower().removesuffix(".gz")
        if isinstance(loaded, Trace) and (
            name.endswith(".speedscope.json") or not name.endswith((".chrome_trace", ".json"))
        ):
            raise ProtonLabError(
                f"{source} is a trace, not a tree; give the target a name that ends in "
                ".chrome_trace or .json. Perfetto and speedscope.app open it as it is"
            )
        loaded.save(target)
    except OSError as error:
        raise click.ClickException(f"{error.filename or target}: {error.strerror}") from error
    click.echo(f"{target}: {target.stat().st_size:,} bytes")
