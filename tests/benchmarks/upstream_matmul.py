"""Upstream's ``triton_kernels`` matmul, set up for the benchmark: bf16 x mxfp4 on Hopper.

The package is on PyPI as ``tokenspeed-triton-kernels`` and needs Triton 3.9. It is measured beside
ours, and nothing else of protonlab knows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from triton_kernels.matmul import PrecisionConfig, matmul
from triton_kernels.matmul_details import opt_flags
from triton_kernels.tensor import (
    FP4,
    convert_layout,
    make_ragged_tensor_metadata,
    wrap_torch_tensor,
)
from triton_kernels.tensor_details import layout

from protonlab.kernels import MXFP4Weight

# Name -> warps, persistent, flattened (which also specialises warps). None: upstream's own choice.
SETTINGS = {
    "one tile a program, 4 warps": (4, False, None),
    "persistent, flattened, 4 warps": (4, True, True),
    "persistent, not flattened, 4 warps": (4, True, False),
    "one tile a program, 8 warps": (8, False, None),
}


class Upstream:
    """One weight in upstream's Hopper layouts."""

    def __init__(self, w: MXFP4Weight) -> None:
        self._n = w.shape[-2]
        values, scales = w.codes.transpose(-1, -2), w.scales.transpose(-1, -2)
        self._weights = {}
        for warps in {warps for warps, *_ in SETTINGS.values()}:
            value_layout = layout.make_default_matmul_mxfp4_w_layout(-2)
            scale_layout = layout.make_default_matmul_mxfp4_w_scale_layout(-2, num_warps=warps)
            packed = convert_layout(wrap_torch_tensor(values, dtype=FP4), value_layout)
            config = PrecisionConfig(
                out_dtype=torch.bfloat16,
                b_mx_scale=convert_layout(wrap_torch_tensor(scales), scale_layout),
                b_microblock_size=32,
            )
            self._weights[warps] = (packed, config)

    def call(
        self, setting: str, x: torch.Tensor, sizes: torch.Tensor | None, *, prepared: bool = True
    ) -> Callable[[], torch.Tensor]:
        """Give a call with the schedule made now, or anew in each call."""
        warps, *_ = SETTINGS[setting]
        weight, config = self._weights[warps]
        y = torch.empty(len(x), self._n, dtype=x.dtype, device=x.device)
        made = _schedule(sizes, len(x))

        def run() -> torch.Tensor:
            with _forced(setting):
                if sizes is None:
                    return matmul(x, weight, None, precision_config=config)
                schedule = made if prepared else _schedule(sizes, len(x))
                matmul(x, weight, None, a_ragged_metadata=schedule, precision_config=config, c=y)
                return y

        return run


def _schedule(sizes: torch.Tensor | None, rows: int) -> Any:
    return None if sizes is None else make_ragged_tensor_metadata(sizes.to(torch.int32), rows)


@contextlib.contextmanager
def _forced(setting: str) -> Iterator[None]:
    """Override upstream's choice of persistence and of FLATTEN_LOOPS."""
    _, persistent, flattened = SETTINGS[setting]
    chooser = opt_flags.make_default_opt_flags_nvidia

    def choose(*args: Any, **kwargs: Any) -> Any:
        flags = chooser(*args, **kwargs)
        if flattened is not None:
            flags.target_kernel_kwargs["FLATTEN_LOOPS"] = flattened
        return flags

    opt_flags.make_default_opt_flags_nvidia = choose
    try:
        with opt_flags.scoped_opt_flags_constraints({"is_persistent": persistent}):
            yield
    finally:
        opt_flags.make_default_opt_flags_nvidia = chooser
