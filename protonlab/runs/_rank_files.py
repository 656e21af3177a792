"""A rank's files in a run folder: claimed once, whole or not there, never those of another."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from protonlab.model import Profile, Trace
from protonlab.model.manifest import RankManifest, manifest_name
from protonlab.model.writing import replacing

_SUFFIXES = {Profile: ".hatchet", Trace: ".chrome_trace.gz"}
_MOST_RECORDINGS = 1000  # of one rank in one folder


class RankFiles:
    """Manifest and profile of one rank.

    Parameters
    ----------
    folder
        The run folder; made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._manifest: Path | None = None

    def claim(self, manifest: RankManifest) -> None:
        """Write the rank's first manifest, under a name that no other process has taken.

        Raises
        ------
        OSError
            If the folder cannot be written to.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for again in range(_MOST_RECORDINGS):
            path = self.folder / manifest_name(manifest.rank, again)
            with suppress(FileExistsError):
                _create(path, _bytes(manifest))
                self._manifest = path
                return
        raise FileExistsError(17, f"{_MOST_RECORDINGS} recordings of this rank", str(self.folder))

    def save(self, result: Profile | Trace) -> str:
        """Write what was recorded and return the file's name; it is on disk then."""
        assert self._manifest is not None
        name = f"{self._manifest.stem}{_SUFFIXES[type(result)]}"
        path = self.folder / name
        result.save(path)
        _sync(path)
        _sync(self.folder)
        return name

    def tell(self, manifest: RankManifest) -> None:
        """Put another manifest in the place of the first."""
        assert self._manifest is not None
        with replacing(self._manifest) as file:
            file.write(_bytes(manifest))
            file.flush()
            os.fsync(file.fileno())
        _sync(self.folder)


def _bytes(manifest: RankManifest) -> bytes:
    return f"{json.dumps(manifest.to_dict(), indent=1, allow_nan=False)}\n".encode()


def _create(path: Path, contents: bytes) -> None:
    """Write a new file that is whole from its first moment; FileExistsError where there is one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(contents)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            with path.open("xb") as file:
                file.write(contents)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, written to disk, where the file system can."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
