"""A folder to read from, on this machine or behind a URL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from protonlab.errors import MissingDependencyError, ProtonLabError


class _Local:
    """Files of this machine, as fsspec would show them, at half the cost of a small one."""

    protocol = ("file",)
    isdir, exists = staticmethod(os.path.isdir), staticmethod(os.path.exists)

    def ls(self, path: str, detail: bool) -> list[dict[str, str]]:
        return [
            {"name": each.path, "type": "file" if each.is_file() else "directory"}
            for each in os.scandir(path)
        ]

    def cat_file(self, path: str) -> bytes:
        return Path(path).read_bytes()


def _system_of(where: str) -> tuple[Any, str]:
    """File system of a path or URL, and what it calls it."""
    if "://" not in where and "::" not in where:
        # Not resolve(): a link keeps its name, which is the run's.
        return _Local(), os.path.abspath(Path(where).expanduser())  # noqa: PTH100
    try:
        import fsspec  # optional: what lies elsewhere needs it
    except ImportError as error:
        raise MissingDependencyError(
            f"{where} is read through fsspec ({error}); pip install 'protonlab[cluster]'"
        ) from error
    system, path = fsspec.core.url_to_fs(where)
    return system, path


@dataclass(frozen=True)
class Folder:
    """A folder: of this machine, or what fsspec reaches.

    Parameters
    ----------
    url
        As it was given.
    path
        What its file system calls it.
    system
        The file system, fsspec's or one with these of its methods: ``isdir``, ``exists``, ``ls``,
        ``cat_file``.
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
            If nothing is there, a file is, fsspec cannot reach it, or `url` is neither.
        MissingDependencyError
            If fsspec, or what it needs for such a URL, is not there.
        """
        if not isinstance(url, str | os.PathLike):
            raise ProtonLabError(
                f"a folder is named by its path or URL, not by a {type(url).__name__}"
            )
        where = os.fspath(url)
        try:
            system, path = _system_of(where)
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

    def names(self, kind: Literal["file", "directory"] = "file") -> list[str]:
        """Names of the files, or folders, in it, in order."""
        found = self.system.ls(self.path, detail=True)
        return sorted(
            each["name"].rstrip("/").rsplit("/", 1)[-1] for each in found if each["type"] == kind
        )

    def read(self, name: str) -> bytes:
        """Contents of one of its files; OSError where it cannot be read."""
        data: bytes = self.system.cat_file(f"{self.path.rstrip('/')}/{name}")
        return data
