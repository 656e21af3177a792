"""A matmul with random inputs on the GPU, as two callables: epilogue overlap on, and off."""

from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from protonlab.epilogue._choices import METRIC
from protonlab.epilogue._gpu import has_upstream
from protonlab.epilogue._upstream import Upstream
from protonlab.errors import CaptureError, MissingDependencyError
from protonlab.experiment import elsewhere
from protonlab.experiment._variants import release_memory
from protonlab.kernels import (
    MXFP4Weight,
    PackedWeight,
    Routing,
    matmul,
    matmul_options,
    pack,
    prepare,
    quantize_mxfp4,
)
from protonlab.model.epilogue_sweep import OVERLAP, SERIAL, EpilogueCase

_PART = 8  # experts whose weights are made at a time
_EQUAL_FROM = 256  # tokens an expert: beyond, chance no longer decides how many there are
_COPIES = 4  # as made, as a kernel wants it, and that where it lies now and lay before
_SPARE = 1.25  # of the memory that is counted: schedules, graphs, what L2 is emptied with


@dataclass(frozen=True)
class EpilogueCalls:
    """One case, ready to be measured.

    Parameters
    ----------
    make
        Makes ``"overlap"`` and ``"serial"``, callables that launch the matmul, with weights, inputs
        and outputs elsewhere in memory than those that it made before.
    metric
        What to measure them by: ours records bytes, upstream's counts them on the GPU.
    n_bytes
        Weights and scales of experts with rows, x and y, each once.
    """

    make: Callable[[], Mapping[str, Callable[[], torch.Tensor]]]
    metric: str
    n_bytes: int


class EpilogueWeights:
    """Random weights of one shape, for either kernel; made once for many numbers of tokens.

    Parameters
    ----------
    experts, n, k
        Shape.
    device
        ``"cpu"`` for Triton's interpreter.
    """

    def __init__(self, experts: int, n: int, k: int, device: str = "cuda") -> None:
        self.shape = (experts, n, k)
        self._device = device
        self._whole: MXFP4Weight | None = None
        self._packed: PackedWeight | None = None
        self._upstream: Upstream | None = None

    def make(self, kernel: str) -> Iterator[float]:
        """Make what a kernel needs, in short steps; yields the share that is done.

        Raises
        ------
        CaptureError
            If the GPU has too little memory.
        MissingDependencyError
            If upstream's kernel is asked for and not installed.
        """
        experts, n, k = self.shape
        if kernel == "upstream" and not has_upstream():
            raise MissingDependencyError(
                "kernel='upstream' needs the package triton_kernels, which Triton's repository "
                "holds (python/triton_kernels); kernel='ours' needs nothing"
            )
        with giving_memory_back(f"weights of {experts} experts, {n} x {k}"):
            if self._whole is None:
                self._check_memory()
                generator = torch.Generator(self._device).manual_seed(0)
                parts: list[MXFP4Weight] = []
                for first in range(0, experts, _PART):
                    size = (min(_PART, experts - first), n, k)
                    values = torch.randn(
                        size, device=self._device, dtype=torch.bfloat16, generator=generator
                    )
                    parts.append(quantize_mxfp4(values))
                    self._wait()
                    yield 0.8 * (first + size[0]) / experts
                self._whole = MXFP4Weight(
                    torch.cat([part.codes for part in parts]),
                    torch.cat([part.scales for part in parts]),
                )
                parts.clear()
            if kernel == "ours" and self._packed is None:
                self._packed = pack(self._whole)
            elif kernel == "upstream" and self._upstream is None:
                self._upstream = Upstream(self._whole)
            self._wait()
        yield 1.0

    def calls(self, case: EpilogueCase, *, seed: int = 0) -> EpilogueCalls:
        """Get a case ready, of which ``overlap`` comes first. `make` was exhausted before.

        Tokens are spread over the experts at random, and evenly from 256 an expert on.
        """
        experts, n, k = self.shape
        host = torch.Generator().manual_seed(seed)
        rows = case.tokens * experts
        if case.tokens < _EQUAL_FROM:
            sizes = torch.bincount(
                torch.randint(experts, (rows,), generator=host), minlength=experts
            )
        else:
            sizes = torch.full((experts,), case.tokens)
        n_bytes = int((sizes > 0).sum()) * n * k * 17 // 32 + 2 * rows * (n + k)
        generator = torch.Generator(self._device).manual_seed(seed)
        with giving_memory_back(str(case)):
            x = torch.randn(rows, k, device=self._device, dtype=torch.bfloat16, generator=generator)
        if case.kernel == "upstream":
            assert self._upstream is not None
            theirs = functools.partial(_theirs, case, self._upstream, x, sizes)
            return EpilogueCalls(theirs, "time/us", n_bytes)
        assert self._packed is not None
        return EpilogueCalls(
            functools.partial(_ours, case, self._packed, x, sizes), METRIC, n_bytes
        )

    def close(self) -> None:
        """Give the GPU's memory back."""
        self._whole = self._packed = self._upstream = None
        release_memory()

    def _wait(self) -> None:
        if self._device != "cpu":
            torch.cuda.synchronize()

    def _check_memory(self) -> None:
        """Refuse what cannot fit before anything is allocated."""
        if self._device == "cpu":
            return
        experts, n, k = self.shape
        part = min(_PART, experts) * n * k * (2 + 4)
        needed = int(_SPARE * (_COPIES * experts * n * k * 17 // 32 + part))
        free, total = torch.cuda.mem_get_info()
        if needed > free:
            raise CaptureError(
                f"{experts} experts with N = {n}, K = {k} need about {needed / 1e9:.1f} GB of the "
                f"GPU's memory, and {free / 1e9:.1f} of {total / 1e9:.1f} GB are free; take fewer "
                "experts or a smaller N or K, or free other tensors"
            )


def _ours(
    case: EpilogueCase, packed: PackedWeight, x: torch.Tensor, sizes: torch.Tensor
) -> dict[str, Callable[[], torch.Tensor]]:
    """Make both settings of our kernel, elsewhere in memory."""
    made: dict[str, Callable[[], torch.Tensor]] = {}
    with giving_memory_back(str(case)):
        x, w = (
            elsewhere(x),
            dataclasses.replace(
                packed, values=elsewhere(packed.values), scales=elsewhere(packed.scales)
            ),
        )
        for name in (OVERLAP, SERIAL):
            options = matmul_options(
                len(x), case.n, case.k, experts=case.experts, overlap_epilogue=name == OVERLAP
            )
            routing = prepare(x, w, Routing(sizes), options=options)
            made[name] = functools.partial(matmul, x, w, routing=routing, options=options)
    return made


def _theirs(
    case: EpilogueCase, upstream: Upstream, x: torch.Tensor, sizes: torch.Tensor
) -> dict[str, Callable[[], torch.Tensor]]:
    """Make both settings of upstream's kernel, elsewhere in memory."""
    with giving_memory_back(str(case)):
        x, moved, on_gpu = elsewhere(x), upstream.elsewhere(), sizes.to(x.device)
        return {name: moved.call(x, on_gpu, flatten=name == OVERLAP) for name in (OVERLAP, SERIAL)}


@contextmanager
def giving_memory_back(what: str) -> Iterator[None]:
    """Turn running out of the GPU's memory into an error that says what wanted it.

    Raises
    ------
    CaptureError
        If it ran out.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        traceback.clear_frames(error.__traceback__)  # they hold the tensors
    else:
        return
    release_memory()
    raise CaptureError(
        f"the GPU's memory does not hold {what}; what was made of it was given back. Take fewer "
        "experts, fewer tokens, or a smaller N or K"
    )
