"""``protonlab convert``: a profile or trace in another format."""

from __future__ import annotations

from pathlib import Path

import click

from protonlab.errors import ProtonLabError


@click.command()
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
