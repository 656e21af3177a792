"""How the recording of a rank ended, where it is not whole, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protonlab.model.sentences import on_ranks


@dataclass(frozen=True)
class Ending:
    """How the recording of a rank, or of many, ended.

    Parameters
    ----------
    state
        What the manifest says: ``"failed"``, ``"recording"``, or ``"complete"`` without a file.
    error
        Why it failed, where it did.
    kept
        Whether what had been recorded by then is there.
    """

    state: str
    error: str
    kept: bool

    def of_one(self, rank: int, name: str, started: str) -> str:
        """Tell it of a rank whose manifest has a name, and began at a time."""
        if self.state == "failed":
            kept = "; what it had recorded by then is here" if self.kept else ""
            return f"Rank {rank} failed{self._why} ({name}){kept}."
        if self.state == "complete":
            return f"Rank {rank}: {name} says complete and names no file, so nothing of it is here."
        return (
            f"Rank {rank} began to record at {started} and did not end ({name}): it was killed, or "
            "is still at it."
        )

    def of_many(self, ranks: Sequence[int]) -> str:
        """Tell it of many ranks at once."""
        who = on_ranks(ranks).capitalize()
        if self.state == "failed":
            kept = "; what they had recorded by then is here" if self.kept else ""
            return f"{who} failed{self._why}{kept}."
        if self.state == "complete":
            return f"{who}: manifests say complete and name no file, so nothing of them is here."
        return f"{who} began to record and did not end: they were killed, or are still at it."

    @property
    def _why(self) -> str:
        return f": {self.error}" if self.error else ""
