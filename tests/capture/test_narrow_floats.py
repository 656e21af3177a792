"""bfloat16 in the interpreter against torch: each operation of its builder is right or refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter

from protonlab.capture import _float_codec as codec
from protonlab.capture import _narrow_floats
from protonlab.errors import ProtonLabError

pytestmark = pytest.mark.skipif(
    not triton.knobs.runtime.interpret, reason="kernels are compiled: this tests the interpreter"
)

N = 64


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


def values(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    wide = torch.randn(N, generator=generator) * torch.exp(3 * torch.randn(N, generator=generator))
    return wide.to(torch.bfloat16)


def same(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted.to(found.dtype), rtol=0, atol=0, equal_nan=True)


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


FP8 = {"fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2}


@pytest.mark.parametrize("name", FP8)
def test_float8_decodes_as_torch_does(name: str) -> None:
    patterns = torch.arange(256, dtype=torch.int16).to(torch.uint8)
    wanted = patterns.view(FP8[name]).float()
    found = torch.from_numpy(codec.decode(patterns.numpy(), name).copy())
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", FP8)
def test_float8_rounds_as_torch_does_and_saturates(name: str) -> None:
    largest = torch.finfo(FP8[name]).max
    x = torch.linspace(-1.02 * largest, 1.02 * largest, 4001)
    x = torch.cat([x, x / 1000, x / 1e5, torch.tensor([0.0, -0.0])])
    wanted = x.clamp(-largest, largest).to(FP8[name]).view(torch.uint8)
    assert codec.encode(x.numpy(), name).tolist() == wanted.tolist()
    special = codec.encode(np.array([np.inf, -np.inf, np.nan], dtype=np.float32), name)
    decoded = codec.decode(special, name).tolist()
    assert decoded[:2] == [largest, -largest]
    assert math.isnan(decoded[2])


@triton.jit
def float8_sum(x_ptr, out_ptr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, 64)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x + x)


def test_float8_arithmetic_is_refused() -> None:
    x = torch.ones(N).to(torch.float8_e5m2)
    with pytest.raises(interpreter.InterpreterError, match=r"no fadd for fp8e5.*float32 first"):
        float8_sum[(1,)](x, torch.empty(N, dtype=torch.float8_e5m2))


@pytest.mark.parametrize("name", ["fp8e4b15", "fp8e4b8", "fp8e5b16"])
def test_float8_of_other_hardware_is_refused(name: str) -> None:
    with pytest.raises(ProtonLabError, match=name):
        codec.decode(np.zeros(1, dtype=np.uint8), name)


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
