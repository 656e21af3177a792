"""Files that are whole or not there: written beside their target, which they then replace."""

from __future__ import annotations

import errno
import gzip
import io
import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

_PREFIX = ".protonlab-"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends; it stays on an error.

    A link stays, and what it leads to is replaced; a device or a pipe is written to. A name that
    ends in ``.gz`` gets its contents gzipped.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        with path.open("wb") as file, _packed(file, path) as stream:
            yield stream
        return
    target = path.resolve() if path.is_symlink() else path
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    # Not tempfile's: its files are the user's alone, and finding out by os.umask what a new file
    # may be would change what other threads make at that moment.
    temporary = target.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file, _packed(file, path) as stream:
            yield stream
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and _PREFIX in (error.filename or _PREFIX):
            raise OSError(error.errno, error.strerror, str(path)) from error  # not our own file
        raise


def write_atomically(pieces: Iterable[str], path: Path) -> None:
    """Write text beside the target, which it then replaces: an older file survives a failure.

    What is called ``.gz`` is gzipped.
    """
    with replacing(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as stream:
        stream.writelines(pieces)


def compact_json(value: Any) -> str:
    """Write plain values as JSON without a space; ValueError where a number is not finite."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


@contextmanager
def _packed(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    if path.suffix.lower() != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6) as packed:
        yield cast("BinaryIO", packed)
