"""Which way a matmul takes on GPUs that are not Hopper; torch's fake tensors stand for theirs."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from protonlab.kernels import _triton as engine
from protonlab.kernels import matmul_options
from protonlab.kernels._problem import Epilogue, Problem


def problem_on_gpu() -> Problem:
    with FakeTensorMode():
        x = torch.empty(8, 64, dtype=torch.bfloat16, device="cuda")
        w = torch.empty(1, 64, 64, dtype=torch.bfloat16, device="cuda")
        return Problem(x, w, torch.empty_like(x), 64, 64, None, Epilogue())


@pytest.mark.parametrize(
    ("capability", "reason", "assembly"),
    [
        ((7, 5), "it needs bfloat16, so compute capability 8.0, and cuda:0 has (7, 5)", False),
        ((8, 0), None, False),
        ((8, 9), None, False),
        ((9, 0), None, True),
        ((10, 0), None, False),
    ],
)
def test_assembly_is_for_hopper_and_triton_for_ampere_and_later(
    monkeypatch: pytest.MonkeyPatch,
    capability: tuple[int, int],
    reason: str | None,
    assembly: bool,
) -> None:
    monkeypatch.setattr(engine, "_INTERPRETED", False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    problem = problem_on_gpu()
    assert engine.unsupported(problem, matmul_options(8, 64, 64, packed=False)) == reason
    assert engine.has_assembly(problem.x.device) is assembly


def test_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch calls them cuda, too, and some have Hopper's capability."""
    monkeypatch.setattr(engine, "_INTERPRETED", False)
    monkeypatch.setattr(torch.version, "hip", "6.4")
    reason = engine.unsupported(problem_on_gpu(), matmul_options(8, 64, 64, packed=False))
    assert reason == "cuda:0 is an AMD GPU, and the kernels are NVIDIA's"


def test_more_tiles_than_32_bits_count() -> None:
    problem = problem_on_gpu()
    huge = Problem(
        problem.x, problem.w, torch.empty(2**31, 1, device="meta"), 64, 64, None, Epilogue()
    )
    options = matmul_options(2**31, 64, 64, packed=False)
    reason = engine.unsupported(huge, options)
    assert reason is not None
    assert reason.startswith("it counts tiles in 32 bits")
