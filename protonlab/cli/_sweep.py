"""``protonlab sweep``: epilogue overlap over many shapes, into a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from protonlab.cli._terminal import progress_console
from protonlab.cli._usage import typed_wrongly
from protonlab.errors import ProtonLabError

_MOST_REASONS = 3


def _seconds(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value:g}; give seconds, more than 0")
    return value


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--tokens", multiple=True, type=int, help="Tokens per expert; give several times.")
@click.option("--k", "ks", multiple=True, type=int, help="Columns of the weights; several times.")
@click.option("--n", default=5760, show_default=True, help="Rows of the weights.")
@click.option("--experts", default=128, show_default=True, help="Experts.")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    type=click.Choice(["ours", "upstream"]),
    help="Which kernel; several times. Upstream's needs triton_kernels.",
)
@click.option(
    "--budget",
    default=2.0,
    show_default=True,
    callback=_seconds,
    help="Seconds for each case.",
)
@click.option(
    "--within",
    type=float,
    callback=_seconds,
    help="Seconds for all of it; what is left then is named.",
)
@click.option("--burst", is_flag=True, help="Launches behind a rest, with an empty L2.")
def sweep(target: Path, **asked: Any) -> None:
    """Measure epilogue overlap, on against off, and write TARGET.

    By default 1 to 512 tokens per expert, K = 5760 and 256, our kernel, and
    upstream's where it is installed. Needs a Hopper GPU. A name that ends in
    .json or .json.gz holds everything; in .parquet, a table of pairs with the
    rest beside it. protonlab.load() reads both. TARGET is saved behind each
    case; the same command goes on where Ctrl-C, or a crash, ended it.
    """
    from protonlab.epilogue import KS, TOKENS, EpilogueCase, epilogue_cases, sweep_epilogue
    from protonlab.epilogue._kept import check_place
    from protonlab.model.units import counted

    with typed_wrongly():
        cases = epilogue_cases(
            asked["tokens"] or TOKENS,
            ks=asked["ks"] or KS,
            kernels=asked["kernels"] or None,
            experts=asked["experts"],
            n=asked["n"],
        )
        check_place(target)
    goes_on = target.is_file()
    console = progress_console()
    with console.status(f"{len(cases)} cases …") as status:

        def tell(case: EpilogueCase, number: int, count: int) -> None:
            nonlocal goes_on
            if goes_on:  # which is known only now that the file was read
                words = f"{target} is there; only what it lacks is measured."
                console.print(words, markup=False, highlight=False, soft_wrap=True)
                goes_on = False
            line = f"{number} of {count}: {case}"
            if console.is_terminal:
                status.update(f"{line} …")
            else:
                click.echo(line, err=True)

        found = sweep_epilogue(
            cases,
            budget_s=asked["budget"],
            within_s=asked["within"],
            protocol="burst" if asked["burst"] else "sustained",
            on_case=tell,
            path=target,
        )
    measured = sum(case in found.comparisons for case in cases)
    if found.was_interrupted and not measured:
        raise KeyboardInterrupt
    if not measured:
        reasons = [*found.left_out[:_MOST_REASONS]]
        if len(found.left_out) > len(reasons):
            reasons.append(f"And {counted(len(found.left_out) - len(reasons), 'case')} more.")
        raise ProtonLabError("\n  ".join(("nothing was measured.", *reasons)))
    click.echo(str(found))
    click.echo(f"\n{target}: {target.stat().st_size:,} bytes, {found.protocol['took_s']} s")
    if found.was_interrupted:
        holds = f"{target} holds {measured} of {counted(len(cases), 'case')}"
        click.echo(f"{holds}; the same command goes on.", err=True)
        raise KeyboardInterrupt
