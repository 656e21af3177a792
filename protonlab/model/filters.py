"""Which kernels count: Proton's include and exclude patterns, on a running session or a profile."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from protonlab.errors import ProtonLabError


def compile_pattern(pattern: str | None, option: str) -> re.Pattern[str] | None:
    """Compile a regular expression, or raise an error that points at the mistake.

    Raises
    ------
    ProtonLabError
        If `pattern` is no string or no regular expression.
    """
    if pattern is None:
        return None
    if not isinstance(pattern, str):
        raise ProtonLabError(
            f"{option}={pattern!r} is a {type(pattern).__name__}; give the regular expression as a "
            f"string, for example {option}='_p_matmul.*'"
        )
    try:
        return re.compile(pattern)
    except re.error as error:
        position = error.pos or 0
        raise ProtonLabError(
            f"{option} is not a regular expression: {error.msg} at position {position}\n"
            f"    {pattern}\n"
            f"    {' ' * position}^\n"
            "Patterns are Python's and match from the start of the compiled kernel name; "
            "write \\( for a plain parenthesis."
        ) from error


@dataclass(frozen=True)
class KernelFilter:
    """Proton's kernel filter: regular expressions matched from the start of a kernel's name.

    Parameters
    ----------
    include
        Keep only kernels whose compiled name matches (``re.match``). None keeps all.
    exclude
        Drop kernels whose compiled name matches, also when `include` does.

    Raises
    ------
    ProtonLabError
        If a pattern is no regular expression.

    Examples
    --------
    >>> KernelFilter(include="_p_matmul.*").matches("_p_matmul_bf16")
    True
    >>> KernelFilter(include="matmul").matches("_p_matmul_bf16")  # anchored at the start
    False
    """

    include: str | None = None
    exclude: str | None = None
    _include: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _exclude: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_include", compile_pattern(self.include, "include"))
        object.__setattr__(self, "_exclude", compile_pattern(self.exclude, "exclude"))

    def matches(self, name: str) -> bool:
        """Whether a kernel of this compiled name is kept."""
        if self._include is not None and self._include.match(name) is None:
            return False
        return self._exclude is None or self._exclude.match(name) is None
