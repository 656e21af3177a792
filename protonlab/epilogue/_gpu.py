"""Whether epilogue overlap can be measured here."""

from __future__ import annotations

import importlib.util

_HOPPER = (9, 0)


def gpu_problem() -> str | None:
    """Why epilogue overlap cannot be measured here, as a sentence; None when it can."""
    needs = "measuring epilogue overlap needs an NVIDIA Hopper GPU (H100, H200, GH200)"
    if importlib.util.find_spec("triton") is None:
        return f"{needs} and Triton, which is not installed here"
    import torch  # slow to import

    if not torch.cuda.is_available():
        return f"{needs}, and torch finds no GPU"
    found = torch.cuda.get_device_capability()
    if torch.version.hip or found != _HOPPER:
        name = torch.cuda.get_device_name()
        return f"{needs}, and this is {name} (compute capability {found[0]}.{found[1]})"
    return None


def has_upstream() -> bool:
    """Whether upstream's kernels are installed."""
    return importlib.util.find_spec("triton_kernels") is not None
