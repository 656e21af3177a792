"""Float32 and int1 in the interpreter, where Triton 3.6's own differs from a GPU."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.skipif(
    not triton.knobs.runtime.interpret, reason="kernels are compiled: this tests the interpreter"
)


@triton.jit
def extremes(x_ptr, out_ptr, OP: tl.constexpr):  # noqa: ANN001, ANN201
    x = tl.load(x_ptr + tl.arange(0, 2))
    if OP == "maximum":
        z = tl.maximum(x, 1.0)
    elif OP == "minimum":
        z = tl.minimum(x, 1.0)
    elif OP == "clamp":
        z = tl.clamp(x, 1.0, 2.0)
    elif OP == "maximum_nan":
        z = tl.maximum(x, 1.0, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp_nan":
        z = tl.clamp(x, 1.0, 2.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + tl.arange(0, 2), z)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("maximum", [1, 3]),
        ("minimum", [1, 1]),
        ("clamp", [1, 2]),
        ("maximum_nan", [float("nan"), 3]),
        ("clamp_nan", [float("nan"), 2]),
    ],
)
def test_nan(name: str, wanted: list[float]) -> None:
    out = torch.empty(2)
    extremes[(1,)](torch.tensor([float("nan"), 3.0]), out, OP=name)
    torch.testing.assert_close(out, torch.tensor(wanted, dtype=torch.float32), equal_nan=True)


@triton.jit
def bits(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 4)
    x = tl.load(x_ptr + offs) > 0
    y = tl.load(x_ptr + 4 + offs) > 0
    tl.store(out_ptr + offs, x + y)


def test_int1_wraps_around() -> None:
    out = torch.empty(4, dtype=torch.bool)
    bits[(1,)](torch.tensor([0, 0, 1, 1, 0, 1, 0, 1]), out)
    assert out.tolist() == [False, True, True, False]


@triton.jit
def fused(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    x, y, z = tl.load(x_ptr), tl.load(x_ptr + 1), tl.load(x_ptr + 2)
    tl.store(out_ptr, tl.fma(x, y, z))


@pytest.mark.parametrize(("dtype", "digits"), [(torch.float32, 23), (torch.float16, 10)])
def test_fma_rounds_once(dtype: torch.dtype, digits: int) -> None:
    step = 2.0**-digits
    out = torch.empty(1, dtype=dtype)
    fused[(1,)](torch.tensor([1 + step, 1 - step, -1], dtype=dtype), out)
    assert out.item() == -(step**2)  # 0 with a product that is rounded first


@triton.jit
def powers(count_ptr, out_ptr):  # noqa: ANN001, ANN201
    total = 1
    for _ in range(tl.load(count_ptr)):
        total *= 2
    tl.store(out_ptr, total)


@pytest.mark.filterwarnings("error::DeprecationWarning")  # of numpy, until 2.4 refuses
def test_a_loop_as_long_as_a_number_in_memory() -> None:
    out = torch.empty(1, dtype=torch.int64)
    powers[(1,)](torch.tensor([5]), out)
    assert out.item() == 32
