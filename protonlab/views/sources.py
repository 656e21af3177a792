"""What a view was made of travels with it, so that a report can hold its numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from protonlab.formats.embedded import MAX_EMBEDDED_FRAMES, output_of
from protonlab.model import Profile, Run, Trace, VariantComparison
from protonlab.model.comparison import Comparison
from protonlab.model.epilogue_sweep import EpilogueSweep
from protonlab.model.evidence import Evidence


@dataclass(frozen=True)
class Sources:
    """What a view shows.

    Parameters
    ----------
    profiles
        Each once; both sides of a comparison, and the ranks of a small run.
    measured
        How those, and traces and runs, were measured.
    """

    profiles: tuple[Profile, ...] = ()
    measured: tuple[Evidence, ...] = ()

    @classmethod
    def among(cls, arguments: Iterable[object]) -> Self:
        """Find what a view's arguments hold."""
        profiles: dict[int, Profile] = {}  # each once: a comparison's sides may be one
        measured: list[Evidence] = []
        for argument in arguments:
            carried: Iterable[Profile] = ()
            if isinstance(argument, Comparison):
                carried = (argument.before, argument.after)
                measured += map(Evidence.of, carried)
            elif isinstance(argument, Run):
                carried = _of_ranks(argument)
                measured.append(Evidence.of_run(argument))
            elif isinstance(argument, VariantComparison) and len(argument):
                carried = argument.profiles or ()
                measured.append(Evidence.of_variants(argument))
            elif isinstance(argument, EpilogueSweep):
                measured.append(Evidence.of_sweep(argument))
            elif isinstance(argument, Profile | Trace):
                carried = (argument,) if isinstance(argument, Profile) else ()
                measured.append(Evidence.of(argument))
            profiles |= {id(each): each for each in carried}
        return cls(tuple(profiles.values()), tuple(dict.fromkeys(measured)))

    def bundle(self) -> dict[str, Any]:
        """Part of an output's bundle that carries them."""
        return output_of(self.profiles, self.measured)


def _of_ranks(run: Run) -> list[Profile]:
    """Profiles of a run's ranks, called after them; none of a run that would make pages large."""
    if sum(len(profile.frames) for profile in run.profiles.values()) > MAX_EMBEDDED_FRAMES:
        return []
    return [
        replace(profile, info=replace(profile.info, name=f"{run.name}, rank {rank}"))
        for rank, profile in run.profiles.items()
    ]


class View(Protocol):
    """What keeps what it was made of, and carries it when it is displayed."""

    def made_of(self, sources: Sources) -> Self:
        """Return this view with its sources."""


Arguments = ParamSpec("Arguments")
Made = TypeVar("Made", bound=View)


def keeps_sources(function: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
    """Let what a function returns keep the profiles and comparisons that it was given."""

    @functools.wraps(function)
    def view(*args: Arguments.args, **options: Arguments.kwargs) -> Made:
        sources = Sources.among((*args, *options.values()))
        return function(*args, **options).made_of(sources)

    return view
