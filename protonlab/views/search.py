"""Searching a tree by the names of its nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from protonlab.errors import ProtonLabError
from protonlab.model import format_quantity
from protonlab.model.frames import BoolArray
from protonlab.views.tree import Tree


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Parameters
    ----------
    pattern
        The regular expression, as it was given.
    frames
        Rows of the frame table whose name or label holds it, shape (n,); never the root.
    part
        Share of the whole that they take, 0 to 1. One that lies in another counts once.
    """

    pattern: str
    frames: BoolArray
    part: float

    def said(self, what: str) -> str:
        """Say it: ``matched 34.1 % of time``."""
        return f"matched {format_quantity(self.part * 100, '%')} of {what}"


def find(tree: Tree, pattern: str) -> Found:
    """Search names and labels, wherever in them, without regard to case.

    Parameters
    ----------
    tree
        The tree of the frame table itself, not one that was turned over: the share is the same.
    pattern
        A regular expression.

    Raises
    ------
    ProtonLabError
        If `pattern` is no regular expression.
    """
    if not isinstance(pattern, str):
        raise ProtonLabError(f"search={pattern!r}; give a regular expression such as 'matmul'")
    try:
        regex = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ProtonLabError(
            f"search={pattern!r} is not a regular expression: {error.msg} at position {error.pos}; "
            "write \\( for a plain parenthesis"
        ) from error
    frames = np.zeros(len(tree.frames), dtype=np.bool_)
    for column in ("name", "label"):
        texts = tree.frames[column].astype("category").cat
        hits = np.array([regex.search(str(text)) is not None for text in texts.categories], bool)
        codes = texts.codes.to_numpy()
        frames |= (codes >= 0) & np.append(hits, False)[codes]
    frames[0] = False
    counted = frames & tree.shown
    inside = tree.below(counted)
    highest = counted & ~inside[tree.parent]
    part = float(np.nansum(tree.value[highest])) / float(tree.value[0])
    return Found(pattern, frames, part)
