"""Where an archive lies: files by name below one URL, on any file system that fsspec knows."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from protonlab.errors import MissingDependencyError, ProtonLabError
from protonlab.model.writing import replacing
from protonlab.runs._patience import insist

Result = TypeVar("Result")

# Stores in which a file is there as a whole or not at all, without a name to write it under first.
_WHOLE = frozenset({"abfs", "abfss", "adl", "az", "gcs", "gs", "memory", "oci", "oss", "s3", "s3a"})


@dataclass(frozen=True, eq=False)
class Store:
    """A folder of an archive, to read and to write; it may be sent to another process.

    A call that fails for a passing reason is made again, up to five times.

    Parameters
    ----------
    url
        Path or URL, as it was given.
    options
        What fsspec is to be told for such a URL (``storage_options`` elsewhere).
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "options": self.options}  # each process opens its own

    @cached_property
    def _place(self) -> tuple[Any, str]:
        try:
            import fsspec  # optional: archives and folders of runs need it
        except ImportError as error:
            raise MissingDependencyError(
                f"an archive is reached through fsspec ({error}); pip install 'protonlab[cluster]'"
            ) from error
        try:
            system, path = fsspec.core.url_to_fs(self.url, **self.options)
        except ImportError as error:
            raise MissingDependencyError(f"{self.url}: {error}") from error
        except (OSError, TypeError, ValueError) as error:
            raise ProtonLabError(
                f"{self.url!r}: {error}. Give a folder, or a URL that fsspec knows, such as "
                "s3://bucket/archive, gs://bucket/archive or sftp://host/archive"
            ) from error
        return system, path.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine, or of what is mounted here."""
        return "file" in self._protocols

    @property
    def is_in_memory(self) -> bool:
        """Whether it lives in this process alone."""
        return "memory" in self._protocols

    @property
    def _protocols(self) -> set[str]:
        protocol = self._place[0].protocol
        return {protocol} if isinstance(protocol, str) else {*protocol}

    def path(self, name: str) -> str:
        """Write what the file system calls a file of the archive."""
        return f"{self._place[1]}/{name}" if name else self._place[1]

    def read(self, name: str) -> bytes:
        """Return the contents of a file.

        Raises
        ------
        FileNotFoundError
            If it is not there.
        ProtonLabError
            If the store goes on failing.
        """
        system = self._place[0]
        data: bytes = self._insist(lambda: system.cat_file(self.path(name)), name)
        return data

    def read_all(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the contents of several files, None of those that are not there.

        Where the store can, they are read at the same time.
        """
        if not names:
            return []
        paths = [self.path(name) for name in names]
        found = self._place[0].cat(paths, on_error="return")
        result: list[bytes | None] = []
        for path, name in zip(paths, names, strict=True):
            data = found.get(path)
            try:
                result.append(data if isinstance(data, bytes) else self.read(name))
            except FileNotFoundError:
                result.append(None)
        return result

    def write(self, name: str, data: bytes) -> None:
        """Write a file that is whole or not there, whenever this process ends.

        Raises
        ------
        ProtonLabError
            If the store refuses it, or goes on failing.
        """
        try:
            if self.is_local:
                self._insist(lambda: self._write_here(name, data), name)
            elif self._protocols & _WHOLE:
                self._insist(lambda: self._place[0].pipe_file(self.path(name), data), name)
            else:
                self._write_aside(name, data)
        except FileNotFoundError as error:  # of the place: a bucket is not made by the way
            raise ProtonLabError(f"{self.url}: {name} cannot be written: {error}") from error

    def _write_here(self, name: str, data: bytes) -> None:
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(data)

    def _write_aside(self, name: str, data: bytes) -> None:
        """Write under another name first; each step is made again by itself."""
        system, path = self._place[0], self.path(name)
        folder, _, last = path.rpartition("/")
        temporary = f"{folder}/.{last}.{secrets.token_hex(8)}"
        self._insist(lambda: system.makedirs(folder, exist_ok=True), name)
        try:
            self._insist(lambda: system.pipe_file(temporary, data), name)
            if type(system).mv is not _abstract().mv:
                self._insist(lambda: system.mv(temporary, path), name)
                return
            self._insist(lambda: system.cp_file(temporary, path), name)
        except BaseException:
            with contextlib.suppress(OSError, ProtonLabError):
                system.rm_file(temporary)
            raise
        self._insist(lambda: system.rm_file(temporary), name)

    def remove(self, name: str) -> None:
        """Delete a file; none there is no error."""

        def delete() -> None:
            try:
                self._place[0].rm_file(self.path(name))
            except FileNotFoundError:
                return

        self._insist(delete, name)

    def files(self, folder: str = "") -> dict[str, int]:
        """List the files of one folder: name within it -> bytes; empty where there is none."""
        return {
            each["name"].rstrip("/").rsplit("/", 1)[-1]: int(each["size"] or 0)
            for each in self._listed(folder)
            if each["type"] == "file"
        }

    def tree(self) -> dict[str, int]:
        """List the files in all folders: name within the archive -> bytes."""
        system, path = self._place

        def find() -> dict[str, int]:
            system.invalidate_cache(path)
            found = system.find(path, detail=True)
            return {name[len(path) + 1 :]: int(each["size"] or 0) for name, each in found.items()}

        return self._insist(find, "")

    def modified(self, name: str) -> datetime | None:
        """When a file was written last (UTC); None where it is gone.

        Raises
        ------
        ProtonLabError
            If the store does not tell.
        """
        system, path = self._place[0], self.path(name)
        try:
            when: datetime = self._insist(lambda: system.modified(path), name)
        except FileNotFoundError:
            return None
        except NotImplementedError as error:
            raise ProtonLabError(
                f"{self.url}: this store does not tell when files were written, so what is left "
                "of an append cannot be told from what another writes now"
            ) from error
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)

    def names(self, folder: str = "") -> list[str]:
        """Names of files and folders in one folder, in order."""
        return sorted(each["name"].rstrip("/").rsplit("/", 1)[-1] for each in self._listed(folder))

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        system, path = self._place[0], self.path(folder)

        def ls() -> list[dict[str, Any]]:
            system.invalidate_cache(path)
            try:
                found: list[dict[str, Any]] = system.ls(path, detail=True)
            except FileNotFoundError:
                return []
            return [each for each in found if each["name"].rstrip("/") != path]

        return self._insist(ls, folder)

    def _insist(self, call: Callable[[], Result], name: str) -> Result:
        return insist(call, f"{self.url}: {name or 'the folder'}")


def _abstract() -> Any:
    import fsspec

    return fsspec.AbstractFileSystem


def store_at(url: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Store:
    """Open a store, and see that its file system is there; raises as its methods do."""
    if not isinstance(url, (str, os.PathLike)):
        raise ProtonLabError(f"an archive has a path or a URL, and {url!r} is none")
    text = os.fspath(url)
    store = Store(text, dict(options or {}))
    path = store.path("")
    if store.is_local:
        if Path(path).is_file():
            raise ProtonLabError(f"{text} is a file; give the folder of an archive")
        if "://" not in text and "::" not in text:  # a worker may stand in another folder
            store = Store(path, store.options)
    return store
