"""Where a page goes: found out before a long run, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from protonlab.errors import ProtonLabError
from protonlab.model.writing import write_atomically


def check_target(target: Path) -> None:
    """Find out before a long run, not after it, that the page has nowhere to go."""
    if target.is_dir():
        raise ProtonLabError(f"cannot write the page {target}: it is a folder; name a file in it")
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    folder = (target.resolve() if target.is_symlink() else target).parent
    if not folder.is_dir():
        raise ProtonLabError(
            f"cannot write the page {target}: no folder {folder}; make it, or name another page"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ProtonLabError(
            f"cannot write the page {target}: the folder {folder} is not yours to write to; name "
            "another page with -o"
        )


def write_text(text: str, target: Path) -> None:
    """Write a page; an older one survives a failure."""
    try:
        write_atomically([text], target)
    except OSError as error:
        raise ProtonLabError(
            f"cannot write the page {target}: {error.strerror}; an older one is as it was"
        ) from error
