"""Training in small: a loop whose steps are known by their launches, and what a rank leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from protonlab import Profile, RankSession, device
from protonlab.capture import _proton, enable_interpreter
from protonlab.model.manifest import RankManifest
from protonlab.runs._recording_steps import Steps

enable_interpreter()  # without a GPU
PHASES = _proton.require().has_phases
apart = pytest.mark.skipif(not PHASES, reason="steps are told apart from Triton 3.7 on")


@triton.jit
def _scale(x_ptr, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0.5 * tl.load(x_ptr + at, at < n), at < n)


def launch(times: int = 1) -> None:
    x = torch.ones(16, device=device())
    for _ in range(times):
        _scale[(1,)](x, 16, BLOCK=16)


def train(steps: int, *, each: Callable[[int], None] | None = None) -> None:
    """Step k launches k + 1 times."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for step in range(steps):
        if each is not None:
            each(step)
        launch(step + 1)
        weight.grad = torch.ones(2)
        optimizer.step()


def launches(profile: Profile) -> int:
    """Count the launches of Triton's kernel: on a GPU torch's are there, too."""
    kernels = profile.kernels
    return int(kernels[kernels["name"] == "_scale"]["count"].sum())


def by_step(profile: Profile) -> list[int]:
    """Count the launches of each step that is told apart."""
    return [launches(profile.repeat(each)) for each in range(profile.info.repeats)]


def windowed(folder: Path, first: int, end: int | None, scope: str | None = None) -> RankSession:
    """Make a session of some steps, which counts but does not record yet."""
    session = RankSession(folder)
    session.steps = Steps(session, first, end, scope)
    session.announce()
    return session


def manifest(folder: Path, name: str = "rank-00000.json") -> RankManifest:
    return RankManifest.parse((folder / name).read_bytes())
