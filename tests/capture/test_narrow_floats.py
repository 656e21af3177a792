"""bfloat16 in the interpreter against torch: each operation of its builder is right or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from sample_kernels import N, same, values
from triton.runtime import interpreter

from protonlab.capture import _narrow_floats
from protonlab.errors import ProtonLabError

pytestmark = pytest.mark.skipif(
    not triton.knobs.runtime.interpret, reason="kernels are compiled: this tests the interpreter"
)


@triton.jit
def binary(x_ptr, y_ptr, out_ptr, OP: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "div":
        z = x / y
    elif OP == "mod":
        z = x % y
    elif OP == "maximum":
        z = tl.maximum(x, y)
    elif OP == "minimum":
        z = tl.minimum(x, y)
    elif OP == "lt":
        z = x < y
    elif OP == "le":
        z = x <= y
    elif OP == "gt":
        z = x > y
    elif OP == "ge":
        z = x >= y
    elif OP == "eq":
        z = x == y
    elif OP == "ne":
        z = x != y
    elif OP == "where":
        z = tl.where(x > y, x, y)
    elif OP == "fma":
        z = tl.fma(x, y, x)
    elif OP == "clamp":
        z = tl.clamp(x, -1.0, 1.0)
    elif OP == "scale":
        z = x * 3.0 + 1
    elif OP == "neg":
        z = -x
    elif OP == "abs":
        z = tl.abs(x)
    elif OP == "int_sum":
        z = x + 7
    elif OP == "scan":
        z = tl.cumsum(x, 0)
    elif OP == "full":
        z = x + tl.full((64,), 1.5, tl.bfloat16)
    elif OP == "zeros":
        z = x + tl.zeros((64,), tl.bfloat16)
    tl.store(out_ptr + offs, z)


TORCH: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "mod": lambda x, y: torch.fmod(x.float(), y.float()).bfloat16(),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda x, y: torch.where(x > y, x, y),
    "fma": lambda x, y: (x.double() * y.double() + x.double()).bfloat16(),
    "clamp": lambda x, y: x.clamp(-1, 1),
    "scale": lambda x, y: x * 3.0 + 1,
    "neg": lambda x, y: -x,
    "abs": lambda x, y: x.abs(),
    "int_sum": lambda x, y: x + 7,
    "full": lambda x, y: x + 1.5,
    "zeros": lambda x, y: x,
}


@pytest.mark.parametrize("name", TORCH)
def test_binary_operation(name: str) -> None:
    x, y = values(0), values(1)
    out = torch.empty(N, dtype=torch.bfloat16)
    binary[(1,)](x, y, out, OP=name)
    same(out, TORCH[name](x, y))


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparison(name: str) -> None:
    x, y = values(0), values(1)
    y[::4] = x[::4]
    x[1], y[2] = float("nan"), float("nan")
    out = torch.empty(N, dtype=torch.bool)
    binary[(1,)](x, y, out, OP=name)
    same(out, getattr(torch, name)(x, y))


def test_cumulative_sum() -> None:
    x = values(0)
    out = torch.empty(N, dtype=torch.bfloat16)
    binary[(1,)](x, x, out, OP="scan")
    same(out, torch.from_numpy(np.cumsum(x.float().numpy())).bfloat16())


@triton.jit
def unary(x_ptr, out_ptr, OP: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    if OP == "exp":
        z = tl.exp(x.to(tl.float32)).to(tl.bfloat16)
    elif OP == "sqrt":
        z = tl.sqrt(x.to(tl.float32)).to(tl.bfloat16)
    elif OP == "to_fp32":
        z = x.to(tl.float32)
    elif OP == "to_fp16":
        z = x.to(tl.float16)
    elif OP == "to_fp64":
        z = x.to(tl.float64)
    elif OP == "to_int32":
        z = x.to(tl.int32)
    elif OP == "to_int1":
        z = x.to(tl.int1)
    tl.store(out_ptr + offs, z)


@pytest.mark.parametrize(
    ("name", "reference", "dtype"),
    [
        ("exp", torch.exp, torch.bfloat16),
        ("sqrt", torch.sqrt, torch.bfloat16),
        ("to_fp32", torch.Tensor.float, torch.float32),
        ("to_fp16", torch.Tensor.half, torch.float16),
        ("to_fp64", torch.Tensor.double, torch.float64),
        ("to_int32", torch.Tensor.int, torch.int32),
        ("to_int1", torch.Tensor.bool, torch.bool),
    ],
)
def test_unary_operation(name: str, reference: Any, dtype: torch.dtype) -> None:
    x = values(2).abs()
    x[:4] = 0
    out = torch.empty(N, dtype=dtype)
    unary[(1,)](x, out, OP=name)
    same(out, reference(x))


@triton.jit
def store_as(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.int8, torch.bool],
)
def test_conversion_to_bfloat16_rounds_to_nearest_even(dtype: torch.dtype) -> None:
    x = (values(3).double() * 1.00390625).to(dtype)  # many ties
    if dtype.is_floating_point:
        x[:4] = torch.tensor([float("nan"), float("inf"), -0.0, 6e4], dtype=dtype)
    out = torch.empty(N, dtype=torch.bfloat16)
    store_as[(1,)](x, out)
    same(out, x.to(torch.bfloat16))


def test_double_to_bfloat16_rounds_once() -> None:
    # Just above a tie of bfloat16, by less than float32 can hold: rounding twice gives 1.0.
    x = torch.full((N,), 1 + 2.0**-8 + 2.0**-40, dtype=torch.float64)
    out = torch.empty(N, dtype=torch.bfloat16)
    store_as[(1,)](x, out)
    assert set(out.tolist()) == {1 + 2.0**-7}


@triton.jit
def cast_toward_zero(x_ptr, out_ptr, KIND: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    if KIND == "bf16":
        z = x.to(tl.bfloat16, fp_downcast_rounding="rtz")
    else:
        z = x.to(tl.float16, fp_downcast_rounding="rtz")
    tl.store(out_ptr + offs, z)


@pytest.mark.parametrize(("kind", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_rounding_toward_zero(kind: str, dtype: torch.dtype) -> None:
    x = torch.linspace(-3, 3, N) * 1.0001
    x[0], x[1] = 1e6, float("inf")
    out = torch.empty(N, dtype=dtype)
    cast_toward_zero[(1,)](x, out, KIND=kind)
    nearest = x.to(dtype)
    past = nearest.double().abs() > x.double().abs()
    wanted = torch.where(past, torch.nextafter(nearest, torch.zeros_like(nearest)), nearest)
    same(out, wanted)


@triton.jit
def atomic(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    tl.atomic_add(out_ptr + offs, tl.load(x_ptr + offs))


def test_atomic_addition_is_refused() -> None:
    with pytest.raises(interpreter.InterpreterError, match="no atomic_rmw for bf16"):
        atomic[(1,)](values(5), values(6))


@triton.jit
def printed(x_ptr):  # noqa: ANN001, ANN201
    tl.device_print("x", tl.load(x_ptr))


def test_print_shows_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    printed[(1,)](torch.tensor([1.5], dtype=torch.bfloat16))
    assert "1.5" in capsys.readouterr().out


@triton.jit
def float8_sum(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x + x)


def test_float8_arithmetic_is_refused() -> None:
    x = torch.ones(N).to(torch.float8_e5m2)
    with pytest.raises(interpreter.InterpreterError, match=r"no fadd for fp8e5.*float32 first"):
        float8_sum[(1,)](x, torch.empty(N, dtype=torch.float8_e5m2))


def test_every_operation_of_the_builder_is_sorted() -> None:
    """What is in none of the lists must only meet integers; a new name has to be looked at."""
    sorted_ones = _narrow_floats.MOVES | _narrow_floats.COMPUTES | _narrow_floats.CONVERTS
    builder = vars(interpreter.InterpreterBuilder)
    names = {name.removeprefix("create_") for name in builder if name.startswith("create_")}
    integers = (
        "mul sdiv udiv srem urem add sub shl lshr ashr minsi minui maxsi maxui and or xor idiv "
        "icmpSLE icmpSLT icmpSGE icmpSGT icmpULE icmpULT icmpUGE icmpUGT icmpEQ icmpNE umulhi "
        "iabs histogram atomic_rmw"
    )
    assert names - sorted_ones == set(integers.split())


def test_integer_operation_refuses_a_narrow_float() -> None:
    handle = interpreter.TensorHandle(np.zeros(1, dtype=np.uint16), tl.bfloat16)
    with pytest.raises(ProtonLabError, match="no add for bf16"):
        interpreter.interpreter_builder.create_add(handle, handle)
