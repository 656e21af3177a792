"""One option of a recording: what it is called, what is legal, and how its text is read."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from protonlab.capture.modes import Mode
from protonlab.errors import ProtonLabError
from protonlab.model.filters import compile_pattern

Kind = Literal[
    "regex", "choice", "list", "name", "number", "mode", "ranks", "steps", "text", "flag"
]
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


@dataclass(frozen=True)
class Option:
    """One option, as every front end shows and checks it.

    Parameters
    ----------
    name
        Keyword in Python, ``name=value`` in the magic, ``--name value`` on the command line.
    kind
        ``"regex"``, ``"choice"`` (one of `choices`), ``"list"`` (comma-separated; of `choices`
        where there are any), ``"name"`` (a Python variable), ``"number"`` (whole, from `least`
        up), ``"mode"`` (one of Proton's, with knobs), ``"ranks"`` (``all``, or numbers and ranges),
        ``"steps"`` (FIRST:END, as Python slices count), ``"text"``, ``"flag"``.
    help
        One sentence.
    example
        As typed in the magic.
    choices
        Legal values; empty where anything of the kind is legal.
    default
        Value when the option is not given.
    least
        Smallest legal number.
    """

    name: str
    kind: Kind
    help: str
    example: str
    choices: tuple[str, ...] = ()
    default: Any = None
    least: int = 0

    def check(self, value: Any) -> Any:
        """Return the value in its final form; text is read as the magic's user types it.

        Raises
        ------
        ProtonLabError
            If the value is not legal; the message names the legal ones.
        """
        if value is None:
            return self.default if self.kind in ("choice", "number", "flag") else None
        if self.kind == "regex":
            compile_pattern(value, self.name)
            return value
        if self.kind == "choice":
            if value not in self.choices:
                raise ProtonLabError(f"{self.name}={value!r}; use {self._legal('or')}")
            return value
        if self.kind == "list":
            return self._checked_list(value)
        if self.kind == "number":
            return self._checked_number(value)
        if self.kind == "mode":
            return Mode.read(value)
        if self.kind == "ranks":
            return self._checked_ranks(value)
        if self.kind == "steps":
            return self._checked_steps(value)
        if self.kind in ("text", "flag"):
            return self._checked_kind(value)
        if not isinstance(value, str) or not value.isidentifier() or keyword.iskeyword(value):
            raise ProtonLabError(
                f"{self.name}={value!r} is not the name of a variable; for example {self.example}"
            )
        return value

    def _checked_list(self, value: Any) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, Iterable):
            raise ProtonLabError(
                f"{self.name}={value!r} is a {type(value).__name__}; give names, for example "
                f"{self.example}"
            )
        names = list(parts)
        for name in names:
            if not isinstance(name, str):
                raise ProtonLabError(
                    f"{self.name} holds {name!r}, a {type(name).__name__}; give names, for "
                    f"example {self.example}"
                )
        stripped = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
        unknown = [name for name in stripped if self.choices and name not in self.choices]
        if unknown:
            raise ProtonLabError(f"{self.name}={','.join(unknown)}; use {self._legal('and')}")
        if self.choices and "none" in stripped and len(stripped) > 1:
            raise ProtonLabError(f"{self.name}={','.join(stripped)}; 'none' stands alone")
        return () if stripped == ("none",) and self.choices else stripped

    def _checked_number(self, value: Any) -> int:
        digits = value if isinstance(value, str) else str(value) if type(value) is int else ""
        if not digits.isdecimal() or int(digits) < self.least:
            raise ProtonLabError(
                f"{self.name}={value}; use a whole number from {self.least} up, for example "
                f"{self.example}"
            )
        return int(digits)

    def _checked_ranks(self, value: Any) -> tuple[int, ...] | Literal["all"]:
        if value == "all":
            return "all"
        parts = value.split(",") if isinstance(value, str) else [""]
        found = [_RANGE.fullmatch(part.strip()) for part in parts]
        spans = [(int(span[1]), int(span[2] or span[1])) for span in found if span]
        if len(spans) < len(parts) or any(last < first for first, last in spans):
            raise ProtonLabError(
                f"{self.name}={value}; use all, or numbers and ranges, for example "
                f"{self.name}=0,2 or {self.name}=0-3"
            )
        return tuple(sorted({rank for first, last in spans for rank in range(first, last + 1)}))

    def _checked_steps(self, value: Any) -> tuple[int, int | None]:
        first, colon, end = value.partition(":") if isinstance(value, str) else ("", "", "")
        numbers = [int(each) if each.isdecimal() else None for each in (first or "0", end)]
        if not colon or numbers[0] is None or (end and numbers[1] is None):
            raise ProtonLabError(
                f"{self.name}={value}; give FIRST:END, steps counted from 0 and the end left out, "
                f"for example {self.example}"
            )
        if numbers[1] is not None and numbers[1] <= numbers[0]:
            raise ProtonLabError(
                f"{self.name}={value} holds no step: its end is left out, so it has to lie behind "
                f"the first one, as in {self.example}"
            )
        return numbers[0], numbers[1]

    def _checked_kind(self, value: Any) -> Any:
        legal = isinstance(value, bool) if self.kind == "flag" else isinstance(value, str) and value
        if not legal:
            wanted = "true or false" if self.kind == "flag" else "text"
            raise ProtonLabError(f"{self.name}={value!r}; give {wanted}, as in {self.example}")
        return value

    def _legal(self, conjunction: str) -> str:
        return f"{', '.join(self.choices[:-1])} {conjunction} {self.choices[-1]}"
