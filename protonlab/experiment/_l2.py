"""Emptying a GPU's L2 cache."""

from __future__ import annotations

import torch

# Writing twice what it holds leaves nothing of the inputs in either of its halves.
_TIMES, _UNKNOWN = 2, 64 * 2**20


class L2:
    """The L2 cache of one GPU.

    Parameters
    ----------
    device
        Number of the GPU.

    Attributes
    ----------
    n_bytes
        How many are written to empty it.
    """

    def __init__(self, device: int) -> None:
        size = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
        self.n_bytes: int = _TIMES * (size or _UNKNOWN)
        self._room: torch.Tensor | None = torch.empty(
            self.n_bytes, dtype=torch.uint8, device="cuda"
        )

    def empty(self) -> None:
        """Overwrite all of it, in the current stream."""
        assert self._room is not None
        self._room.zero_()

    def free(self) -> None:
        """Give back what is written to."""
        self._room = None
