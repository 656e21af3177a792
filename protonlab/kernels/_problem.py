"""One checked matmul: what every engine takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._layout import PackedWeight
from protonlab.kernels._mxfp4 import GROUP, MXFP4Weight
from protonlab.kernels._routing import Routing
from protonlab.kernels._schedule import Schedule

Weight = PackedWeight | MXFP4Weight | torch.Tensor


@dataclass(frozen=True, eq=False)
class Epilogue:
    """What happens to a row of y before it is stored: ``activation(y + bias)``.

    ``"swiglu"`` takes neighbouring columns as a pair, the gate at ``2 * j`` and the linear part at
    ``2 * j + 1``, and halves the number of columns:
    ``out[j] = gate * sigmoid(alpha * gate) * (linear + offset)``. With a limit, gate is first cut
    off above it, and linear above it and below minus it. The defaults are the usual
    ``silu(gate) * linear``; gpt-oss has alpha 1.702, limit 7 and offset 1. All of it is computed in
    float32; y is rounded once.

    Parameters
    ----------
    bias
        Floating point, shape (N,), or (E, N) with experts.
    activation
        None or ``"swiglu"``.
    alpha, limit, offset
        Of ``"swiglu"``.

    Raises
    ------
    KernelInputError
        If one of them is none of these.
    """

    bias: torch.Tensor | None = None
    activation: Literal["swiglu"] | None = None
    alpha: float = 1.0
    limit: float | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.activation not in (None, "swiglu"):
            raise KernelInputError(
                f"activation is {self.activation!r}; give None or 'swiglu', and apply others to y"
            )
        if self.bias is not None and not isinstance(self.bias, torch.Tensor):
            raise KernelInputError(
                f"bias is a {type(self.bias).__name__}; give a floating-point tensor of shape (N,) "
                "or (E, N), or None"
            )
        for name in ("alpha", "limit", "offset"):
            value = getattr(self, name)
            if not isinstance(value, int | float) and (value is not None or name != "limit"):
                raise KernelInputError(f"{name} is {value!r}; give a number")
        if self.limit is not None and not self.limit > 0:
            raise KernelInputError(f"limit is {self.limit}; give a positive number, or None")


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked inputs and the output, for an engine to fill.

    Parameters
    ----------
    x
        float16 or bfloat16, shape (rows of x, K), last stride 1.
    w
        Packed, or plain: shape (E, N, K), the type of x, last stride 1. Only the reference takes an
        `MXFP4Weight`.
    y
        The type of x, contiguous, shape (rows, N), or (rows, N / 2) with swiglu.
    n, k
        Shape of the weight, not padded.
    routing
        On x's device, checked; None for one weight and rows in order.
    epilogue
        Bias (E, N), or (1, N) for all experts, its last stride 1, and activation.
    schedule
        The routing's blocks of rows.
    """

    x: torch.Tensor
    w: Weight
    y: torch.Tensor
    n: int
    k: int
    routing: Routing | None
    epilogue: Epilogue
    schedule: Schedule | None = None

    @property
    def rows(self) -> int:
        """Rows that are computed."""
        return self.y.shape[0]

    @property
    def gather(self) -> torch.Tensor | None:
        """Row of x for each computed row."""
        return None if self.routing is None else self.routing.gather

    @property
    def scatter(self) -> torch.Tensor | None:
        """Row of y for each computed row."""
        return None if self.routing is None else self.routing.scatter

    @property
    def n_bytes(self) -> int:
        """Bytes by the model where the host knows them; else 0, and ``schedule.stats`` does."""
        each, fixed = byte_model(self)
        if self.routing is None:
            return each + fixed
        if self.schedule is None or self.schedule.active is None:
            return 0
        return self.schedule.active * each + fixed


def byte_model(problem: Problem) -> tuple[int, int]:
    """Bytes that a launch moves: for each active expert, and besides.

    Each is counted once, at its own size without padding: codes and scales (or values) of the
    experts that have rows, and their rows of bias; the rows of x that are computed, y, and the
    indices of gather and scatter. The schedule (a few hundred bytes) and caches are left out.
    """
    w, n, k, epilogue = problem.w, problem.n, problem.k, problem.epilogue
    four_bits = n * k // 2 + n * k // GROUP
    each = n * k * w.element_size() if isinstance(w, torch.Tensor) else four_bits
    fixed = problem.rows * k * problem.x.element_size()
    fixed += problem.y.numel() * problem.y.element_size()
    bias = epilogue.bias
    if bias is not None:
        if len(bias) > 1 or problem.routing is None:
            each += n * bias.element_size()
        else:
            fixed += n * bias.element_size()
    for indices in (problem.gather, problem.scatter):
        if indices is not None:
            fixed += indices.numel() * indices.element_size()
    return each, fixed
