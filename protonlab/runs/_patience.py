"""Calls of a store that failed for a passing reason, made again."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from protonlab.errors import ProtonLabError
from protonlab.runs._folder import Folder

Result = TypeVar("Result")

# Seconds to wait before a call is made again; a store that fails more often is down.
WAITS = (0.02, 0.1, 0.5, 2.0)
# What does not go away by itself.
_FOR_GOOD = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENAMETOOLONG})


def passes(error: BaseException | None) -> bool:
    """Whether an error may go away by itself."""
    return (
        isinstance(error, OSError) and not isinstance(error, _FOR_GOOD) and error.errno not in _FULL
    )


def insist(call: Callable[[], Result], what: str) -> Result:
    """Make a call until it succeeds, has failed for good, or five times.

    Parameters
    ----------
    call
        The call.
    what
        What it is about, for the error.

    Raises
    ------
    FileNotFoundError
        As the call raises it.
    ProtonLabError
        If the store goes on failing, or fails for good.
    """
    for wait in (*WAITS, None):
        try:
            return call()
        except FileNotFoundError:
            raise
        except OSError as error:
            if wait is None or not passes(error):
                again = "" if wait is not None else f", {len(WAITS) + 1} times"
                raise ProtonLabError(
                    f"{what} could not be reached{again} ({type(error).__name__}: {error})"
                ) from error
            time.sleep(wait)
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class _Patient:
    """A file system, as far as a `Folder` needs one, whose calls are made again."""

    system: Any

    @property
    def protocol(self) -> Any:
        return self.system.protocol

    def ls(self, path: str, detail: bool) -> Any:
        return insist(lambda: self.system.ls(path, detail=detail), path)

    def cat_file(self, path: str) -> Any:
        return insist(lambda: self.system.cat_file(path), path)


def folder_at(url: str | os.PathLike[str]) -> Folder:
    """Open a folder as `Folder.at` does, and read it with patience."""
    for wait in (*WAITS, None):
        try:
            found = Folder.at(url)
            return replace(found, system=_Patient(found.system))
        except ProtonLabError as error:
            if wait is None or not passes(error.__cause__):
                raise
            time.sleep(wait)
    raise AssertionError("unreachable")
