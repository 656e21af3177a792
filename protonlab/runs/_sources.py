"""What is put into an archive: the ranks of a run, in batches that a task can hold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.model.manifest import RankManifest
from protonlab.model.run import Run
from protonlab.runs._folder import Folder
from protonlab.runs._load_run import manifest_names, read_ranks
from protonlab.runs._patience import folder_at

# Ranks that one task reads, one after the other, and whose sums share a file.
BATCH = 32
_LONGEST_NAME = 180

Appendable = Run | Profile | Mapping[int, Profile] | str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some ranks of one run, at hand or in a folder.

    Parameters
    ----------
    run
        Name of the run.
    step
        Step that all of it belongs to; None: the first one that each rank recorded.
    profiles, manifests
        Rank -> what is at hand.
    folder
        Where the others are.
    names
        Rank -> names of its manifests in that folder.
    """

    run: str
    step: int | None = None
    profiles: Mapping[int, Profile] = field(default_factory=dict)
    manifests: Mapping[int, RankManifest] = field(default_factory=dict)
    folder: str = ""
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def read(self, warnings: list[str]) -> Iterator[tuple[Profile, dict[str, Any]]]:
        """Yield each whole profile and its row of a table of parts, one at a time.

        `warnings` takes sentences on ranks that have none.
        """
        for rank, profile in self.profiles.items():
            yield profile, self._row(rank, profile, self.manifests.get(rank))
        if not self.names:
            return
        place = folder_at(self.folder)
        for rank, names in self.names.items():
            found = read_ranks(place, {rank: names})
            warnings += found.warnings
            if found.traces and not found.profiles:
                warnings.append(f"Rank {rank} recorded a trace, and an archive holds profiles.")
            for profile in found.profiles.values():
                yield profile, self._row(rank, profile, found.manifests[rank])

    def _row(self, rank: int, profile: Profile, manifest: RankManifest | None) -> dict[str, Any]:
        info = profile.info
        uuids = {reading.uuid for reading in info.clocks}
        row = {
            "rank": rank,
            "step": self.step or 0,
            "frames": len(profile.frames),
            "started": info.when or None,
            "gpu": info.gpu or info.backend or None,
            "gpu_uuid": next(iter(uuids)) if len(uuids) == 1 else None,
            "versions": json.dumps(dict(sorted(info.versions.items()))),
        }
        if manifest is not None:
            row |= {
                "started": manifest.started,
                "steps": manifest.steps,
                "world_size": manifest.world_size,
                "host": manifest.host,
                "gpu": manifest.gpu_name or row["gpu"],
                "gpu_uuid": manifest.gpu_uuid or row["gpu_uuid"],
                "versions": json.dumps(
                    dict(sorted({**info.versions, **manifest.versions}.items()))
                ),
            }
            if self.step is None:
                row["step"] = manifest.first_step or 0
        return row


@dataclass(frozen=True, eq=False)
class Source:
    """A run to be appended.

    Parameters
    ----------
    run
        Its name.
    batches
        Its ranks.
    where
        Its folder, empty where it is at hand.
    problem
        Why there is nothing to append.
    """

    run: str
    batches: tuple[Batch, ...]
    where: str = ""
    problem: str = ""


def source_of(given: Appendable, name: str | None, step: int | None) -> Source:
    """Find the ranks of what a person wants to append.

    Raises
    ------
    ProtonLabError
        If it is no run, folder of one, or profile; or `name` or `step` is not legal.
    """
    if step is not None and (isinstance(step, bool) or not isinstance(step, int) or step < 0):
        raise ProtonLabError(f"step={step!r}; it is a whole number from 0 up")
    if isinstance(given, (str, os.PathLike)):
        return _of_folder(folder_at(given), name, step)
    if isinstance(given, Profile):
        given = Run(given.info.name, {0: given})
    elif isinstance(given, Mapping):
        given = Run("", given)
    if not isinstance(given, Run):
        raise ProtonLabError(
            f"a {type(given).__name__} cannot be appended; give a run's folder, a Run, a profile, "
            "or a mapping from ranks to profiles"
        )
    if not given.profiles:
        raise ProtonLabError(f"{given!r} has no profile to append")
    run = _checked_name(name if name is not None else given.name)
    ranks = list(given.profiles)
    batches = [
        Batch(
            run,
            step,
            {rank: given.profiles[rank] for rank in some},
            {rank: given.manifests[rank] for rank in some if rank in given.manifests},
        )
        for some in _some(ranks)
    ]
    return Source(run, tuple(batches))


def sources_of(folders: Sequence[str | os.PathLike[str]]) -> list[Source]:
    """Find the ranks of several folders; one that is no run's is a source with a problem."""
    if isinstance(folders, (str, os.PathLike)):
        raise ProtonLabError(
            f"ingest() takes several folders, such as sorted(Path({os.fspath(folders)!r})"
            ".iterdir()); append() takes one"
        )
    return [_of_one_of_many(folder) for folder in folders]


def _of_one_of_many(folder: str | os.PathLike[str]) -> Source:
    try:
        return source_of(folder, None, None)
    except ProtonLabError as error:
        if not isinstance(folder, (str, os.PathLike)):
            raise
        where = os.fspath(folder)
        return Source(where.rstrip("/").rpartition("/")[2] or where, (), where, str(error))


def _of_folder(place: Folder, name: str | None, step: int | None) -> Source:
    names = manifest_names(place)
    run = _checked_name(name if name is not None else place.name)
    # A worker need not stand in the folder that a path was typed in.
    address = place.path if "file" in place.system.protocol else place.url
    batches = [
        Batch(run, step, folder=address, names={rank: names[rank] for rank in some})
        for some in _some(list(names))
    ]
    return Source(run, tuple(batches), place.url)


def _some(ranks: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(ranks), BATCH):
        yield ranks[first : first + BATCH]


def _checked_name(name: str) -> str:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ProtonLabError(
            f"name={name!r}; a run in an archive needs a name, such as '2026-11-30'"
        )
    if len(quote(name, safe="")) > _LONGEST_NAME:
        raise ProtonLabError(
            f"name={name[:40]!r}… takes more than {_LONGEST_NAME} characters in the name of a "
            "file; give a shorter one with name="
        )
    return name
