"""Files to profiles: `load` recognises a file by what is in it."""

from __future__ import annotations

import os
from pathlib import Path

from protonlab.errors import ProfileFormatError
from protonlab.formats.hatchet import read_hatchet
from protonlab.model import Profile, ProfileInfo

__all__ = ["load"]

_MSGPACK_ARRAYS = (*range(0x90, 0xA0), 0xDC, 0xDD)


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    info: ProfileInfo | None = None,
    max_depth: int = 10_000,
    max_frames: int = 20_000_000,
) -> Profile:
    """Load a profile: Proton's tree as JSON or msgpack, or a profile saved by protonlab.

    Parameters
    ----------
    source
        Path of a file, or its contents.
    info
        How the profile came to be; by default what the file says.
    max_depth, max_frames
        Largest tree to accept; a larger one is an error, not a crash.

    Returns
    -------
    Profile

    Raises
    ------
    ProfileFormatError
        If the contents are no profile; the message names file, place and expectation.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> profile = protonlab.load("proton.hatchet")  # doctest: +SKIP
    """
    if isinstance(source, bytes):
        data, name = source, "profile data"
    elif isinstance(source, (str, os.PathLike)):
        data, name = Path(source).read_bytes(), os.fspath(source)
    else:
        raise TypeError(f"load() takes a path or bytes, not {type(source).__name__}")
    start = data[:4096].lstrip()
    if start[:1] == b"[" or (data and data[0] in _MSGPACK_ARRAYS):
        return read_hatchet(
            data, source=name, info=info, max_depth=max_depth, max_frames=max_frames
        )
    raise ProfileFormatError(f"{name}: {_seen(data, start)}; expected a tree that Proton wrote")


def _seen(data: bytes, start: bytes) -> str:
    """Say what the data looks like instead."""
    if not data:
        return "empty"
    if start[:1] == b"{" and b"traceEvents" in data[:4096] + data[-4096:]:
        return "a chrome trace (data='trace'), which this version does not read"
    if start[:1] == b"{":
        return "a JSON object, no list"
    if start[:1] == b"<":
        return "an HTML or XML page"
    return f"unknown contents, starting with {data[:12]!r}"
