"""Correct arithmetic on narrow floats for Triton's interpreter.

numpy has no bfloat16 and no float8, so the interpreter keeps their bit patterns in integers, and
most of its operations compute on those patterns: 1.0 * 1.0 gives 1.7e38 or so. Each operation of
its builder is sorted here into one of four: it *moves* values and is right as it is; it *computes*
and is done in float32, then rounded to nearest even; it *converts* and is done by this file; or it
is refused when it meets a narrow float. What a later Triton adds is refused until it is sorted.

Formats that no NVIDIA GPU has in hardware (fp8e4b15 and AMD's) are refused in conversions too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from protonlab.capture import _float_codec as codec
from protonlab.errors import ProtonLabError

Array = npt.NDArray[Any]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


MOVES = _words(
    "load store masked_load masked_store bitcast int_to_ptr ptr_to_int select fabs",
    "reshape trans gather addptr expand_dims broadcast cat join split splat unsplat",
    "atomic_cas atomic_load atomic_store atomic_poll make_tensor_descriptor descriptor_store",
    "descriptor_gather descriptor_scatter make_block_ptr advance tensor_pointer_store",
    "get_program_id get_num_programs make_range barrier assert assume",
    "extern_elementwise inline_asm",  # these two always raise
)
COMPUTES = _words(
    "fadd fmul fdiv frem fsub fneg precise_divf approx_divf minimumf minnumf maximumf maxnumf",
    "clampf cos exp exp2 floor ceil log log2 precise_sqrt sqrt sin erf rsqrt",
    "fcmpOLT fcmpOGT fcmpOLE fcmpOGE fcmpOEQ fcmpONE",
    "fcmpULT fcmpUGT fcmpULE fcmpUGE fcmpUEQ fcmpUNE",
)
# Done by this file, or through `cast_impl`, which is.
CONVERTS = _words(
    "fp_to_fp si_to_fp ui_to_fp fp_to_si fp_to_ui fp_ext fp_trunc int_cast",
    "dot dot_scaled fma print descriptor_load tensor_pointer_load",
)


def install(interpreter: Any, language: Any) -> None:
    """Correct the interpreter's builder; to be called once a process.

    Parameters
    ----------
    interpreter
        The module ``triton.runtime.interpreter``.
    language
        The module ``triton.language``.
    """
    builder = interpreter.InterpreterBuilder
    floats = _Floats(interpreter, language)
    for attribute in [name for name in vars(builder) if name.startswith("create_")]:
        name = attribute.removeprefix("create_")
        original = getattr(builder, attribute)
        if name in COMPUTES:
            setattr(builder, attribute, floats.computed(original, name))
        elif name not in MOVES | CONVERTS:
            setattr(builder, attribute, floats.refused(original, name))
    builder.cast_impl = floats.cast(builder.cast_impl)
    builder.create_fp_to_fp = floats.fp_to_fp(builder.create_fp_to_fp)
    builder.get_bf16 = lambda self, value: self.create_fp_trunc(
        self.get_fp64(value), language.bfloat16
    )
    builder.create_dot = floats.computed(builder.create_dot, "dot", fp8=True)
    builder.create_fma = floats.fma(builder.create_fma)
    builder.create_print = floats.printed(builder.create_print)
    for attribute in ("create_descriptor_load", "create_tensor_pointer_load"):
        if hasattr(builder, attribute):
            setattr(builder, attribute, floats.padded_load(getattr(builder, attribute)))
    if hasattr(interpreter, "_mxfp_value_handle_to_float32"):
        decode = floats.mxfp_decode(interpreter._mxfp_value_handle_to_float32)
        interpreter._mxfp_value_handle_to_float32 = decode
    base = interpreter.ReduceScanOpInterface
    base.apply = floats.reduced(base.apply)


class _Floats:
    """Wrappers round the interpreter's operations."""

    def __init__(self, interpreter: Any, language: Any) -> None:
        self._interpreter = interpreter
        self._handle = interpreter.TensorHandle
        self._tl = language

    def narrow(self, value: Any) -> str | None:
        """Name of the narrow format of a handle; None for anything else."""
        if isinstance(value, self._handle):
            name: str = getattr(value.dtype.scalar, "name", "")
            if name == "bf16" or name.startswith("fp8"):
                return name
        return None

    def widen(self, value: Any) -> Any:
        """Make a handle of float32 of one of a narrow float; anything else stays as it is."""
        name = self.narrow(value)
        if name is None:
            return value
        return self._handle(codec.decode(value.data, name), self._tl.float32)

    def computed(
        self, original: Callable[..., Any], name: str, *, fp8: bool = False
    ) -> Callable[..., Any]:
        """Compute in float32 and round a float result back."""

        @functools.wraps(original)
        def operation(builder: Any, *args: Any) -> Any:
            formats = {found for arg in args if (found := self.narrow(arg))}
            if not formats:
                return original(builder, *args)
            if not fp8 and formats != {"bf16"}:
                raise _refusal(name, formats)
            last = self.narrow(args[2]) if fp8 else "bf16"  # dot has its accumulator's type
            result = original(builder, *map(self.widen, args))
            if result.data.dtype == np.bool_:
                return self._handle(result.data, self._tl.int1)
            if last is None:
                return result
            return self._handle(codec.encode(result.data, last), self._tl.bfloat16)

        return operation

    def fma(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Multiply and add in float64, where a product is exact, and round once."""

        @functools.wraps(original)
        def create_fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
            name = self.narrow(z)
            if name is None:
                return original(builder, x, y, z)
            if name != "bf16":
                raise _refusal("fma", {name})
            a, b, c = (self.widen(arg).data.astype(np.float64) for arg in (x, y, z))
            return self._handle(codec.encode(a * b + c, name), self._tl.bfloat16)

        return create_fma

    def refused(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Refuse narrow floats."""

        @functools.wraps(original)
        def operation(builder: Any, *args: Any, **kwargs: Any) -> Any:
            formats = {found for arg in args if (found := self.narrow(arg))}
            if formats:
                raise _refusal(name, formats)
            return original(builder, *args, **kwargs)

        return operation

    def cast(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Convert from and to narrow floats, rounding to nearest even."""

        def cast_impl(builder: Any, source: Any, target: Any) -> Any:
            if self.narrow(source) is None and not _is_narrow(target.scalar.name):
                return original(builder, source, target)
            return self._converted(source, target, toward_zero=False)

        return cast_impl

    def fp_to_fp(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Convert between floats with a rounding mode."""
        toward_zero = self._interpreter._ir.ROUNDING_MODE.RTZ

        def create_fp_to_fp(builder: Any, source: Any, target: Any, rounding: Any) -> Any:
            return self._converted(source, target, toward_zero=rounding == toward_zero)

        return functools.wraps(original)(create_fp_to_fp)

    def _converted(self, source: Any, target: Any, *, toward_zero: bool) -> Any:
        scalar = target.scalar
        data = self.widen(source).data
        if _is_narrow(scalar.name):
            data = codec.encode(data, scalar.name, toward_zero=toward_zero)
        else:
            data = codec.cast(data, self._interpreter._get_np_dtype(scalar), toward_zero)
        return self._handle(data, scalar)

    def printed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Print numbers in place of bit patterns."""

        @functools.wraps(original)
        def create_print(
            builder: Any, prefix: Any, hexadecimal: Any, values: Any, signed: Any
        ) -> Any:
            shown = values if hexadecimal else list(map(self.widen, values))
            return original(builder, prefix, hexadecimal, shown, signed)

        return create_print

    def padded_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Refuse to pad with NaN: the interpreter writes that into the bit pattern as 0."""
        nan = self._interpreter._ir.PADDING_OPTION.PAD_NAN

        @functools.wraps(original)
        def load(builder: Any, source: Any, *args: Any, **kwargs: Any) -> Any:
            name = getattr(source.base.get_element_ty(), "name", "")
            padding = getattr(source, "padding", None)
            if _is_narrow(name) and nan in (padding, *args):
                raise _refusal("padding with NaN", {name})
            return original(builder, source, *args, **kwargs)

        return load

    def mxfp_decode(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Decode an operand of ``dot_scaled``; Triton's own goes through float16."""

        def decode(value: Any) -> Any:
            if self.narrow(value) is not None or value.data.dtype == np.float16:
                return self.widen(value).data.astype(np.float32)
            return original(value)

        return decode

    def reduced(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Reduce and scan bfloat16 in float32."""
        tl = self._tl

        def apply(operation: Any, given: Any) -> Any:
            tensors = given if isinstance(given, tuple) else (given,)
            names = [self.narrow(getattr(tensor, "handle", None)) for tensor in tensors]
            if not any(names):
                return original(operation, given)
            if not {*names} <= {None, "bf16"}:
                raise _refusal("reduction", {name for name in names if name})
            wide = tuple(
                tl.tensor(self.widen(tensor.handle), _retyped(tensor.type, tl.float32))
                if name
                else tensor
                for tensor, name in zip(tensors, names, strict=True)
            )
            results = original(operation, wide)
            results = tuple(
                tl.tensor(
                    self._handle(codec.encode(result.handle.data, name), tl.bfloat16),
                    _retyped(result.type, tl.bfloat16),
                )
                if name and result.dtype == tl.float32
                else result
                for result, name in zip(results, names, strict=False)
            )
            return results if isinstance(given, tuple) else results[0]

        return apply


def _is_narrow(name: str) -> bool:
    return name == "bf16" or name.startswith("fp8")


def _retyped(kind: Any, element: Any) -> Any:
    return kind.with_element_ty(element) if kind.is_block() else element


def _refusal(operation: str, names: set[str]) -> ProtonLabError:
    return ProtonLabError(
        f"Triton's interpreter has no {operation} for {', '.join(sorted(names))} (it would compute "
        "on bit patterns); convert to float32 first with .to(tl.float32), or run on a GPU"
    )
