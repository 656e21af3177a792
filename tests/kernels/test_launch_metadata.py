"""What Proton hears of a launch, read back through a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import torch
from exact import DEVICE, random_weight, random_x

from protonlab import Session
from protonlab.kernels import Epilogue, Routing, matmul, matmul_options, pack
from protonlab.kernels._options import LEAST_ROWS

E, N, K = 3, 130, 96


def recorded(work: Callable[[], Any]) -> pd.DataFrame:
    """Our kernels by name, with their metrics; torch's own left out."""
    with Session() as session:
        work()
    kernels = session.profile.kernels
    return kernels[kernels["hook"] == "kept"].set_index("name")


def size_of(*tensors: torch.Tensor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def test_the_two_settings_are_two_frames() -> None:
    w, x = pack(random_weight(E, N, K)), random_x(12, K)

    def work() -> None:
        for overlap in (True, False, True):
            matmul(x, w, routing=Routing([4, 0, 8]), overlap_epilogue=overlap, engine="triton")

    found = recorded(work)
    matmuls = found[found.index.str.startswith("matmul")]
    start = "matmul_mxfp4 [12x130x96, experts=3, persistent, "
    assert matmuls["count"].to_dict() == {
        f"{start}flattened, block_m={LEAST_ROWS}]": 2,
        f"{start}not flattened, block_m={LEAST_ROWS}]": 1,
    }
    assert set(matmuls["kernel"]) == {"matmul_kernel"}
    assert found["count"]["moe_schedule [experts=3, rows=12]"] == 3


def test_bytes_are_the_sizes_of_the_tensors() -> None:
    """For the experts that have rows; audited against real tensors of the four-bit weight."""
    rows = random_weight(E, N, K)
    w, x = pack(rows), random_x(9, K)
    gather = torch.arange(12, device=DEVICE) % 9
    scatter = torch.arange(12, device=DEVICE).flip(0).int()
    bias = torch.zeros(E, N, device=DEVICE, dtype=torch.bfloat16)
    routing = Routing([4, 0, 8], gather, scatter)
    epilogue = Epilogue(bias, "swiglu")
    y = torch.empty(0)

    def work() -> None:
        nonlocal y
        y = matmul(x, w, routing=routing, epilogue=epilogue, engine="triton")

    found = recorded(work).filter(like="matmul_mxfp4", axis=0).iloc[0]
    active = [0, 2]
    moved = size_of(*(part[active] for part in (rows.codes, rows.scales, bias)))
    moved += size_of(x[gather], y, gather, scatter)
    assert found["bytes"] == moved
    assert found["flops16"] == 2 * 12 * N * K
    assert found["n_tokens"] == 12
    assert y.shape == (12, N // 2)


def test_sizes_that_only_the_gpu_knows_are_counted_there() -> None:
    """The schedule's kernel writes the bytes to a tensor, which is the metric."""
    rows = random_weight(E, N, K)
    w, x = pack(rows), random_x(12, K)
    routing = Routing([4, 0, 8])
    # On the interpreter too: a routing whose sizes the host is not told.
    device_sizes = torch.tensor([4, 0, 8], device=DEVICE)
    object.__setattr__(routing, "sizes", device_sizes)

    def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Routing, "host_sizes", None)
            matmul(x, w, routing=routing, engine="triton")

    found = recorded(work).filter(like="matmul_mxfp4", axis=0).iloc[0]
    y = torch.empty(12, N, dtype=x.dtype)
    assert found["bytes"] == size_of(rows.codes[[0, 2]], rows.scales[[0, 2]], x, y)


def test_dense_plain_and_split() -> None:
    w, x = random_x(N, K), random_x(11, K)
    four_bits = random_weight(N, 288)
    wide = random_x(11, 288)
    options = matmul_options(11, N, 288, split_k=3, persistent=False, block_m=16)

    def work() -> None:
        matmul(x, w, engine="triton", overlap_epilogue=True)
        matmul(wide, pack(four_bits), options=options)

    found = recorded(work)
    y = torch.empty(11, N, dtype=x.dtype)
    plain = found.loc["matmul_plain [11x130x96, persistent, flattened, block_m=16]"]
    assert plain["bytes"] == size_of(x, w, y)
    split = found.loc["matmul_mxfp4 [11x130x288, one tile a program, block_m=16, split_k=3]"]
    assert split["bytes"] == size_of(wide, four_bits.codes, four_bits.scales, y)
    parts = found.loc["matmul_sum_parts [11x130, split_k=3]"]
    assert parts["bytes"] == 3 * 11 * N * 4
    assert parts["n_tokens"] == 0
