"""The two variants of a comparison: checked, called, and blamed by name when they fail."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from protonlab.capture._platform import interpreting
from protonlab.errors import CaptureError, ProtonLabError
from protonlab.model.units import counted


@dataclass(frozen=True)
class Variant:
    """One of the two callables.

    Parameters
    ----------
    name
        Its name.
    call
        Launches its kernels; what it returns is its output.
    """

    name: str
    call: Callable[[], Any]

    def __call__(self) -> Any:
        """Call it.

        Raises
        ------
        ProtonLabError
            If it raises; CaptureError where it ran out of the GPU's memory, which is then given
            back.
        """
        try:
            return self.call()
        except Exception as error:
            self.blame(error)

    def blame(self, error: Exception) -> NoReturn:
        """Raise what a failure of this variant means.

        Raises
        ------
        ProtonLabError
            Always.
        """
        failed(f"variant {self.name!r}", error)

    def launches_nothing(self, when: str = "") -> NoReturn:
        """Raise what to do where it launches no kernel.

        Raises
        ------
        ProtonLabError
            Always.
        """
        on_interpreter = (
            "; without a GPU kernels are Triton's only, and what torch computes is none"
        )
        raise ProtonLabError(
            f"variant {self.name!r} launched no kernel{when}; give a callable that launches "
            "kernels each time that it is called, not one that returns another function or a "
            f"cached result{on_interpreter if interpreting() else ''}"
        )


def named_setup(setup: Callable[[], Any]) -> Callable[[], None]:
    """Have what goes wrong in a user's setup say where it did."""

    def call() -> None:
        try:
            setup()
        except Exception as error:
            failed("setup", error)

    return call


def failed(what: str, error: Exception) -> NoReturn:
    """Raise what a failure of a user's function means; one of ours says so itself.

    Raises
    ------
    ProtonLabError
        Always.
    """
    if isinstance(error, ProtonLabError):
        raise error
    reason = (str(error).strip().splitlines() or [""])[0]
    if not is_out_of_memory(error):
        raise ProtonLabError(f"{what} raised {type(error).__name__}: {reason}") from error
    # Frames of the traceback hold the tensors that fill the memory.
    traceback.clear_frames(error.__traceback__)
    raise CaptureError(
        f"{what} ran out of the GPU's memory: {reason} Its memory was given back and the GPU can "
        "be used; make the problem smaller or free other tensors"
    ) from None


def explained(error: RuntimeError) -> CaptureError:
    """Turn a failure of torch's between the calls of variants into one sentence."""
    reason = (str(error).strip().splitlines() or [""])[0]
    if is_out_of_memory(error):
        traceback.clear_frames(error.__traceback__)
        return CaptureError(
            f"measuring needs some of the GPU's memory beside the variants', and there is none: "
            f"{reason} Make the problem smaller or free other tensors"
        )
    return CaptureError(
        f"the GPU failed while the variants were measured: {type(error).__name__}: {reason}; if "
        "that was a kernel's illegal access, restart the notebook's kernel: CUDA stays broken"
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the GPU had no memory left."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.OutOfMemoryError)


def release_memory() -> None:
    """Give back what nobody refers to, to the driver too."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        with suppress(RuntimeError):  # a variant's kernel may have broken CUDA
            torch.cuda.empty_cache()


def two_variants(variants: Mapping[str, Callable[[], Any]]) -> tuple[Variant, Variant]:
    """Check what was given to compare.

    Raises
    ------
    ProtonLabError
        If these are not exactly two named callables.
    """
    hint = 'give exactly two, such as {"overlap": f, "serial": g}'
    if not isinstance(variants, Mapping):
        raise ProtonLabError(
            f"variants is a {type(variants).__name__}; give a mapping of names to callables, or a "
            f"function that makes one: {hint}"
        )
    if len(variants) != 2:
        names = ", ".join(map(repr, variants)) or "none"
        raise ProtonLabError(f"{counted(len(variants), 'variant')} ({names}); {hint}")
    for name, call in variants.items():
        if not isinstance(name, str) or not name.strip():
            raise ProtonLabError(f"{name!r} is no name of a variant; give text: {hint}")
        if not callable(call):
            raise ProtonLabError(
                f"variant {name!r} is of type {type(call).__name__} and cannot be called; give a "
                "function without arguments, such as lambda: matmul(x, w)"
            )
    first, second = (Variant(name, call) for name, call in variants.items())
    return first, second
