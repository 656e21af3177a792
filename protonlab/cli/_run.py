"""``protonlab run``: every rank of a job records, without a change to its script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from protonlab.errors import ProtonLabError
from protonlab.model.sentences import cleaned_lines

if TYPE_CHECKING:
    from protonlab.runs import RankOptions


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
For example:
  protonlab run --steps 10:20 -- torchrun --nproc-per-node 4 train.py
  protonlab run --include '_p_matmul.*' -o run1 -- python train.py

Exit code: that of COMMAND; 2 where it could not be started.
""",
)
@click.option("--include", metavar="REGEX", help="Evaluate launch metadata of these kernels only.")
@click.option("--exclude", metavar="REGEX", help="Never evaluate that of these kernels.")
@click.option("--record", metavar="NAMES", help="Launch metadata keys to record, comma-separated.")
@click.option("--context", metavar="WORD", help="shadow (scopes) or python (the call stack).")
@click.option("--data", metavar="WORD", help="tree (sums by step) or trace (every launch).")
@click.option("--steps", metavar="FIRST:END", help="Steps to record, counted from 0, as 10:20.")
@click.option("--scope", metavar="NAME", help="Keep only what runs in this scope of Proton's.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The run folder.")
@click.option("--join", is_flag=True, help="The folder holds ranks of this job's other hosts.")
@click.option("--keep-host", is_flag=True, help="Keep the name of the host in the run folder.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    click_context: click.Context,
    /,
    command: tuple[str, ...],
    output: Path | None,
    join: bool,
    **asked: Any,
) -> None:
    """Run COMMAND, and record each rank of its job in one folder.

    COMMAND is what starts the job: torchrun with its options and script, or
    python and a script, which is then a run of one rank. A step ends where the
    optimizer has stepped. Ranks do not speak to each other for this; one that
    dies or is killed leaves the others whole.

    Without -o the folder is called run- with date and time, in this folder.
    """
    from protonlab.runs import Recorded, program_of, run_folder, run_job

    try:
        program = program_of(command)
        options = _options(**asked)
        with run_folder(output, joins=join) as folder:
            if options.data == "trace" and options.end is None:
                grows = "Every launch is kept in memory until the end; --steps bounds that."
                click.echo(grows, err=True)
            code = run_job(program, command, replace(options, folder=str(folder)))
            if code:
                click.echo(f"{command[0]} ended with exit code {code}", err=True)
            for line in Recorded.of(folder).lines:
                click.echo(
                    cleaned_lines(line), err=True
                )  # an error of the script's may be among them
    except ProtonLabError as error:
        raise click.UsageError(str(error)) from error
    click_context.exit(code)


def _options(*, steps: str | None, **asked: Any) -> RankOptions:
    """Check options against the option table, and against each other."""
    from protonlab.capture import option
    from protonlab.runs import RankOptions

    first, end = option("steps").check(steps) or (0, None)
    values = {name: option(name).check(value) for name, value in asked.items()}
    if values["scope"] and values["data"] == "trace":
        raise ProtonLabError(
            f"scope={values['scope']} beside data=trace: scopes do not cut a trace; give "
            "--steps FIRST:END, or leave one of the two out"
        )
    return RankOptions(first=first, end=end, **values)
