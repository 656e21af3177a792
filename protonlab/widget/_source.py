"""Where a widget's numbers come from: a GPU that measures now, or a sweep that was recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from protonlab.model import VariantComparison
from protonlab.model.compiled import CompiledComparison
from protonlab.model.epilogue_sweep import EpilogueCase

BEAT_S = 0.05  # a source says something so often, so that a person's wish is seen


@dataclass(frozen=True)
class Moment:
    """What is known at one moment.

    Parameters
    ----------
    message
        What is being done, or is to be done.
    comparison
        The pairs so far; None when there is nothing new to draw.
    compiled
        What the switch changed in the kernel; None when there is nothing new.
    copy_gbyte_s
        Measured bandwidth of a copy; None if not known.
    """

    message: str
    comparison: VariantComparison | None = None
    compiled: CompiledComparison | None = None
    copy_gbyte_s: float | None = None


class Source(Protocol):
    """Gives a widget its numbers."""

    @property
    def label(self) -> str:
        """Where the numbers come from, for a person."""

    def choices(self, case: EpilogueCase) -> Mapping[str, Sequence[Any]]:
        """Return field of a case -> values to choose from; others take any legal number."""

    def settled(self, case: EpilogueCase) -> tuple[EpilogueCase, str]:
        """Return the case that can be shown in place of another, and a sentence if it differs."""

    def at_once(self, case: EpilogueCase) -> Moment:
        """Return what is known without a run, or what to do to see something."""

    def run(self, case: EpilogueCase) -> AsyncGenerator[Moment, None]:
        """Measure or replay; yields at least every 50 ms."""

    def release(self) -> None:
        """Give the GPU's memory back, until the next run."""

    def close(self) -> None:
        """Give everything back, for good."""
