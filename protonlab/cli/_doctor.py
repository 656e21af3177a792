"""``protonlab doctor``: whether kernels can be recorded here."""

from __future__ import annotations

import click

from protonlab.cli._terminal import progress_console


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Look at what recording needs here, and try to record.

    Exits with 1 when recording is impossible. What it prints names devices and versions only.
    """
    from protonlab.capture import doctor as diagnose

    with progress_console().status("Trying to record …"):
        diagnosis = diagnose()
    click.echo(str(diagnosis))
    if not diagnosis.can_record:
        context.exit(1)
