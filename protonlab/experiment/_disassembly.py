"""What NVIDIA's ``cuobjdump``, which comes with Triton, tells of machine code."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_S = 30
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")


@dataclass(frozen=True)
class Disassembly:
    """Machine code as text.

    Parameters
    ----------
    sass
        The instructions; empty where they could not be read.
    registers
        Of a thread; None where not known.
    stack
        Bytes of a thread, which is where spilled registers go; None where not known.
    problem
        Why something is missing, as one sentence; or empty.
    """

    sass: str = ""
    registers: int | None = None
    stack: int | None = None
    problem: str = ""


def cuobjdump() -> Path | None:
    """Find the tool: Triton's own, if it may be run, then the search path's."""
    spec = importlib.util.find_spec("triton")
    if spec is not None and spec.origin:
        own = Path(spec.origin).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
        if os.access(own, os.X_OK):
            return own
    found = shutil.which("cuobjdump")
    return Path(found) if found else None


@functools.lru_cache(maxsize=16)  # it takes a second, and many sizes run the same kernel
def disassembled(cubin: bytes, tool: Path | None) -> Disassembly:
    """Read a cubin.

    Parameters
    ----------
    cubin
        Machine code, as in ``kernel.asm["cubin"]``.
    tool
        ``cuobjdump``; None where there is none.
    """
    if tool is None:
        return Disassembly(
            problem="SASS was not read: neither Triton nor the path has a cuobjdump that runs."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        try:
            text = subprocess.run(
                [tool, "-res-usage", "-sass", path],
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=True,
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__  # without paths
            return Disassembly(problem=f"SASS was not read: {tool.name} failed ({reason}).")
    found = _USAGE.search(text)
    if found is None:
        return Disassembly(text)
    return Disassembly(text, int(found[1]), int(found[2]))
