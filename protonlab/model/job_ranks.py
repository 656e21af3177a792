"""Who of a job is there: its ranks with what they left, and those that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from protonlab.errors import ProtonLabError
from protonlab.model.manifest import RankManifest
from protonlab.model.profile import Profile
from protonlab.model.sentences import listed, printable
from protonlab.model.trace import Trace
from protonlab.model.units import counted


@dataclass(frozen=True, eq=False)
class JobRanks:
    """What the ranks of one job left: the fields of a `Run`, which tells of them, and who is there.

    Raises
    ------
    ProtonLabError
        If a rank is no whole number from 0 up, or what belongs to it is something else.
    """

    name: str
    profiles: Mapping[int, Profile]
    manifests: Mapping[int, RankManifest] = field(default_factory=dict)
    traces: Mapping[int, Trace] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("profiles", Profile), ("manifests", RankManifest), ("traces", Trace)):
            of_rank = _by_rank(name, getattr(self, name), kind)
            object.__setattr__(self, name, of_rank)

    @classmethod
    def from_profiles(
        cls,
        profiles: Mapping[int, Profile],
        *,
        name: str = "run",
        traces: Mapping[int, Trace] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Self:
        """Make a run of profiles, and traces, that are at hand.

        Parameters
        ----------
        profiles
            Rank -> its profile.
        name
            What to call the run.
        traces
            Rank -> its trace.
        warnings
            Sentences that a reader of the numbers should know.

        Examples
        --------
        >>> run = protonlab.Run.from_profiles({0: first, 1: second})  # doctest: +SKIP
        """
        return cls(name, profiles, traces=traces or {}, warnings=warnings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.summary}>"

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks whose profile or trace is at hand, in order."""
        return tuple(sorted({*self.profiles, *self.traces}))

    @property
    def world_size(self) -> int:
        """How many ranks the job had; without manifests one more than the last rank at hand."""
        stated = (manifest.world_size for manifest in self.manifests.values())
        return max([*stated, *(rank + 1 for rank in (*self.ranks, *self.manifests))], default=0)

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the job that left no whole profile or trace; none where manifests are absent."""
        if not self.manifests:
            return ()
        there = {*self.profiles, *self.traces}
        return tuple(rank for rank in range(self.world_size) if rank not in there)

    @property
    def summary(self) -> str:
        """One line: how many ranks, which are missing, and where they ran."""
        if not self.ranks:
            return f"no rank of {self.world_size}" if self.world_size else "no rank"
        parts = [counted(len(self.ranks), "rank")]
        if self.missing:
            parts = [f"{len(self.ranks)} of {counted(self.world_size, 'rank')}"]
            parts.append(f"missing: {listed(self.missing)}")
        held: tuple[Profile | Trace, ...] = (*self.profiles.values(), *self.traces.values())
        where = dict.fromkeys(part.info.gpu or part.info.backend for part in held)
        return ", ".join([*parts, *map(printable, filter(None, where))])


def _by_rank(name: str, given: Any, kind: type) -> dict[int, Any]:
    """Check a mapping from ranks, and put it in their order."""
    if not isinstance(given, Mapping):
        raise ProtonLabError(f"{name} maps ranks to their {name}, and is no {type(given).__name__}")
    for rank, value in given.items():
        if isinstance(rank, bool) or not isinstance(rank, int) or rank < 0:
            raise ProtonLabError(f"{name} has rank {rank!r}; a rank is a whole number from 0 up")
        if not isinstance(value, kind):
            raise ProtonLabError(
                f"{name}[{rank}] is a {type(value).__name__}, and should be a {kind.__name__}"
            )
    return {rank: given[rank] for rank in sorted(given)}
