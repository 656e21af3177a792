"""Profiles, folders of runs and stores that fail, for tests of archives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from builders import document, kernel

from protonlab import Profile
from protonlab.formats import read_profile
from protonlab.model import ProfileInfo
from protonlab.model.manifest import RankManifest, manifest_name


def recorded(*kernels: Any, when: str = "", **info: Any) -> Profile:
    """A profile of these kernels."""
    profile = read_profile(document(*kernels))
    return replace(profile, info=ProfileInfo(when=when, **info))


def night(number: int, time_ns: int, *, count: int = 10, **info: Any) -> Profile:
    """What a rank recorded of one kernel in one of many nights."""
    return recorded(
        kernel("matmul", time_ns, count, bytes=1000),
        when=f"2026-11-{number + 1:02d}T03:00:00+00:00",
        **info,
    )


def write_run(folder: Path, profiles: dict[int, Profile], **values: Any) -> Path:
    """Write the folder that the ranks of a run leave."""
    folder.mkdir(parents=True)
    for rank, profile in profiles.items():
        name = manifest_name(rank)
        file = name.replace(".json", ".hatchet")
        profile.save(folder / file)
        started = profile.info.when or "2026-11-30T07:30:00+00:00"
        stated = {
            **{"world_size": len(profiles), "files": (file,)},
            **{"host": f"node{rank}", "gpu_uuid": f"GPU-{rank}"},
        }
        manifest = RankManifest(rank=rank, state="complete", started=started, **stated | values)
        (folder / name).write_text(json.dumps(manifest.to_dict()))
    return folder


# A test module that imports this one is skipped where an archive cannot be.
for _name in ("pyarrow", "dask.dataframe", "distributed", "fsspec", "ruptures"):
    pytest.importorskip(_name, reason="needs the packages of pip install 'protonlab[cluster]'")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402


class Flaky(MemoryFileSystem):
    """A store of which every third call fails; it knows no rename."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    calls = 0
    fails = True
    # Called with the path before a file is written.
    before_write: ClassVar[list[Callable[[str], None]]] = []

    def _count(self) -> None:
        Flaky.calls += 1
        if Flaky.fails and Flaky.calls % 3 == 0:
            raise ConnectionResetError("try again")

    def cat_file(self, path: str, **kwargs: Any) -> bytes:
        self._count()
        data: bytes = super().cat_file(path, **kwargs)
        return data

    def pipe_file(self, path: str, value: bytes, **kwargs: Any) -> None:
        for call in list(Flaky.before_write):
            call(path)
        self._count()
        super().pipe_file(path, value, **kwargs)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        self._count()
        super().cp_file(path1, path2, **kwargs)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        self._count()
        return super().ls(path, detail=detail, **kwargs)

    def rm_file(self, path: str) -> None:
        self._count()
        self._rm(path)


class FlakyBucket(Flaky):
    """The same, in which a file is there as a whole or not at all, as in S3."""

    protocol = ("flakybucket", "s3")
