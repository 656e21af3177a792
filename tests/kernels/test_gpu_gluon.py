"""The Gluon engine on a Hopper GPU: every row class, parts of K, bias and scatter at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
from exact import assert_rounded, expected, random_weight, random_x

from protonlab import Session
from protonlab.kernels import Epilogue, Routing, matmul, matmul_options, pack
from protonlab.kernels._row_classes import CLASSES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available()
        or torch.cuda.get_device_capability() != (9, 0)
        or tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 9),
        reason="needs a Hopper GPU and Triton 3.9",
    ),
]


@pytest.mark.parametrize("rows", CLASSES)
def test_each_row_class(rows: int) -> None:
    sizes = [rows, 0, rows - 1, 1, rows + 3]
    w, x = pack(random_weight(5, 700, 416)), random_x(sum(sizes), 416)
    options = matmul_options(len(x), 700, 416, experts=5, engine="gluon", row_classes=(rows,))
    y = matmul(x, w, routing=Routing(sizes), options=options)
    assert_rounded(y, expected(x, w, Routing(sizes)), sums=1e-5)


@pytest.mark.parametrize(
    ("strips", "num_stages", "num_warps"), [(1, 2, 4), (2, 8, 4), (6, 2, 4), (7, 2, 8), (8, 8, 8)]
)
def test_short_and_long_rings(strips: int, num_stages: int, num_warps: int) -> None:
    n = 128 * max(strips, 2)
    w, x = pack(random_weight(3, n, 1056)), random_x(19, 1056)
    most = {"strips": strips, "num_stages": num_stages, "num_warps": num_warps}
    options = matmul_options(19, n, 1056, experts=3, engine="gluon", row_classes=(8,), **most)
    y = matmul(x, w, routing=Routing([8, 0, 11]), options=options)
    assert_rounded(y, expected(x, w, Routing([8, 0, 11])), sums=1e-5)


@pytest.mark.parametrize("rows", [1, 8, 64, 100, 300])
@pytest.mark.parametrize("split_k", [1, 3, 4])
def test_parts_of_k(rows: int, split_k: int) -> None:
    w, x = pack(random_weight(520, 1088)), random_x(rows, 1088)
    options = matmul_options(rows, 520, 1088, engine="gluon", split_k=split_k)
    y = matmul(x, w, options=options)
    assert_rounded(y, expected(x, w), sums=1e-5)
    assert torch.equal(matmul(x, w, options=options), y)


def test_bias_gather_and_scatter() -> None:
    sizes = [5, 0, 20, 3]
    w, x = pack(random_weight(4, 200, 160)), random_x(28, 160)
    order = torch.randperm(28, generator=torch.Generator().manual_seed(0)).cuda()
    routing: Any = Routing(torch.tensor(sizes).cuda(), order, order.flip(0))
    epilogue = Epilogue(torch.randn(4, 200, generator=torch.Generator().manual_seed(2)).cuda())
    y = matmul(x, w, routing=routing, epilogue=epilogue, engine="gluon")
    assert_rounded(y, expected(x, w, routing, epilogue), sums=1e-5)


@pytest.mark.parametrize(("rows", "n", "engine"), [(4, 5120, "triton"), (32, 5120, "gluon")])
def test_one_weight_takes_the_engine_that_was_faster(rows: int, n: int, engine: str) -> None:
    w, x = pack(random_weight(n, 256)), random_x(rows, 256)
    with Session() as session:
        y = matmul(x, w)
    (name,) = (name for name in session.profile.kernels["name"] if name.startswith("matmul"))
    assert ("gluon" in name) == (engine == "gluon")
    assert torch.equal(y, matmul(x, w, engine=engine))
