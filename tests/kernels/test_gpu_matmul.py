"""What only the GPU shows: the assembly, sizes that the host does not know, graphs, no waiting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from exact import assert_rounded, expected, random_weight, random_x, relative_error, values_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protonlab.kernels import (
    Epilogue,
    MXFP4Weight,
    PackedWeight,
    Routing,
    matmul,
    matmul_options,
    pack,
    prepare,
)
from protonlab.kernels import _triton as engine

pytestmark = pytest.mark.gpu

ERROR = 4e-3  # of bfloat16's rounding, 1.7e-3 for random numbers
HOPPER = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() != (9, 0),
    reason="the assembly needs a Hopper GPU",
)


@pytest.fixture(params=[False, True], ids=["plain", "assembly"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Dequantise with and without the assembly."""
    if request.param and not engine.has_assembly(torch.device("cuda")):
        pytest.skip("the assembly needs a Hopper GPU")
    monkeypatch.setattr(engine, "has_assembly", lambda device: request.param)
    assembly: bool = request.param
    return assembly


def without_assembly(*args: Any, **kwargs: Any) -> torch.Tensor:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "has_assembly", lambda device: False)
        return matmul(*args, **kwargs)


def on_gpu(sizes: list[int]) -> torch.Tensor:
    return torch.tensor(sizes, dtype=torch.int32, device="cuda")


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.lists(st.one_of(st.just(0), st.integers(0, 70)), min_size=1, max_size=9),
    n=st.integers(1, 700),
    k=st.sampled_from([32, 128, 416, 1024]),
    engine=st.sampled_from(["triton", "auto"]),
    host=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_random_shapes(
    sizes: list[int], n: int, k: int, engine: Any, host: bool, seed: int
) -> None:
    w = pack(random_weight(len(sizes), n, k, seed=seed))
    x = random_x(sum(sizes), k, seed=seed)
    y = matmul(x, w, routing=Routing(sizes if host else on_gpu(sizes)), engine=engine)
    if len(x):
        wanted = expected(x, w, Routing(sizes))
        assert relative_error(y, wanted) < ERROR
        assert_rounded(y, wanted, sums=1e-5)


@pytest.mark.parametrize("engine", ["triton", "auto"])
def test_a_layer_of_full_size_and_offsets_beyond_32_bits(engine: Any) -> None:
    """130 experts, N = K = 5760: 2.16e9 bytes of codes."""
    generator = torch.Generator("cuda").manual_seed(0)
    values = torch.randint(
        0, 256, (130, 45, 45, 8192), generator=generator, dtype=torch.uint8, device="cuda"
    )
    scales = torch.randint(
        236, 255, (130, 45, 45, 512), generator=generator, dtype=torch.uint8, device="cuda"
    )
    w = PackedWeight(values, scales, (130, 5760, 5760), 124, True)
    assert values.numel() > 2**31
    torch.manual_seed(0)
    sizes = torch.bincount(torch.randint(130, (520,)), minlength=130)
    x = torch.randn(520, 5760, device="cuda").to(torch.bfloat16)
    y = matmul(x, w, routing=Routing(sizes.cuda()), engine=engine)
    ends = sizes.cumsum(0).tolist()
    for expert in (0, 77, 129):
        rows = slice(ends[expert] - int(sizes[expert]), ends[expert])
        wanted = x[rows].double() @ values_of(w.expert(expert))[0].T
        assert relative_error(y[rows], wanted) < ERROR


@HOPPER
def test_assembly_and_plain_path_give_the_same_bits() -> None:
    w = pack(random_weight(3, 300, 416, codes=(2, 128)))
    assert w.fast
    for dtype in (torch.bfloat16, torch.float16):
        x = random_x(50, 416, dtype)
        for block_m in (8, 16, 32):
            options = matmul_options(50, 300, 416, experts=3, block_m=block_m)
            how: Any = {"routing": Routing([20, 0, 30]), "options": options}
            assert torch.equal(matmul(x, w, **how), without_assembly(x, w, **how))


