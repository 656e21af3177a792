"""Kernels compiled for Hopper without a GPU: ptxas comes with Triton."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def compiled(kernel: Any, types: dict[str, str], constants: dict[str, Any], **options: Any) -> Any:
    """Compile one, its pointers and strides aligned as torch's are."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    aligned = {
        (names.index(name),): [["tt.divisibility", 16]]
        for name in types
        if types[name].startswith("*") or name in ("N", "stride_x", "stride_w_n")
    }
    constants = {name: constants.get(name) for name in names if name not in types}
    source = ASTSource(kernel, signature, constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def printed_by(code: str, folder: Path) -> list[str]:
    """Run code in a process of its own: kernels of one that interprets are not compiled."""
    script = folder / "compile_for_hopper.py"  # Triton reads sources of files
    script.write_text(code)
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    tests = Path(__file__).parent
    environment |= {
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tests.parent), str(tests)]),
    }
    result = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.splitlines()
