"""Choosing one thing after the other, each with its reason."""

from __future__ import annotations

from typing import Any


class Choices:
    """Collects choices; an override wins and says so.

    Parameters
    ----------
    overrides
        Field -> what was asked for.

    Examples
    --------
    >>> choices = Choices({"num_stages": 2})
    >>> choices.take("num_stages", 3, "2 to 4 stages measured alike")
    2
    >>> choices.reasons
    (('num_stages', 'asked for'),)
    """

    def __init__(self, overrides: dict[str, Any]) -> None:
        self.overrides = overrides
        self.values: dict[str, Any] = {}
        self._reasons: dict[str, str] = {}

    def __getitem__(self, field: str) -> Any:
        return self.values[field]

    def take(self, field: str, value: Any, why: str) -> Any:
        """Choose a value, unless another one was asked for; return what it is."""
        if field in self.overrides:
            value, why = self.overrides[field], "asked for"
        self.values[field], self._reasons[field] = value, why
        return value

    @property
    def reasons(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a field and why, in the order of choosing."""
        return tuple(self._reasons.items())
