"""What a measurement asks of the machine that runs its samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from protonlab.experiment._variants import Variant
from protonlab.model import ClockReading


@dataclass(frozen=True)
class Block:
    """Four samples: two pairs.

    Parameters
    ----------
    order
        ``"ABBA"`` or ``"BAAB"``.
    kernels_ns
        What the kernels of a call took, by Proton, of each sample in its order; empty where Proton
        did not tell.
    elapsed_ns
        The same by a clock around the sample: gaps between kernels count.
    clocks
        The GPU beside each pair; None where unknown.
    """

    order: str
    kernels_ns: tuple[float, ...]
    elapsed_ns: tuple[float, ...]
    clocks: tuple[ClockReading | None, ...]


class Bench(Protocol):
    """Runs samples of two variants."""

    def open(self, variants: tuple[Variant, Variant], kernels: tuple[int, int]) -> None:
        """Get ready: graphs, buffers, Proton.

        Parameters
        ----------
        variants
            A and B.
        kernels
            Kernels that a call of each variant launches; 0 where calls differ, or that is not
            known: then a clock times them.
        """

    @property
    def makes_anew(self) -> tuple[str, ...]:
        """What `renew` makes anew by itself, in words."""

    def renew(self, make: Callable[[], tuple[Variant, Variant]]) -> None:
        """Go on with what `make` gives, and make anew what was made of the variants before.

        What is then made lies elsewhere in memory: the old things are there until the new ones are.
        """

    def warm(self) -> tuple[float, float]:
        """Run both for a short while; ns of a call of A and of B."""

    def settle(self, times_ns: tuple[float, float]) -> None:
        """Choose how many calls a sample has, from the time of one."""

    def block(self, order: str) -> Block:
        """Measure one block."""

    def protocol(self) -> Mapping[str, Any]:
        """Tell what is done in a sample: ``launches``, ``flush_bytes``, ``in_words`` and more."""

    def timing_problem(self) -> str | None:
        """Tell in one sentence why Proton's times cannot be had; None when they can."""

    def notes(self) -> tuple[str, ...]:
        """Tell what a reader should know of how it went."""

    def close(self) -> None:
        """Free everything; may be called again."""
