"""Names of baselines: a file for each gate of each test on each device, and no file for two."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

# What a name keeps as it is. Capitals of parameters are not: some file systems see none.
_IDENTIFIER, _PLAIN = re.compile(r"[\w-]+"), re.compile(r"[a-z0-9_-]+")
_LONGEST, _DIGITS = 40, 6


def baseline_stem(test: Sequence[str], parameters: str | None, gate: str) -> str:
    """Name what one gate of one test is held against, but for the device.

    Parts are separated by dots and hold none. A part that is no plain word is shortened to one, and
    then a ``~`` and a hash of the whole tell it from others that are shortened alike.

    Parameters
    ----------
    test
        Its module, the classes around it, and its function.
    parameters
        pytest's id of them, None without any.
    gate
        What tells several gates of one test apart; may be empty.

    Examples
    --------
    >>> baseline_stem(["test_matmul", "TestLong", "test_speed"], "1024-fp16", "")
    'test_matmul.TestLong.test_speed.1024-fp16'
    >>> baseline_stem(["test_matmul", "test_speed"], "a/b", "")
    'test_matmul.test_speed.a-b~c14cdd'
    """
    parts = [_part(part, _IDENTIFIER) for part in test]
    parts += [_part(part, _PLAIN) for part in (parameters, gate or None) if part is not None]
    return ".".join(parts)


def older_stem(name: str, gate: str) -> str:
    """Name the same as baselines were named that left out module, class, and what tells ids apart.

    Examples
    --------
    >>> older_stem("test_speed[a/b]", "")
    'test_speed-a-b'
    """
    return ".".join([slug(name), *([slug(gate)] if gate else [])])


def baselines(folder: Path, stem: str) -> list[Path]:
    """List the baselines of this stem, one a device: what follows it has no further dot."""
    wanted = re.compile(rf"{re.escape(stem)}\.[^.]+\.json")
    return sorted(path for path in folder.glob("*.json") if wanted.fullmatch(path.name))


def renamed(path: Path, stem: str) -> Path:
    """Give a baseline another stem."""
    return path.with_name(f"{stem}.{path.name.split('.')[-2]}.json")


def slug(text: str) -> str:
    """Shorten a text to lower-case words with hyphens between them."""
    return re.sub(r"[^\w]+", "-", text).strip("-").lower()


def _part(text: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(text) and (plain is _IDENTIFIER or len(text) <= _LONGEST):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
    return f"{slug(text)[:_LONGEST].rstrip('-')}~{digest}"
