"""``protonlab convert``: a profile or trace in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from protonlab.cli._source import SOURCE, choose
from protonlab.errors import ProtonLabError


@click.command()
@click.argument("source", type=SOURCE)
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", help="Which profile of a report to take.")
def convert(source: Path, target: Path, name: str | None) -> None:
    """Write a profile or trace again, as the name of TARGET says.

    SOURCE is what Proton or protonlab wrote: a profile, a trace, or a report.

    \b
    .hatchet           Proton's own JSON, also for proton-viewer
    .parquet           a table of frames, which loads again
    .speedscope.json   for speedscope.app
    .folded            for flamegraph.pl and inferno
    .csv               a table of frames, for spreadsheets
    .chrome_trace      for Perfetto; from a trace

    A name that ends in .gz as well, other than .parquet, gets it gzipped.
    """  # noqa: D301  # click keeps the lines behind a real backspace
    from protonlab.formats import load
    from protonlab.model import Trace

    loaded: Any = choose(load(source), source, name)
    wanted = target.name.lower().removesuffix(".gz")
    if isinstance(loaded, Trace) and (
        wanted.endswith(".speedscope.json") or not wanted.endswith((".chrome_trace", ".json"))
    ):
        raise ProtonLabError(
            f"{source} is a trace, not a tree; give the target a name that ends in "
            ".chrome_trace or .json. Perfetto and speedscope.app open it as it is"
        )
    loaded.save(target)
    if target.is_file():  # no pipe, and no device
        click.echo(f"{target}: {target.stat().st_size:,} bytes")
