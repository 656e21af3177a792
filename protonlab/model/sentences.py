"""Ranks, and names out of files, as sentences hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MOST_RANKS, _LONGEST_NAME = 12, 60
# Control characters, lone surrogates, what XML does not allow, and marks that turn the direction of
# the text around them.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def listed(ranks: Sequence[int]) -> str:
    """Write ranks for a person, runs of them as ``3 to 7``, at most a dozen pieces."""
    pieces: list[list[int]] = []
    for rank in ranks:
        if pieces and rank == pieces[-1][1] + 1:
            pieces[-1][1] = rank
        else:
            pieces.append([rank, rank])
    texts: list[str] = []
    for first, last in pieces:
        texts += [f"{first} to {last}"] if last > first + 1 else map(str, range(first, last + 1))
    return some(texts, _MOST_RANKS)


def some(names: Sequence[str], most: int) -> str:
    """Write the first of many names, and how many more there are: ``a, b and 3 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def first_of(sentences: Sequence[str], most: int = 3) -> str:
    """Write the first sentences of many."""
    more = len(sentences) - most
    return " ".join(sentences[:most]) + (f" And {more:,} more like that." if more > 0 else "")


def cleaned(name: str) -> str:
    """Replace what cannot be printed, or what a terminal would obey, by a visible mark."""
    return _UNPRINTABLE.sub("\ufffd", name)


def cleaned_lines(text: str) -> str:
    """Clean words of several lines that hold names out of files."""
    return "\n".join(map(cleaned, text.split("\n")))


def printable(name: str, longest: int = _LONGEST_NAME) -> str:
    """Clean a name from a file, and shorten it."""
    text = cleaned(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def on_ranks(ranks: Sequence[int]) -> str:
    """Write ``rank 3`` or ``ranks 0 to 7``."""
    return f"rank{'' if len(ranks) == 1 else 's'} {listed(ranks)}"
