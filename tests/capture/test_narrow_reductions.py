"""bfloat16 in the interpreter's reductions and matrix products, against torch."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from sample_kernels import same, values
from triton.runtime import interpreter

pytestmark = pytest.mark.skipif(
    not triton.knobs.runtime.interpret, reason="kernels are compiled: this tests the interpreter"
)


@triton.jit
def reduction(x_ptr, out_ptr, index_ptr, OP: tl.constexpr):  # noqa: ANN001, ANN201
    rows = tl.arange(0, 4)
    x = tl.load(x_ptr + 16 * rows[:, None] + tl.arange(0, 16)[None, :])
    if OP == "sum":
        tl.store(out_ptr + rows, tl.sum(x, 1))
    elif OP == "max":
        tl.store(out_ptr + rows, tl.max(x, 1))
    elif OP == "min":
        tl.store(out_ptr + rows, tl.min(x, 1))
    elif OP == "max_index":
        value, index = tl.max(x, 1, return_indices=True)
        tl.store(out_ptr + rows, value)
        tl.store(index_ptr + rows, index)
    elif OP == "argmin":
        tl.store(index_ptr + rows, tl.argmin(x, 1))
    elif OP == "all":
        tl.store(out_ptr, tl.sum(x))
    elif OP == "softmax":
        z = x - tl.max(x, 1)[:, None]
        e = tl.exp(z.to(tl.float32))
        tl.store(out_ptr + rows, tl.max(e / tl.sum(e, 1)[:, None], 1))


@pytest.mark.parametrize("name", ["sum", "max", "min", "max_index", "argmin", "all", "softmax"])
def test_reduction(name: str) -> None:
    x = values(4).reshape(4, 16)
    out = torch.zeros(4, dtype=torch.bfloat16)
    index = torch.zeros(4, dtype=torch.int32)
    reduction[(1,)](x, out, index, OP=name)
    wide = x.float()
    if name == "sum":
        same(out, wide.sum(1).bfloat16())
    elif name == "all":
        same(out[0], wide.sum().bfloat16())
    elif name == "softmax":
        same(out, torch.softmax(wide, 1).amax(1).bfloat16())
    elif name == "argmin":
        same(index, x.argmin(1))
    else:
        same(out, x.amin(1) if name == "min" else x.amax(1))
    if name == "max_index":
        same(index, x.argmax(1))


@triton.jit
def dot(a_ptr, b_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 16)
    grid = 16 * offs[:, None] + offs[None, :]
    product = tl.dot(tl.load(a_ptr + grid), tl.load(b_ptr + grid))
    tl.store(out_ptr + grid, product)


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16]
)
def test_dot(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(16, 16, generator=generator).to(dtype) for _ in range(2))
    out = torch.empty(16, 16)
    dot[(1,)](a, b, out)
    torch.testing.assert_close(out, a.float() @ b.float())


@triton.jit
def dot_scaled(a_ptr, b_ptr, scale_ptr, out_ptr):  # noqa: ANN001, ANN201
    rows = tl.arange(0, 16)
    k = tl.arange(0, 64)
    packed = tl.arange(0, 32)
    a = tl.load(a_ptr + 64 * rows[:, None] + k[None, :])
    b = tl.load(b_ptr + 16 * packed[:, None] + rows[None, :])
    scale = tl.load(scale_ptr + 2 * rows[:, None] + tl.arange(0, 2)[None, :])
    product = tl.dot_scaled(a, None, "bf16", b, scale, "e2m1")
    tl.store(out_ptr + 16 * rows[:, None] + rows[None, :], product)


def test_dot_scaled() -> None:
    generator = torch.Generator().manual_seed(0)
    a = (torch.randn(16, 64, generator=generator) * 1e6).bfloat16()  # beyond float16
    b = torch.randint(0, 256, (32, 16), generator=generator, dtype=torch.uint8)
    scale = torch.randint(120, 134, (16, 2), generator=generator, dtype=torch.uint8)
    out = torch.empty(16, 16)
    if not hasattr(interpreter.InterpreterBuilder, "create_dot_scaled"):
        with pytest.raises(interpreter.InterpreterError):
            dot_scaled[(1,)](a, b, scale, out)
        return
    dot_scaled[(1,)](a, b, scale, out)
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = torch.stack([b & 0xF, b >> 4], dim=1).reshape(64, 16).long()
    wide = levels[nibbles & 7] * torch.where(nibbles & 8 > 0, -1.0, 1.0)
    wide *= torch.exp2(scale.float() - 127).T.repeat_interleave(32, dim=0)
    torch.testing.assert_close(out, a.float() @ wide, rtol=1e-5, atol=0)
