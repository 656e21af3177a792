"""Whether this process may read the GPU's performance counters, as the NVIDIA driver decides."""

from __future__ import annotations

import os
import re
from pathlib import Path

_PARAMETERS = Path("/proc/driver/nvidia/params")
_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 21


def why_no_sampling(parameters: Path = _PARAMETERS, status: Path = _STATUS) -> str:
    """One sentence on why PC sampling has no permission; empty when nothing speaks against it.

    Asked before Proton starts: CUPTI refuses (error 35) only at the first launch, inside the cell.

    Parameters
    ----------
    parameters, status
        The driver's parameters and this process's status, as Linux shows them.
    """
    try:
        restricted = re.search(r"^RmProfilingAdminOnly: 1", parameters.read_text(), re.MULTILINE)
        capabilities = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read_text(), re.MULTILINE)
    except OSError:  # another driver, or none: Proton will say
        return ""
    if not restricted:
        return ""
    if capabilities is not None and int(capabilities[1], 16) >> _CAP_SYS_ADMIN & 1:
        return ""
    who = "root, but without CAP_SYS_ADMIN" if os.geteuid() == 0 else "not an administrator"
    return (
        f"mode=pcsampling reads performance counters, which the driver keeps to administrators "
        f"(error 35), and this process is {who}; set the driver option "
        "NVreg_RestrictProfilingToAdminUsers=0, start the container with --cap-add=SYS_ADMIN, or "
        "leave mode out"
    )
