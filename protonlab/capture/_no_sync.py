"""The switch of Triton's own kernels that keeps their metadata functions from synchronising.

``triton_kernels`` computes token counts of ragged matmuls on the GPU. By default its metadata
functions read them on the host; with the switch they return the tensor, which Proton records
without a synchronisation from Triton 3.7 on. Before, the metric would only be lost.
"""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

from protonlab.capture import _proton

SWITCH = "PROTON_LAUNCH_METADATA_NOSYNC"
_READER = "triton_kernels.proton_opts"  # reads the switch once, and keeps it


class NoSyncMetadata:
    """Sets the switch where it helps, unless the user has; the last to leave puts all back."""

    _holders: ClassVar[list[NoSyncMetadata]] = []
    _before: ClassVar[bool | None] = None

    def __enter__(self) -> None:
        if not self._holders:
            if not _proton.require().records_device_tensors or SWITCH in os.environ:
                return
            NoSyncMetadata._before = _kept()
            os.environ[SWITCH] = "1"
            _keep(False)
        self._holders.append(self)

    def __exit__(self, *failure: object) -> None:
        if self not in self._holders:
            return
        self._holders.remove(self)
        if not self._holders:
            os.environ.pop(SWITCH, None)
            _keep(self._before)


def _kept() -> bool | None:
    """Return what the reader keeps; None when it has not read the switch."""
    kept = getattr(sys.modules.get(_READER), "_launch_metadata_allow_sync", None)
    return kept if isinstance(kept, bool) else None


def _keep(allow_sync: bool | None) -> None:
    module: Any = sys.modules.get(_READER)
    if isinstance(getattr(module, "_launch_metadata_allow_sync", {}), bool | None):
        module._launch_metadata_allow_sync = allow_sync
