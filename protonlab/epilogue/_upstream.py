"""Upstream's persistent matmul of ``triton_kernels``, bf16 x MXFP4, with its switch for loops.

Its ``FLATTEN_LOOPS`` also asks for warp specialisation, which ours does not.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from protonlab.experiment import elsewhere
from protonlab.kernels import MXFP4Weight

_WARPS = 4


class Upstream:
    """One weight in upstream's layouts for Hopper.

    Parameters
    ----------
    w
        Shape (E, N, K).
    """

    def __init__(self, w: MXFP4Weight) -> None:
        tensor = importlib.import_module("triton_kernels.tensor")
        layout = importlib.import_module("triton_kernels.tensor_details.layout")
        self._matmul: Any = importlib.import_module("triton_kernels.matmul")
        self._flags: Any = importlib.import_module("triton_kernels.matmul_details.opt_flags")
        self._ragged = tensor.make_ragged_tensor_metadata
        self._n = w.codes.shape[-2]
        values, scales = w.codes.transpose(-1, -2), w.scales.transpose(-1, -2)
        wrapped = tensor.wrap_torch_tensor(values, dtype=tensor.FP4)
        self._weight = tensor.convert_layout(wrapped, layout.make_default_matmul_mxfp4_w_layout(-2))
        scale_layout = layout.make_default_matmul_mxfp4_w_scale_layout(-2, num_warps=_WARPS)
        self._config = self._matmul.PrecisionConfig(
            out_dtype=torch.bfloat16,
            b_mx_scale=tensor.convert_layout(tensor.wrap_torch_tensor(scales), scale_layout),
            b_microblock_size=32,
        )

    def elsewhere(self) -> Upstream:
        """Copy it to another place in memory."""
        moved = copy.copy(self)
        moved._weight = _moved(self._weight)
        scales = _moved(self._config.b_mx_scale)
        moved._config = dataclasses.replace(self._config, b_mx_scale=scales)
        return moved

    def call(
        self, x: torch.Tensor, sizes: torch.Tensor, *, flatten: bool
    ) -> Callable[[], torch.Tensor]:
        """Make a callable of one setting, its schedule made before."""
        y = elsewhere(torch.empty(len(x), self._n, dtype=x.dtype, device=x.device))
        schedule = self._ragged(sizes.to(torch.int32), len(x))

        def run() -> torch.Tensor:
            with self._forced(flatten):
                self._matmul.matmul(
                    *(x, self._weight, None),
                    a_ragged_metadata=schedule,
                    precision_config=self._config,
                    c=y,
                )
            return y

        return run

    @contextlib.contextmanager
    def _forced(self, flatten: bool) -> Iterator[None]:
        """Overrule upstream's own choice: persistent, flattened or not."""
        flags = self._flags
        chooser = flags.make_default_opt_flags_nvidia

        def choose(*args: Any, **kwargs: Any) -> Any:
            chosen = chooser(*args, **kwargs)
            chosen.target_kernel_kwargs["FLATTEN_LOOPS"] = flatten
            return chosen

        flags.make_default_opt_flags_nvidia = choose
        try:
            with flags.scoped_opt_flags_constraints({"is_persistent": True}):
                yield
        finally:
            flags.make_default_opt_flags_nvidia = chooser


def _moved(tensor: Any) -> Any:
    """Copy one of upstream's tensors, a layout round torch's, to another place in memory."""
    storage = dataclasses.replace(tensor.storage, data=elsewhere(tensor.storage.data))
    return dataclasses.replace(tensor, storage=storage)
