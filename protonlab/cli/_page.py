"""The page of a profile or a comparison, written without a notebook of one's own."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from protonlab.cli._source import stem_of
from protonlab.errors import ProtonLabError


def page_path(output: Path | None, *sources: Path) -> Path:
    """Choose the page's path: in this folder, called as what it shows, and no file of others.

    Raises
    ------
    ProtonLabError
        If the page would replace what it shows, or without `output` a file that is no report.
    """
    from protonlab.formats.embedded import is_report

    target = output or Path(f"{'_vs_'.join(map(stem_of, sources))}.html")
    if not target.exists():
        return target
    for source in sources:
        if source.exists() and (target.samefile(source) or _lies_in(source, target)):
            what = "a file of the run" if source.is_dir() else "the file"
            raise ProtonLabError(f"{target} is {what} to view; name another page with -o")
    if output is None and not (target.is_file() and is_report(target.read_bytes())):
        raise ProtonLabError(
            f"{target} exists and was not written by protonlab; name another page with -o"
        )
    return target


def _lies_in(folder: Path, target: Path) -> bool:
    """Whether a file of a run's folder is one of its recordings: no page that lies there."""
    return folder.resolve() in target.resolve().parents and target.suffix != ".html"


def write_views(views: Iterable[Any], title: str, target: Path) -> None:
    """Write views as one page, say where, and open it where there is a desktop."""
    from protonlab.report import check_target, notebook_of, write_page

    check_target(target)
    write_page(notebook_of(views, title), target, folder=Path(), title=title)
    click.echo(f"Page: {target.resolve()}")
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(target.resolve().as_uri())
