"""GPU or interpreter: which of the two runs this process's kernels."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from protonlab.errors import CaptureError

if TYPE_CHECKING:
    from protonlab.capture._interpreter import Launches

_SWITCH = "TRITON_INTERPRET"


def device() -> Literal["cuda", "cpu"]:
    """Device to put tensors on: ``"cuda"``, or ``"cpu"`` where kernels run in the interpreter.

    Examples
    --------
    >>> x = torch.ones(1024, device=protonlab.device())  # doctest: +SKIP
    """
    return "cpu" if interpreting() or not has_gpu() else "cuda"


def interpreting() -> bool:
    """Whether Triton runs kernels in its interpreter."""
    triton = sys.modules.get("triton")
    if triton is not None and hasattr(triton, "knobs"):
        return bool(triton.knobs.runtime.interpret)
    return os.environ.get(_SWITCH, "").lower() in ("1", "true", "yes", "on", "y")


def has_gpu() -> bool:
    """Whether there is a GPU driver. Asks torch if it is loaded; never starts CUDA."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda"):
        return bool(torch.cuda.is_available())
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Path("/dev/kfd").exists()  # AMD
    return any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


def gpus_in_use() -> list[int]:
    """GPUs on which this process has a context. Starts no CUDA and makes no context."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return []
    has_context = getattr(torch._C, "_cuda_hasPrimaryContext", lambda gpu: True)
    return [gpu for gpu in range(torch.cuda.device_count()) if has_context(gpu)]


def interpreter_launches() -> Launches | None:
    """Start to record the interpreter's launches; None where kernels run on a GPU.

    Raises
    ------
    CaptureError
        If the interpreter was switched on too late to run kernels.
    """
    if not interpreting():
        return None
    from protonlab.capture import _interpreter

    if not _interpreter.is_whole():
        raise CaptureError(f"{_interpreter.TOO_LATE}; restart the kernel and load protonlab first")
    launches = _interpreter.Launches()
    launches.start()
    return launches


def enable_interpreter() -> str | None:
    """Switch Triton's interpreter on where there is no GPU, before Triton is imported.

    Returns
    -------
    str or None
        One line for the user; None when there is nothing to say.
    """
    no_gpu = not has_gpu()
    if not no_gpu and not interpreting():
        return None
    if "triton" not in sys.modules:
        os.environ[_SWITCH] = "1"  # read while Triton is imported, just below
    try:
        from protonlab.capture import _interpreter
    except ImportError as error:
        return f"no kernels can be recorded: {error}; pip install 'triton>=3.6'"
    if not _interpreter.is_whole():
        return f"{_interpreter.TOO_LATE}: restart the kernel, load protonlab first"
    _interpreter.install()
    why = "no GPU driver" if no_gpu else f"{_SWITCH} is set"
    return (
        f"{why}: Triton kernels run in its interpreter on the CPU; put tensors on "
        "protonlab.device()"
    )
