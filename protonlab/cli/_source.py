"""What a command reads: a profile or trace from a file, or one of a report's profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from protonlab.errors import ProtonLabError

if TYPE_CHECKING:
    from protonlab.model import Profile

SOURCE = click.Path(exists=True, dir_okay=False, path_type=Path)
Loaded = TypeVar("Loaded")
_MOST_NAMES, _LONGEST_NAME = 12, 76
_KINDS = {
    "EpilogueSweep": "a sweep",
    "Profile": "a profile",
    "Trace": "a trace",
    "VariantComparison": "a comparison of variants",
}


def choose(
    loaded: Loaded | dict[str, Profile], source: Path, name: str | None, option: str = "--name"
) -> Loaded | Profile:
    """Take the profile that is meant out of a report; leave what else was loaded.

    Raises
    ------
    ProtonLabError
        If a report holds several and none is named, or another is.
    """
    if not isinstance(loaded, Mapping):
        if name is not None:
            raise ProtonLabError(
                f"{option} {name}: {source} is no report, which would hold several"
            )
        return loaded
    held = ", ".join(map(repr, loaded)) or "no profile"
    if name is None:
        if len(loaded) == 1:
            return next(iter(loaded.values()))
        several = f"several profiles; choose with {option}: {held}" if loaded else held
        raise ProtonLabError(f"{source} holds {several}")
    if name not in loaded:
        raise ProtonLabError(f"{option} {name}: {source} holds {held}")
    return loaded[name]


def kind_of(found: object) -> str:
    """Say what was loaded, for a sentence."""
    name = type(found).__name__
    return _KINDS.get(name, f"of type {name}")


def read_source(source: Path, name: str | None = None, option: str = "--name") -> Any:
    """Load a file, or the profile that is meant of a report; ProtonLabError when it is none."""
    from protonlab.formats import load

    try:
        return choose(load(source), source, name, option)
    except OSError as error:
        raise ProtonLabError(f"{source}: {error.strerror}") from error


def no_kernel(labels: Iterable[object]) -> ProtonLabError:
    """Make the error of a filter that lets no kernel through; it says what they are called."""
    from protonlab.views.names import shortened

    names = [shortened(str(label), _LONGEST_NAME) for label in dict.fromkeys(labels)]
    more = [f"and {len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    head = (
        "no kernel matches; patterns are anchored at the start of the name, begin with .* to match "
        "anywhere. The names:"
    )
    return ProtonLabError("\n  ".join((head, *names[:_MOST_NAMES], *more)))


def stem_of(source: Path) -> str:
    """Name of a file without what says its format."""
    return source.name.removesuffix(".gz").rpartition(".")[0] or source.name


def read_profile_of(source: Path, name: str | None, option: str) -> Profile:
    """Load the profile of a file, by whose name it is called where it has none.

    Raises
    ------
    ProtonLabError
        If it holds something else.
    """
    from protonlab.model import Profile

    found = read_source(source, name, option)
    if not isinstance(found, Profile):
        raise ProtonLabError(
            f"{source} is {kind_of(found)}, and this needs a profile, a tree with sums; "
            f"protonlab view {source} shows what it is"
        )
    return replace(found, info=replace(found.info, name=found.info.name or stem_of(source)))
