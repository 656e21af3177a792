"""The options of a recording, in one table that feeds the magic, Python and the command line."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from protonlab.capture.modes import Mode
from protonlab.errors import ProtonLabError
from protonlab.model.filters import compile_pattern

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
        up), ``"mode"`` (one of Proton's, with knobs), ``"ranks"`` (``all``, or numbers and ranges).
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
    kind: Literal["regex", "choice", "list", "name", "number", "mode", "ranks"]
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
            return self.default if self.kind in ("choice", "number") else None
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

    def _legal(self, conjunction: str) -> str:
        return f"{', '.join(self.choices[:-1])} {conjunction} {self.choices[-1]}"


OPTIONS: tuple[Option, ...] = (
    Option(
        name="include",
        kind="regex",
        help="Evaluate launch metadata only of kernels whose compiled name matches, from its "
        "start; all kernels are timed.",
        example="include=_p_matmul.*",
    ),
    Option(
        name="exclude",
        kind="regex",
        help="Never evaluate launch metadata of kernels whose compiled name matches; wins over "
        "include.",
        example="exclude=.*attention.*",
    ),
    Option(
        name="context",
        kind="choice",
        choices=("shadow", "python"),
        default="shadow",
        help="What a kernel is filed under: the scopes it was launched in, or the Python call "
        "stack.",
        example="context=python",
    ),
    Option(
        name="data",
        kind="choice",
        choices=("tree", "trace"),
        default="tree",
        help="What is kept: a tree of frames with sums, or a trace, every launch on a time axis.",
        example="data=trace",
    ),
    Option(
        name="backend",
        kind="choice",
        choices=("cupti", "instrumentation", "roctracer", "rocprofiler"),
        help="Which of Proton's backends measures; the one that fits the GPU when not given.",
        example="backend=instrumentation",
    ),
    Option(
        name="mode",
        kind="mode",
        choices=("pcsampling", "periodic_flushing", "default", "mma"),
        help="Mode of the backend, with its knobs behind colons; default and mma are those of "
        "instrumentation.",
        example="mode=pcsampling:interval=1000",
    ),
    Option(
        name="repeat",
        kind="number",
        default=1,
        help="Run the cell that often and keep how the times of each kernel vary.",
        example="repeat=20",
        least=1,
    ),
    Option(
        name="warmup",
        kind="number",
        default=0,
        help="Run the cell that often before, unrecorded and without its output.",
        example="warmup=3",
    ),
    Option(
        name="record",
        kind="list",
        help="Launch metadata keys to record; all numbers when not given.",
        example="record=bytes,n_tokens",
    ),
    Option(
        name="hook",
        kind="name",
        help="A LaunchHook of yours, by the name of its variable; it brings its own filter.",
        example="hook=my_hook",
    ),
    Option(
        name="sync",
        kind="choice",
        choices=("ignore", "warn"),
        default="ignore",
        help="Whether to find launch metadata that makes the host wait for the GPU, and its cost.",
        example="sync=warn",
    ),
    Option(
        name="live",
        kind="number",
        default=0,
        help="Show the kernels so far while the cell runs, updated every so many seconds; from "
        "Triton 3.7 on.",
        example="live=1",
    ),
    Option(
        name="ranks",
        kind="ranks",
        help="Run the cell on the engines of ipyparallel that %px would use, each recording for "
        "itself, and keep a Run: all, or numbers and ranges.",
        example="ranks=all",
    ),
    Option(
        name="metrics",
        kind="list",
        help="Metrics to show, in proton-viewer's grammar; those that suit the profile when not "
        "given.",
        example="metrics=time/us,gbyte/s",
    ),
    Option(
        name="view",
        kind="list",
        choices=("flame", "bars", "table", "none"),
        default=("flame", "bars", "table"),
        help="What to show after the cell.",
        example="view=flame,table",
    ),
)


def option(name: str) -> Option:
    """Look an option up.

    Raises
    ------
    ProtonLabError
        If there is no such option; the message names those there are.
    """
    for candidate in OPTIONS:
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in OPTIONS)
    raise ProtonLabError(f"there is no option {name!r}; the options are {names}")
