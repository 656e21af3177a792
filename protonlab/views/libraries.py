"""Which library a kernel comes from, by its name: a rule, since no profile records it."""

from __future__ import annotations

import re
from typing import Any

# The first that is found in the recorded name, mangled or not, wins.
_RULES = tuple(
    (library, re.compile(pattern))
    for library, pattern in (
        ("triton", r"^triton_"),
        ("nccl", r"nccl(Dev)?Kernel|nccl[A-Z]"),
        (
            "cudnn",
            r"cudnn|xmma_(fprop|dgrad|wgrad)|implicit_convolve|winograd|nchwToNhwc|nhwcToNchw",
        ),
        ("aten", r"at::|\bc10::|N?2at(4cuda|6native)|at_cuda_detail|pytorch_flash|fmha_cutlass"),
        (
            "cublas",
            r"cublas|^nvjet_|xmma_gemm|cutlass_\d+_\w*gemm|cutlass7Kernel2|splitKreduce_kernel"
            r"|^(void )?(maxwell|volta|turing|ampere|hopper|blackwell)_\w*gemm"
            r"|gemmk1_|gemmSN_|gemv2",
        ),
        (
            "foreign",
            r"cub::|3cub|thrust::|6thrust|cutlass::|7cutlass|flash::|5flash|flashinfer|cusparse"
            r"|cusolver|cufft|nvshmem|rocblas|hipblas|miopen|^Mem(cpy|set)",
        ),
    )
)
# Launch metadata may add a rest; "void" begins a name that was demangled, as "_Z" does before.
_PYTHON_NAME = re.compile(r"(?!void |_Z)[A-Za-z_]\w*(\s.*)?", re.DOTALL)


def library_of(name: str, hook: Any = None) -> str:
    """Library of a kernel, a key of `theme.LIBRARIES`.

    Parameters
    ----------
    name
        The kernel's recorded name.
    hook
        What a launch hook's record says, if there was one: it saw every launch by Triton.

    Returns
    -------
    str
        ``"user"`` for CUDA kernels that no rule knows, ``"foreign"`` for those of libraries
        without a colour of their own. Where no hook's record is at hand, a name that Python would
        accept is taken for Triton's.

    Examples
    --------
    >>> library_of("nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT")
    'cublas'
    >>> library_of("add_kernel [n=1024]")
    'triton'
    """
    if hook in ("kept", "filtered"):
        return "triton"
    for library, pattern in _RULES:
        if pattern.search(name):
            return library
    if hook != "unseen" and _PYTHON_NAME.fullmatch(name):
        return "triton"
    return "user"
