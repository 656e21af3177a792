"""The room alone: what importing it loads, and that it works without the rest of the house."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from protonlab import kernels


def run(code: str, **settings: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | settings
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return result.stdout


@pytest.mark.parametrize("name", kernels.__all__)
def test_name_reads_the_same_twice(name: str) -> None:
    assert getattr(kernels, name) is getattr(kernels, name)


def test_names_are_sorted_and_listed() -> None:
    assert sorted(kernels.__all__) == kernels.__all__ == dir(kernels)
    assert set(kernels._HOME) == set(kernels.__all__)
    with pytest.raises(AttributeError, match=r"'protonlab\.kernels' has no attribute 'matmull'"):
        kernels.matmull  # noqa: B018


def test_importing_the_room_loads_neither_torch_nor_triton() -> None:
    code = "import json, sys, protonlab.kernels; print(json.dumps([*sys.modules]))"
    assert not {"torch", "triton", "numpy"} & {*json.loads(run(code))}


def test_room_works_alone() -> None:
    """Also on the interpreter as Triton ships it, which truncates where it should round."""
    code = """
import json, sys
import torch
from protonlab.kernels import Routing, matmul, pack, quantize_mxfp4
device = "cuda" if torch.cuda.is_available() else "cpu"
generator = torch.Generator().manual_seed(0)
x = torch.randint(-9, 10, (9, 96), generator=generator).to(device, torch.bfloat16)
w = pack(quantize_mxfp4(torch.randn(2, 70, 96, generator=generator).to(device)))
routing = Routing([4, 5])
y = matmul(x, w, routing=routing, engine="triton")
assert torch.equal(y, matmul(x, w, routing=routing, engine="reference"))
ours = [name for name in sys.modules if name.startswith("protonlab.")]
print(json.dumps([name for name in ours if not name.startswith("protonlab.kernels")]))
"""
    assert json.loads(run(code)) == ["protonlab.errors"]


def test_without_gpu_and_interpreter_the_reference_computes() -> None:
    code = """
import torch
from protonlab.kernels import Routing, matmul, pack, prepare, quantize_mxfp4
generator = torch.Generator().manual_seed(0)
x = torch.randint(-9, 10, (9, 96), generator=generator).to(torch.bfloat16)
w = pack(quantize_mxfp4(torch.randn(2, 70, 96, generator=generator)))
y = matmul(x, w, routing=Routing([4, 5]))
prepared = prepare(x, w, Routing([4, 5]))
assert torch.equal(matmul(x, w, routing=prepared), y)
assert torch.equal(matmul(x[:4], w.expert(0)), y[:4])
print(prepared.options.engine)
"""
    assert run(code, TRITON_INTERPRET="0", CUDA_VISIBLE_DEVICES="").strip() == "reference"
