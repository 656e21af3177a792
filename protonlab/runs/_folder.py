"""A folder to read from, on this machine or behind a URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from protonlab.errors import MissingDependencyError, ProtonLabError


@dataclass(frozen=True)
class Folder:
    """A folder, through fsspec.

    Parameters
    ----------
    url
        As it was given.
    path
        What its file system calls it.
    system
        The file system, fsspec's.
    """

    url: str
    path: str
    system: Any

    @classmethod
    def at(cls, url: str | os.PathLike[str]) -> Folder:
        """Open a folder.

        Parameters
        ----------
        url
            Path of a folder, or a URL that fsspec knows, such as ``s3://bucket/run``.

        Raises
        ------
        ProtonLabError
            If nothing is there, a file is, or fsspec cannot reach it.
        MissingDependencyError
            If fsspec, or what it needs for such a URL, is not there.
        """
        try:
            import fsspec  # optional: folders of runs alone need it
        except ImportError as error:
            raise MissingDependencyError(
                f"a run's folder is read through fsspec ({error}); pip install 'protonlab[cluster]'"
            ) from error
        where = os.fspath(url)
        try:
            system, path = fsspec.core.url_to_fs(where)
            folder = cls(where, path, system)
            if not system.isdir(path):
                what = "is a file" if system.exists(path) else "is not there"
                raise ProtonLabError(f"{where} {what}; give the folder of a run")
        except ImportError as error:
            raise MissingDependencyError(f"{where}: {error}") from error
        except (OSError, ValueError) as error:
            raise ProtonLabError(f"{where}: {error}") from error
        return folder

    @property
    def name(self) -> str:
        """Last part of its path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1] or self.url

    def names(self) -> list[str]:
        """Names of the files in it, in order."""
        found = self.system.ls(self.path, detail=True)
        return sorted(
            each["name"].rstrip("/").rsplit("/", 1)[-1] for each in found if each["type"] == "file"
        )

    def read(self, name: str) -> bytes:
        """Contents of one of its files; OSError where it cannot be read."""
        data: bytes = self.system.cat_file(f"{self.path.rstrip('/')}/{name}")
        return data
