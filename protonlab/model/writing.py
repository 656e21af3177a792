"""Files that are whole or not there: written beside their target, which they then replace."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends; it stays on an error.

    A name that ends in ``.gz`` gets its contents gzipped.
    """
    if not path.parent.is_dir():  # mkstemp would name its own file instead
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, _packed(file, path) as stream:
            yield stream
        # mkstemp gives 0600; a profile gets the permissions of any new file.
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_atomically(pieces: Iterable[str], path: Path) -> None:
    """Write text beside the target, which it then replaces: an older file survives a failure.

    What is called ``.gz`` is gzipped.
    """
    with replacing(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as stream:
        stream.writelines(pieces)


@contextmanager
def _packed(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=6) as packed:
        yield cast("BinaryIO", packed)
