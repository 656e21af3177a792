"""What a profile remembers about the process that recorded it."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress


def versions() -> Mapping[str, str]:
    """Versions of Python and of the packages that decide what is recorded."""
    found = {name: _version(name) for name in ("protonlab", "triton", "torch")}
    return {"python": platform.python_version()} | {
        name: version for name, version in found.items() if version is not None
    }


@functools.cache  # each look-up parses a file, which a short cell would wait for
def _version(package: str) -> str | None:
    with suppress(importlib.metadata.PackageNotFoundError):  # run from a source checkout
        return importlib.metadata.version(package)
    return None


def default_backend() -> str:
    """Proton's own choice for this machine's GPUs."""
    torch = sys.modules.get("torch")
    return "roctracer" if torch is not None and torch.version.hip is not None else "cupti"


def gpu_name() -> str:
    """Name of the current GPU; empty where torch uses none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return str(torch.cuda.get_device_name())


def cells() -> Mapping[str, int]:
    """File names of the notebook's cells, by which the Python context cuts the shell's frames."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return dict(names) if isinstance(names, dict) else {}
