"""A run's folder as a Run: what is whole, what is missing, and what was found amiss."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.formats import load
from protonlab.model import Profile, Trace
from protonlab.model.manifest import MANIFEST_NAME, RankManifest
from protonlab.model.run import Run
from protonlab.model.sentences import some
from protonlab.runs._ending import Ending
from protonlab.runs._folder import Folder

# What an archive's folder holds.
ARCHIVE_MARKER = "protonlab-archive.json"
_MOST_NAMES = 8
# So many ranks that ended alike are told of one by one.
_FEW_ALIKE = 3


def load_run(folder: str | os.PathLike[str]) -> Run:
    """Load what the ranks of one job recorded.

    A rank that was killed has a manifest and no profile: it is among `Run.missing`, and the others
    are read. One that failed is read as far as it came. Of a rank that was recorded more than once
    the last complete recording counts. What is amiss becomes one of `Run.warnings`.

    Parameters
    ----------
    folder
        Path or URL (fsspec's) of the folder that ``protonlab run`` or a `RankSession`
        wrote.

    Raises
    ------
    ProtonLabError
        If there is no such folder, or no manifest of a rank in it.
    MissingDependencyError
        If fsspec, or what it needs for such a URL, is not there.

    Examples
    --------
    >>> run = protonlab.load_run("runs/2026-11-30")  # doctest: +SKIP
    >>> run.missing  # doctest: +SKIP
    (2,)
    """
    place = Folder.at(folder)
    reading = read_ranks(place, manifest_names(place))
    return Run(place.name, reading.profiles, reading.manifests, reading.traces, reading.warnings)


def manifest_names(place: Folder) -> dict[int, list[str]]:
    """Find the manifests of each rank in a run's folder, oldest first, in the order of ranks.

    Raises
    ------
    ProtonLabError
        If there is none.
    """
    names = place.names()
    found: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for name in names:
        match = MANIFEST_NAME.fullmatch(name)
        if match:
            found[int(match[1])].append((int(match[2] or 0), name))
    if not found:
        raise ProtonLabError(_no_manifest(place, names))
    return {rank: [name for _, name in sorted(found[rank])] for rank in sorted(found)}


def read_ranks(place: Folder, names: Mapping[int, Sequence[str]]) -> Reading:
    """Read what some ranks recorded: the names of their manifests, as `manifest_names` finds."""
    reading = Reading(place)
    for rank, own in names.items():
        reading.take(rank, own)
    return reading


@dataclass
class Reading:
    """A folder on its way into a run."""

    folder: Folder
    profiles: dict[int, Profile] = field(default_factory=dict)
    traces: dict[int, Trace] = field(default_factory=dict)
    manifests: dict[int, RankManifest] = field(default_factory=dict)
    _warnings: list[str] = field(default_factory=list)
    _not_whole: defaultdict[Ending, list[tuple[int, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _parsed: dict[bytes, Any] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found amiss; of many ranks that ended in the same way, once for all."""
        found: list[str] = []
        for end, who in self._not_whole.items():
            if len(who) > _FEW_ALIKE:
                found.append(end.of_many([rank for rank, _ in who]))
            else:
                found += [
                    end.of_one(rank, name, self.manifests[rank].started) for rank, name in who
                ]
        return (*found, *self._warnings)

    def take(self, rank: int, names: Sequence[str]) -> None:
        """Read a rank's manifests, oldest first, and what the one that counts names."""
        manifests = self._manifests(rank, names)
        if not manifests:
            return
        complete = [name for name, manifest in manifests.items() if manifest.complete]
        counts = complete[-1] if complete else [*manifests][-1]
        self.manifests[rank] = manifest = manifests[counts]
        if len(complete) > 1:
            self._warnings.append(
                f"Rank {rank} was recorded {len(complete)} times, in {', '.join(complete)}; "
                f"the last, {counts}, counts."
            )
        if not complete or not manifest.files:
            end = Ending(manifest.state, manifest.error or "", bool(manifest.files))
            self._not_whole[end].append((rank, counts))
        self._load(rank, counts, manifest)

    def _manifests(self, rank: int, names: Sequence[str]) -> Mapping[str, RankManifest]:
        found = {}
        for name in names:
            try:
                manifest = RankManifest.parse(self.folder.read(name), source=name)
            except (OSError, ProfileFormatError) as error:
                self._warnings.append(f"Rank {rank}: {error}")
                continue
            if manifest.rank != rank:
                self._warnings.append(
                    f"{name} says that it is of rank {manifest.rank}; it was passed over."
                )
                continue
            found[name] = manifest
        return found

    def _load(self, rank: int, name: str, manifest: RankManifest) -> None:
        for file in manifest.files:
            try:
                loaded = self._parse(self.folder.read(file))
            except FileNotFoundError:
                self._warnings.append(f"Rank {rank}: {name} names {file}, which is not there.")
            except (OSError, ProtonLabError) as error:
                self._warnings.append(f"Rank {rank}: {file} cannot be read: {error}")
            else:
                if isinstance(loaded, Profile):
                    self.profiles[rank] = loaded
                elif isinstance(loaded, Trace):
                    self.traces[rank] = loaded
                else:
                    self._warnings.append(
                        f"Rank {rank}: {file} is a {type(loaded).__name__}, no profile or trace."
                    )

    def _parse(self, data: bytes) -> Any:
        """Parse a file; what other ranks wrote alike, as those without a kernel do, only once."""
        key = hashlib.sha256(data).digest()
        if key not in self._parsed:
            self._parsed[key] = load(data)
        return self._parsed[key]


def _no_manifest(place: Folder, names: Sequence[str]) -> str:
    if ARCHIVE_MARKER in names:
        return f"{place.url} is an archive; protonlab.Archive({place.url!r}) opens it"
    folders = [f"{name}/" for name in place.names("directory")]
    held = some([*names, *folders], _MOST_NAMES)
    return (
        f"{place.url} holds no manifest of a rank (rank-00000.json), so it is no run's folder; "
        f"`protonlab run` writes one. It holds: {held or 'nothing'}. Files that Proton itself "
        "wrote make a run with Run.from_profiles({0: load(…), 1: load(…)})"
    )
