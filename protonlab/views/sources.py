"""The profiles that a view was made of travel with it, so that a report can hold its numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, Protocol, Self, TypeVar

from protonlab.model import Profile
from protonlab.model.comparison import Comparison


class View(Protocol):
    """What keeps the profiles that it was made of, and carries them when it is displayed."""

    def made_of(self, profiles: tuple[Profile, ...]) -> Self:
        """Return this view with its profiles."""


Arguments = ParamSpec("Arguments")
Made = TypeVar("Made", bound=View)


def keeps_profiles(function: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
    """Let what a function returns keep the profiles and comparisons that it was given."""

    @functools.wraps(function)
    def view(*args: Arguments.args, **options: Arguments.kwargs) -> Made:
        return function(*args, **options).made_of(_profiles((*args, *options.values())))

    return view


def _profiles(arguments: Iterable[object]) -> tuple[Profile, ...]:
    found: dict[int, Profile] = {}  # each once: a comparison's sides may be one
    for argument in arguments:
        if isinstance(argument, Comparison):
            found |= {id(side): side for side in (argument.before, argument.after)}
        elif isinstance(argument, Profile):
            found[id(argument)] = argument
    return tuple(found.values())
