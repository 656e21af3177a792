"""``protonlab notebooks``: the gallery, copied to where a person works."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), required=False
)
def notebooks(folder: Path) -> None:
    """Copy the gallery's notebooks into this folder, or into FOLDER.

    A file that exists already is never overwritten.
    """
    from protonlab.demo import copy_gallery

    for path, is_new in copy_gallery(folder):
        click.echo(f"{path}" if is_new else f"{path} exists already; left as it is")
