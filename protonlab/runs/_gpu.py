"""Which GPU a process uses, as torch says it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Gpu:
    """The GPU that a rank uses; all None where it uses none.

    Parameters
    ----------
    ordinal
        As CUDA counts in this process.
    uuid
        As NVML writes it (``"GPU-…"``).
    name
        Its name.
    """

    ordinal: int | None = None
    uuid: str | None = None
    name: str | None = None

    @classmethod
    def current(cls) -> Self:
        """Ask torch for the current GPU of this thread; makes no context."""
        torch: Any = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
            return cls()
        try:
            ordinal = torch.cuda.current_device()
            properties = torch.cuda.get_device_properties(ordinal)
        except Exception:  # CUDA may have failed in the user's code
            return cls()
        uuid = getattr(properties, "uuid", None)
        return cls(ordinal, uuid and f"GPU-{str(uuid).removeprefix('GPU-')}", properties.name)