def test_every_value_of_the_range_comes_out_exactly(both_ways: bool) -> None:
    """All sixteen codes at all 127 scale codes of the fast path, and at its two other ends."""
    codes = torch.tensor([low | low + 1 << 4 for low in range(0, 16, 2)] * 2, dtype=torch.uint8)
    for low, high in ((2, 128), (128, 254), (64, 190)):
        scales = torch.arange(low, high + 1, dtype=torch.uint8)[:, None]
        w = pack(MXFP4Weight(codes.expand(127, 16).contiguous(), scales).to("cuda"))
        assert w.fast
        x = torch.eye(32, dtype=torch.bfloat16, device="cuda")
        wanted = expected(x, w).to(torch.bfloat16)
        for block_m in (8, 16, 32):  # different instructions
            options = matmul_options(32, 127, 32, block_m=block_m)
            assert torch.equal(matmul(x, w, options=options), wanted)


@pytest.mark.parametrize(
    "sizes",
    [
        [0, 3, 0, 9, 0],
        [0, 0, 300, 0, 0],
        [1, 0, 0, 0, 0],
        [8, 16, 24, 32, 64],
        [9, 17, 25, 33, 65],
        [1] * 5,
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ["triton", "auto"])
def test_ragged_patterns(sizes: list[int], engine: Any) -> None:
    w = pack(random_weight(5, 200, 416))
    x = random_x(sum(sizes), 416)
    for known in (sizes, on_gpu(sizes)):
        y = matmul(x, w, routing=Routing(known), engine=engine)
        assert_rounded(y, expected(x, w, Routing(sizes)), sums=1e-5)


@pytest.mark.parametrize(
    "switches",
    [
        {"flatten_loops": True},
        {"flatten_loops": False},
        {"persistent": False},
        {"flatten_loops": True, "warp_specialize": True},
        {"num_stages": 4},
    ],
    ids=str,
)
def test_every_switch_over_many_steps(switches: dict[str, Any]) -> None:
    """32 K steps a tile and more tiles than programs: every stage of the pipeline comes round."""
    w = pack(random_weight(12, 1500, 4096))
    sizes = [0, 9, 1, 8, 16, 4, 0, 3, 5, 40, 7, 2]
    x = random_x(sum(sizes), 4096)
    options = matmul_options(len(x), 1500, 4096, experts=12, block_m=8, **switches)
    y = matmul(x, w, routing=Routing(sizes), options=options)
    wanted, first = torch.zeros(len(x), 1500, dtype=torch.float64, device="cuda"), 0
    for size, values in zip(sizes, values_of(w), strict=True):
        rows = slice(first, first + size)
        wanted[rows] = x[rows].double() @ values.T
        first += size
    assert_rounded(y, wanted, sums=1e-5)


def test_bad_sizes_on_the_gpu_are_clamped_and_their_rows_zero() -> None:
    w = pack(random_weight(4, 130, 128))
    x = random_x(20, 128)
    for bad, clamped in (
        ([3, -7, 5, 0], [3, 0, 5, 0]),
        ([15, 2**31 - 1, 5, 1], [15, 5, 0, 0]),
        ([-1, -1, -1, -1], [0, 0, 0, 0]),
    ):
        y = matmul(x, w, routing=Routing(on_gpu(bad)))
        known = sum(clamped)
        wanted = torch.zeros(20, 130, dtype=torch.float64, device="cuda")
        if known:
            wanted[:known] = expected(x[:known], w, Routing(clamped))
        assert_rounded(y, wanted, sums=1e-5)
        assert not y[known:].any()
        with pytest.raises(ValueError, match="rows"):
            matmul(x, w, routing=Routing(on_gpu(bad)), debug=True)


def test_indices_outside_of_x_and_y_fault_nothing() -> None:
    w, x = pack(random_weight(2, 130, 128)), random_x(6, 128)
    gather = on_gpu([0, -1, 5, 6, 2**31 - 1, 3]).long()
    scatter = on_gpu([5, 4, -3, 2, 100, 0]).long()
    sizes = [2, 4]
    y = matmul(x, w, routing=Routing(on_gpu(sizes), gather, scatter))
    padded = torch.cat([x, torch.zeros_like(x[:1])])
    known = torch.where((gather >= 0) & (gather < 6), gather, 6)
    rows = expected(padded, w, Routing(sizes, known))
    wanted = torch.zeros_like(rows)
    for place, target in enumerate(scatter.tolist()):
        if 0 <= target < 6:
            wanted[target] = rows[place]
    assert_rounded(y, wanted, sums=1e-5)
    for routing in (Routing(on_gpu(sizes), gather), Routing(on_gpu(sizes), None, scatter)):
        with pytest.raises(ValueError, match=r"gather holds|scatter does not name"):
            matmul(x, w, routing=routing, debug=True)


@pytest.mark.parametrize("engine", ["triton", "auto"])
def test_two_runs_give_the_same_bits(engine: Any) -> None:
    w, x = pack(random_weight(6, 700, 1024)), random_x(96, 1024)
    routing = Routing(on_gpu([0, 40, 8, 1, 30, 17]))
    first = matmul(x, w, routing=routing, engine=engine)
    for _ in range(10):
        assert torch.equal(matmul(x, w, routing=routing, engine=engine), first)
    dense = pack(random_weight(512, 4096))
    options = matmul_options(96, 512, 4096)
    assert options.split_k > 1
    x = random_x(96, 4096)
    first = matmul(x, dense, options=options)
    assert_rounded(first, expected(x, dense), sums=1e-5)
    assert torch.equal(matmul(x, dense, options=options), first)


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Make torch raise where it would wait for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("engine", ["triton", "auto"])
def test_nothing_waits_for_the_gpu(engine: Any) -> None:
    torch.cuda.set_sync_debug_mode("default")
    w, x = pack(random_weight(4, 130, 128)), random_x(20, 128)
    sizes, rows = on_gpu([3, 0, 9, 8]), on_gpu(list(range(20)))
    bias = torch.ones(4, 130, device="cuda")
    routing = Routing(sizes, rows, rows)
    matmul(x, w, routing=routing, epilogue=Epilogue(bias), engine=engine)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    matmul(x, w, routing=Routing(sizes, rows, rows), epilogue=Epilogue(bias), engine=engine)


@pytest.mark.parametrize("engine", ["triton", "auto"])
@pytest.mark.parametrize("prepared", [False, True])
def test_a_graph_holds_schedule_and_matmul(engine: Any, prepared: bool) -> None:
    w, x = pack(random_weight(4, 130, 416)), random_x(40, 416)
    sizes = on_gpu([10, 10, 10, 10])
    routing: Any = Routing(sizes)

    def work() -> torch.Tensor:
        chosen = prepare(x, w, routing, engine=engine) if prepared else routing
        return matmul(x, w, routing=chosen, engine=engine)

    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = work()
    for new in ([10, 10, 10, 10], [40, 0, 0, 0], [0, 1, 0, 39], [13, 9, 1, 17]):
        sizes.copy_(on_gpu(new))
        x.copy_(random_x(40, 416, seed=new[0]))
        y.fill_(float("nan"))
        graph.replay()
        assert_rounded(y, expected(x, w, Routing(new)), sums=1e-5)


def test_a_graph_cannot_hold_sizes_on_the_host() -> None:
    w, x = pack(random_weight(4, 130, 416)), random_x(40, 416)
    routing = Routing([10, 10, 10, 10])
    matmul(x, w, routing=routing)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
        with pytest.raises(
            ValueError, match=r"sizes are on cpu .* captured, .* routing\.to\(x\.dev"
        ):
            matmul(x, w, routing=routing)
    graph.replay()
    assert torch.equal(y, x + 1)


def test_tensors_on_the_cpu_are_told_what_to_do() -> None:
    w = pack(random_weight(64, 64))
    x = random_x(4, 64).cpu()
    with pytest.raises(ValueError, match="w is on cuda:0 and x on cpu"):
        matmul(x, w)
    with pytest.raises(ValueError, match="x is on the CPU and Triton's interpreter is off"):
        matmul(x, w.to("cpu"), engine="triton")
    assert_rounded(matmul(x, w.to("cpu")), expected(x, w.to("cpu")))
