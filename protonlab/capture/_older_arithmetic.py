"""Corrections that Triton's own interpreter got after 3.6, for the versions before them.

They repeat what the later interpreter does, so where it has them already nothing changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def install(interpreter: Any) -> None:
    """Correct NaN in minimum, maximum and clamp, int1, the rounding of fma, and loop bounds.

    Parameters
    ----------
    interpreter
        The module ``triton.runtime.interpreter``.
    """
    builder = interpreter.InterpreterBuilder
    builder.binary_op = _one_bit(builder.binary_op, interpreter.TensorHandle)
    # A GPU's minnum and maxnum give the number where one operand is NaN.
    builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    builder.create_clampf = _clamp(builder.create_clampf, interpreter._ir.PROPAGATE_NAN.NONE)
    if not hasattr(interpreter._interpreter, "fma_fp32"):
        builder.create_fma = _fma(builder.create_fma, interpreter.TensorHandle)
    interpreter._patch_lang_tensor = _bounds(interpreter._patch_lang_tensor)


def _one_bit(original: Callable[..., Any], handle: Any) -> Callable[..., Any]:
    """Wrap int1 around: True + True is False; numpy says True, and refuses to subtract."""

    def binary_op(builder: Any, lhs: Any, rhs: Any, operation: Any) -> Any:
        if lhs.data.dtype != np.bool_ or rhs.data.dtype != np.bool_:
            return original(builder, lhs, rhs, operation)
        wide = operation(lhs.data.astype(np.int8), rhs.data.astype(np.int8))
        return handle((wide & 1).astype(np.bool_), lhs.dtype.scalar)

    return functools.wraps(original)(binary_op)


def _clamp(original: Callable[..., Any], ignore_nan: Any) -> Callable[..., Any]:
    def create_clampf(builder: Any, value: Any, low: Any, high: Any, propagate: Any) -> Any:
        if propagate != ignore_nan:
            return original(builder, value, low, high, propagate)
        return builder.binary_op(builder.binary_op(value, low, np.fmax), high, np.fmin)

    return functools.wraps(original)(create_clampf)


def _fma(original: Callable[..., Any], handle: Any) -> Callable[..., Any]:
    """Multiply and add with one rounding; in float64 a product of two narrower floats is exact."""

    def create_fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
        if z.data.dtype not in (np.float16, np.float32):
            return original(builder, x, y, z)
        total = x.data.astype(np.float64) * y.data.astype(np.float64) + z.data
        return handle(total.astype(z.data.dtype), z.dtype.scalar)

    return functools.wraps(original)(create_fma)


def _bounds(original: Callable[..., None]) -> Callable[..., None]:
    """Make whole numbers of scalars, which are arrays of one element: numpy 2.4 refuses these."""

    def patch(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda scalar: int(scalar.handle.data.item()))

    return functools.wraps(original)(patch)
