"""Errors of what was typed, apart from those of what was found: another exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.core import ParameterSource

from protonlab.errors import MissingDependencyError, ProtonLabError
from protonlab.model.sentences import cleaned_lines


@contextmanager
def typed_wrongly(errors: type[ProtonLabError] = ProtonLabError) -> Iterator[None]:
    """Let these errors in the block be the command line's: exit code 2, and how to get help.

    What is not installed was not typed wrongly, and stays as it is.
    """
    try:
        yield
    except MissingDependencyError:
        raise
    except errors as error:
        raise click.UsageError(cleaned_lines(str(error))) from error


def refuse_typed(*names: str, reason: str) -> None:
    """Refuse options that were typed where they do nothing.

    Raises
    ------
    click.UsageError
        If the command line has one of these.
    """
    source = click.get_current_context().get_parameter_source
    typed = [f"--{name}" for name in names if source(name) is ParameterSource.COMMANDLINE]
    if typed:
        raise click.UsageError(cleaned_lines(f"{', '.join(typed)}: {reason}"))
