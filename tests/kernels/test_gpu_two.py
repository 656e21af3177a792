"""Two GPUs: a matmul runs where its tensors lie, whichever GPU is the current one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from exact import assert_rounded, expected, random_weight, random_x

from protonlab.kernels import (
    Epilogue,
    PackedWeight,
    Routing,
    dequantize,
    matmul,
    pack,
    prepare,
    quantize_mxfp4,
    unpack,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        torch.cuda.device_count() < 2,
        reason=f"needs two GPUs, and there are {torch.cuda.device_count()}",
    ),
]
SIZES = [3, 0, 21, 9]


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["second", "first"])
def other(request: pytest.FixtureRequest) -> Any:
    """Give a GPU, while another one is the current one."""
    current, used = request.param
    with torch.cuda.device(current):
        yield torch.device("cuda", used)
        assert torch.cuda.current_device() == current


def weight(device: torch.device) -> PackedWeight:
    return pack(random_weight(4, 200, 160).to(device))


@pytest.mark.parametrize("engine", ["triton", "auto", "reference"])
@pytest.mark.parametrize("on_gpu", [False, True], ids=["host sizes", "GPU sizes"])
def test_a_mixture(other: torch.device, engine: Any, on_gpu: bool) -> None:
    w, x = weight(other), random_x(33, 160).to(other)
    order = torch.randperm(33, generator=torch.Generator().manual_seed(0))
    sizes: Any = torch.tensor(SIZES).to(other) if on_gpu else SIZES
    routing = Routing(sizes, order.to(other), order.flip(0).to(other))
    epilogue = Epilogue(torch.linspace(-1, 1, 200, device=other))
    y = matmul(x, w, routing=routing, epilogue=epilogue, engine=engine)
    assert y.device == other
    known = Routing(SIZES, order.to(other), order.flip(0).to(other))
    assert_rounded(y, expected(x, w, known, epilogue), sums=1e-5)


@pytest.mark.parametrize("engine", ["triton", "auto"])
def test_a_prepared_routing_in_a_graph(other: torch.device, engine: Any) -> None:
    w, x = weight(other), random_x(33, 160).to(other)
    sizes = torch.tensor(SIZES).to(other)

    def work() -> torch.Tensor:
        return matmul(x, w, routing=prepare(x, w, Routing(sizes), engine=engine))

    work()
    torch.cuda.synchronize(other)
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream(other)  # torch's own is the first GPU's for good
    with torch.cuda.device(other), torch.cuda.graph(graph, stream=stream):
        y = work()
    y.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize(other)
    assert_rounded(y, expected(x, w, Routing(SIZES)), sums=1e-5)


def test_one_weight_and_parts_of_k(other: torch.device) -> None:
    w, x = pack(random_weight(256, 2048).to(other)), random_x(9, 2048).to(other)
    assert_rounded(matmul(x, w, engine="triton"), expected(x, w), sums=1e-5)
    plain = dequantize(unpack(w), torch.bfloat16)
    assert_rounded(matmul(x, plain), expected(x, plain), sums=1e-5)


def test_quantising_and_packing(other: torch.device) -> None:
    w = torch.randn(2, 96, 64, generator=torch.Generator().manual_seed(0))
    there, here = quantize_mxfp4(w.to(other)), quantize_mxfp4(w)
    back = unpack(pack(there))
    assert back.device == other
    assert torch.equal(back.codes.cpu(), here.codes)
    assert torch.equal(back.scales.cpu(), here.scales)


def test_tensors_on_both_are_refused(other: torch.device) -> None:
    w, x = weight(other), random_x(33, 160)
    away = torch.device("cuda", 1 - (other.index or 0))
    with pytest.raises(ValueError, match=r"w is on cuda:\d and x on cuda:\d; move one"):
        matmul(x.to(away), w, routing=Routing(SIZES))
    sizes = torch.tensor(SIZES).to(away)
    with pytest.raises(ValueError, match=r"sizes are on cuda:\d and x on cuda:\d; move them"):
        matmul(x.to(other), w, routing=Routing(sizes))
    bias = torch.zeros(200, device=away)
    with pytest.raises(ValueError, match=r"bias is on cuda:\d .*: bias\.to\(x\.device\)"):
        matmul(x.to(other), w, routing=Routing(SIZES), epilogue=Epilogue(bias))
