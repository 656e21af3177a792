"""Errors of what was typed, apart from those of what was found: another exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

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
