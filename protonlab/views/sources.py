"""What a view was made of travels with it, so that a report can hold its numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from protonlab.formats.embedded import MAX_EMBEDDED_FRAMES, output_of
from protonlab.model import Profile, Run, VariantComparison
from protonlab.model.comparison import Comparison


@dataclass(frozen=True)
class Sources:
    """Profiles and comparisons that a view shows.

    Parameters
    ----------
    profiles
        Each once; both sides of a comparison of two profiles, and the ranks of a small run.
    variants
        Comparisons of variants.
    """

    profiles: tuple[Profile, ...] = ()
    variants: tuple[VariantComparison, ...] = ()

    @classmethod
    def among(cls, arguments: Iterable[object]) -> Self:
        """Find what a view's arguments hold."""
        profiles: dict[int, Profile] = {}  # each once: a comparison's sides may be one
        variants = []
        for argument in arguments:
            if isinstance(argument, Comparison):
                profiles |= {id(side): side for side in (argument.before, argument.after)}
            elif isinstance(argument, Profile):
                profiles[id(argument)] = argument
            elif isinstance(argument, Run):
                profiles |= {id(own): own for own in _of_ranks(argument)}
            elif isinstance(argument, VariantComparison):
                variants.append(argument)
        return cls(tuple(profiles.values()), tuple(variants))

    def bundle(self) -> dict[str, Any]:
        """Part of an output's bundle that carries them."""
        return output_of(self.profiles, self.variants)


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
