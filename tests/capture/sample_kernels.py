"""Kernels for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
import triton
import triton.language as tl

from protonlab import Session
from protonlab.capture import device
from protonlab.model.clocks import clock_notes

BLOCK = 64


def triton_kernels(session: Session) -> pd.DataFrame:
    """Rows of the kernels that the hook saw; on a GPU, torch launches some beside them."""
    kernels = session.profile.kernels
    return kernels[kernels["hook"].isin(["kept", "filtered"])]


def add_metadata(grid: Any, metadata: Any, args: dict[str, Any]) -> dict[str, Any]:
    n = args["n"]
    return {
        "name": f"{metadata.name} [n={n}]",
        "bytes": 12 * n,
        "flops32": n,
        "n_tokens": 8,
        "share": 0.25,
    }


@triton.jit(launch_metadata=add_metadata)
def add_kernel(x_ptr, y_ptr, out_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + tl.load(y_ptr + offs, mask=mask), mask=mask)


@triton.jit
def plain_kernel(x_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, 2 * x, mask=offs < n)


class Answers:
    """Launch metadata chosen by the test: the next answer is returned, or raised."""

    def __init__(self) -> None:
        self.queue: list[Any] = []
        self.calls: list[tuple[Any, Any, dict[str, Any]]] = []

    def __call__(self, grid: Any, metadata: Any, args: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((grid, metadata, args))
        answer = self.queue.pop(0) if self.queue else {}
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer


answers = Answers()


@triton.jit(launch_metadata=answers)
def told_kernel(x_ptr, n, SIZE: tl.constexpr = 64):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(x_ptr + offs, x + 1, mask=offs < n)


def add(n: int = 128) -> torch.Tensor:
    x = torch.arange(n, device=device(), dtype=torch.float32)
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(n, BLOCK),)](x, x, out, n, SIZE=BLOCK)
    return out


def plain(n: int = 128) -> torch.Tensor:
    x = torch.ones(n, device=device())
    plain_kernel[lambda meta: (triton.cdiv(meta["n"], meta["SIZE"]),)](x, n, SIZE=BLOCK)
    return x


def told(*queue: Any, launches: int | None = None) -> torch.Tensor:
    """Launch `told_kernel` once an answer."""
    answers.queue[:] = list(queue)
    answers.calls.clear()
    x = torch.zeros(BLOCK, device=device())
    for _ in range(len(queue) if launches is None else launches):
        told_kernel[(1,)](x, BLOCK)
    return x


def row(session: Session, name: str) -> dict[str, Any]:
    """Metrics that a kernel of this name has, missing ones left out."""
    frames = session.profile.frames
    rows = (frames["name"] == name) & (frames["kind"] == "kernel")
    (found,) = frames[rows].to_dict("records")
    metrics = [column.column for column in session.profile.columns]
    return {key: found[key] for key in metrics if not _missing(found[key])}


def _missing(value: Any) -> bool:
    return value is None or (not isinstance(value, tuple) and bool(np.isnan(float(value))))


def notes(session: Session) -> list[str]:
    """Notes of a profile, without what its clocks did: a GPU may be busy with others' work."""
    info = session.profile.info
    return [note for note in info.notes if note not in clock_notes(info.clocks)]


def record(*queue: Any, **options: Any) -> Session:
    with Session(**options) as session:
        told(*queue)
    return session


def metrics(session: Session, name: str = "told_kernel") -> dict[str, Any]:
    found = row(session, name)
    assert found.pop("count") >= 1
    assert found.pop("time_ns") > 0
    return found


N = 64


def values(seed: int) -> torch.Tensor:
    """Bfloat16 of both signs over many magnitudes, shape (N,)."""
    generator = torch.Generator().manual_seed(seed)
    wide = torch.randn(N, generator=generator) * torch.exp(3 * torch.randn(N, generator=generator))
    return wide.to(torch.bfloat16)


def same(found: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(found, wanted.to(found.dtype), rtol=0, atol=0, equal_nan=True)
