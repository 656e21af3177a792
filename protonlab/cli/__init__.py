"""The command line: the same things as in Python, from a shell; a file for each command.

Exit codes: 0, all went well; 1, something failed, and standard error says what; 2, the command was
typed wrongly; 130, interrupted by Ctrl-C. A command imports what it needs when it runs, so that
``--help`` answers at once.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import Any

import click

from protonlab.cli._check import check
from protonlab.cli._convert import convert
from protonlab.cli._demo import demo
from protonlab.cli._diff import diff
from protonlab.cli._doctor import doctor
from protonlab.cli._notebooks import notebooks
from protonlab.cli._report import report
from protonlab.cli._run import run
from protonlab.cli._sweep import sweep
from protonlab.cli._view import view
from protonlab.errors import ProtonLabError
from protonlab.model.sentences import cleaned_lines

__all__ = ["main"]

_INTERRUPTED = 130  # as shells say it: 128 and the signal's number


class _Commands(click.Group):
    """Commands whose expected errors are a line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # which may be of a language without lines
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except ProtonLabError as error:
            raise click.ClickException(cleaned_lines(str(error))) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads on; click ends quietly
                raise
            where = error.filename or "standard output"
            raise click.ClickException(f"{where}: {error.strerror or error}") from error
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            ctx.exit(_INTERRUPTED)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    commands=[check, convert, demo, diff, doctor, notebooks, report, run, sweep, view],
    epilog="""\b
Exit codes: 0 all went well, 1 something failed, 2 typed wrongly, 130 Ctrl-C.
Completion, a line for ~/.bashrc (zsh, fish: with zsh_source, fish_source):
  eval "$(_PROTONLAB_COMPLETE=bash_source protonlab)"
""",
)
@click.version_option(package_name="protonlab", message="protonlab %(version)s")
def main() -> None:
    """Profile GPU kernels and look at what ran.

    In a notebook: %load_ext protonlab, then %%proton over a cell.
    """
