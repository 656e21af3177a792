"""Profiles inside a report and inside a notebook's outputs: compressed, escaped, read back.

An output that shows a profile carries it under a mime type of its own, which front ends ignore;
that is where a report finds the numbers behind its figures.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from protonlab.errors import ProfileFormatError
from protonlab.formats.hatchet import MAX_DEPTH, MAX_FRAMES, read_hatchet
from protonlab.model import Profile
from protonlab.model.document import document
from protonlab.model.evidence import Evidence

PROFILES_MIME = "application/vnd.protonlab.profiles+json"
MEASURED_MIME = "application/vnd.protonlab.measured+json"
# A profile with more frames than this would make each output that shows it megabytes large.
MAX_EMBEDDED_FRAMES = 10_000
MAX_BYTES = 8 * 2**30

_GENERATOR = re.compile(rb'<meta name="generator" content="protonlab [^"]*">')
_STRIPPED = b'<meta name="protonlab-profiles" content="stripped">'
_BLOCK = re.compile(
    rb'<script type="application/json" id="protonlab-profiles">(.*?)</script>', re.DOTALL
)


@dataclass(frozen=True)
class Embedded:
    """A profile as text.

    Parameters
    ----------
    name
        What the profile is called; may be empty.
    frames
        How many frames it has.
    packed
        Its document, zlib in base64; empty where it is too large to travel or cannot be written.
    """

    name: str
    frames: int
    packed: str

    @classmethod
    def of(cls, profile: Profile) -> Embedded:
        """Pack a profile, unless it has more than `MAX_EMBEDDED_FRAMES` frames."""
        count, packed = len(profile.frames), ""
        if count <= MAX_EMBEDDED_FRAMES:
            with suppress(ValueError, TypeError):  # a value that JSON has no word for
                packed = pack("".join(document(profile)))
        return cls(profile.info.name, count, packed)

    @classmethod
    def read(cls, value: Any) -> Embedded:
        """Check what an output or a page holds; ProfileFormatError when it is something else."""
        name, frames, packed = (
            (value.get("name"), value.get("frames"), value.get("profile"))
            if isinstance(value, Mapping)
            else (None, None, None)
        )
        if not (isinstance(name, str) and type(frames) is int and isinstance(packed, str)):
            raise ProfileFormatError("an embedded profile lacks its name, frames or profile")
        return cls(name, frames, packed)

    def as_json(self) -> dict[str, Any]:
        """Plain values that `read` takes."""
        return {"name": self.name, "frames": self.frames, "profile": self.packed}

    def profile(
        self,
        *,
        source: str = "an embedded profile",
        max_depth: int = MAX_DEPTH,
        max_frames: int = MAX_FRAMES,
        max_bytes: int = MAX_BYTES,
    ) -> Profile:
        """Unpack the profile, within bounds; ProfileFormatError when it is none."""
        text = unpack(self.packed, source=source, max_bytes=max_bytes)
        return read_hatchet(text, source=source, max_depth=max_depth, max_frames=max_frames)


def pack(text: str) -> str:
    """Compress text into letters that HTML and JSON leave alone."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(packed: str, *, source: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Undo `pack`.

    Raises
    ------
    ProfileFormatError
        If it is something else, is cut off, or unpacks to more than `max_bytes`.
    """
    decoder = zlib.decompressobj()
    try:
        text = decoder.decompress(base64.b64decode(packed, validate=True), max_bytes)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ProfileFormatError(f"{source}: damaged: {error}") from None
    if decoder.unconsumed_tail:
        raise ProfileFormatError(
            f"{source}: more than max_bytes={max_bytes} when unpacked; pass a larger max_bytes to "
            "load it"
        )
    if not decoder.eof:
        raise ProfileFormatError(f"{source}: cut off")
    return text


def output_of(profiles: Iterable[Profile], measured: Iterable[Evidence] = ()) -> dict[str, Any]:
    """Part of an output's bundle for a report: profiles, and how what it shows was measured."""
    bundle = {
        PROFILES_MIME: [Embedded.of(profile).as_json() for profile in profiles],
        MEASURED_MIME: [each.as_json() for each in measured],
    }
    return {kind: values for kind, values in bundle.items() if values}


def measured_by(bundle: Mapping[str, Any]) -> list[Evidence]:
    """Find how what an output shows was measured; what is damaged is passed over."""
    found = bundle.get(MEASURED_MIME)
    read = map(Evidence.read, found if isinstance(found, list) else ())
    return [each for each in read if each is not None]


def carried_by(bundle: Mapping[str, Any]) -> list[Embedded]:
    """Find profiles in an output of a stored notebook; what is damaged is passed over."""
    found = bundle.get(PROFILES_MIME)
    result = []
    for value in found if isinstance(found, list) else ():
        try:
            result.append(Embedded.read(value))
        except ProfileFormatError:
            continue
    return result


def block_of(profiles: Mapping[str, str]) -> str:
    """HTML element of a page that `read_report` finds again.

    Parameters
    ----------
    profiles
        Name -> what `pack` made of the profile's document.
    """
    text = json.dumps(dict(profiles), ensure_ascii=True, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="protonlab-profiles">{escaped}</script>'


def names_of(names: Sequence[str]) -> list[str]:
    """Tell profiles apart that are called the same, or nothing: ``run1``, ``run1_2``."""
    result: list[str] = []
    for name in names:
        stem = wanted = name or "profile"
        number = 1
        while wanted in result:
            number += 1
            wanted = f"{stem}_{number}"
        result.append(wanted)
    return result


def is_report(data: bytes) -> bool:
    """Whether this is a page that protonlab wrote."""
    return _GENERATOR.search(data[:4096]) is not None


def read_report(
    data: bytes,
    *,
    source: str,
    max_depth: int = MAX_DEPTH,
    max_frames: int = MAX_FRAMES,
    max_bytes: int = MAX_BYTES,
) -> dict[str, Profile]:
    """Read the profiles behind the figures of a report.

    Parameters
    ----------
    data
        The page.
    source
        What to call it in errors: its path.
    max_depth, max_frames
        Largest tree to accept.
    max_bytes
        Largest document of one profile, unpacked.

    Returns
    -------
    dict of str to Profile
        In the order of the page; empty when its notebook showed none.

    Raises
    ------
    ProfileFormatError
        If the page is no report of protonlab's, was written without its data, or is damaged.
    """
    if not is_report(data):
        raise ProfileFormatError(
            f"{source}: an HTML page, but no report that protonlab wrote; write one with "
            "protonlab report NOTEBOOK.ipynb"
        )
    if _STRIPPED in data[:4096]:
        raise ProfileFormatError(
            f"{source}: this report was written with --strip-data, so it shows its profiles but "
            "does not hold them; write it without that option"
        )
    found = _BLOCK.search(data)
    if found is None:
        return {}
    try:
        stored = json.loads(found[1])
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict) or not all(isinstance(each, str) for each in stored.values()):
        raise ProfileFormatError(f"{source}: the block of embedded profiles is damaged")
    return {
        name: Embedded(name, 0, packed).profile(
            source=f"{source}: profile {name!r}",
            max_depth=max_depth,
            max_frames=max_frames,
            max_bytes=max_bytes,
        )
        for name, packed in stored.items()
    }
