"""What runs on an ipyparallel engine: make it ready for a ``%%proton`` cell, hand the profile over.

ipyparallel sends the code of these two functions, and they find the rest in the engine's own copy
of this module.
"""

from __future__ import annotations

import importlib.metadata
import os
import socket
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from protonlab.model import Profile, Trace
from protonlab.runs._gpu import Gpu

RESULT = "_proton"  # where %%proton leaves what it has recorded


def prepare() -> dict[str, Any]:
    """Load protonlab into the engine's shell; forget what an earlier cell recorded.

    Returns
    -------
    dict
        ``version`` of protonlab, ``host``, ``pid``, and what protonlab ``said`` when it was loaded.
    """
    shell = _shell()
    said = StringIO()
    with redirect_stdout(said):
        shell.extension_manager.load_extension("protonlab")
    shell.user_ns[RESULT] = None
    return {
        "version": importlib.metadata.version("protonlab"),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "said": said.getvalue().strip(),
    }


def collect() -> dict[str, Any]:
    """Return what the last ``%%proton`` cell recorded, as the bytes of a file that loads equal.

    Returns
    -------
    dict
        ``data``, None where nothing was recorded; the ``rank`` that torch.distributed gave to
        this process, None where it is not in use; and the `Gpu` that it uses.
    """
    found = _shell().user_ns.get(RESULT)
    data = None
    if isinstance(found, (Profile, Trace)):
        suffix = ".hatchet" if isinstance(found, Profile) else ".chrome_trace"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"rank{suffix}")
            found.save(path)
            data = path.read_bytes()
    return {"data": data, "rank": _rank(), "gpu": Gpu.current()}


def _rank() -> int | None:
    """Return the number that torch.distributed gave to this process, if it is in use."""
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank())


def _shell() -> Any:
    return sys.modules["IPython"].get_ipython()
