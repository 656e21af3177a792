"""What a matmul cannot take: a ValueError with the value, the legal ones and the next step."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from exact import DEVICE, random_weight, random_x

from protonlab import ProtonLabError
from protonlab.kernels import Epilogue, Routing, matmul, matmul_options, pack, prepare

W = pack(random_weight(64, 64))
EXPERTS = pack(random_weight(2, 64, 64))
X = random_x(5, 64)
ROUTING = Routing([2, 3])


def index(*values: int) -> torch.Tensor:
    return torch.tensor(values)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X.float(), r"x is torch\.float32; matmul takes float16 and bfloat16"),
        (X[0], r"x has the shape \(64,\); give \(rows, K\)"),
        (X[:, :32], r"x has the shape \(5, 32\) and w \(64, 64\)"),
        (random_x(64, 5).T, r"x has the strides \(1, 5\); .* x\.contiguous\(\)"),
        (X.to("meta"), "x is on meta; matmul runs on cuda and cpu"),
        (X.clone().requires_grad_(), r"under torch\.no_grad\(\) or give x\.detach\(\)"),
        ([1.0], "x is a list"),
    ],
    ids=lambda value: "" if isinstance(value, torch.Tensor) else str(value)[:30],
)
def test_x(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        matmul(x, W)
    assert isinstance(caught.value, ProtonLabError)


@pytest.mark.parametrize(
    ("w", "message"),
    [
        (random_weight(64, 64), r"not packed; pack it once, .*: w = pack\(w\)"),
        (EXPERTS, r"w holds 2 experts and there is no routing; .* routing=Routing\(sizes\)"),
        (torch.zeros(64, 64, device=DEVICE), r"w is torch\.float32 .* pack\(quantize_mxfp4\(w\)\)"),
        (torch.zeros(64, device=DEVICE).to(X.dtype), r"shape \(N, K\) or \(E, N, K\)"),
        (random_x(64, 64).T, "w has the strides"),
        (dataclasses.replace(W, values=W.values[..., 1:]), "packed values are"),
        (dataclasses.replace(W, shape=(64, 160)), "packed values are"),
        (W.to("meta"), "w is on meta and x on"),
        (random_x(0, 64), r"w has the shape \(0, 64\)"),
        (3, "w is a int"),
        (
            dataclasses.replace(
                W,
                values=torch.cat([W.values.flatten()[:1], W.values.flatten()])[1:].view(
                    1, 1, 1, -1
                ),
            ),
            r"packed values begin 1 bytes into their storage; .* values\.clone\(\)",
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_w(w: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matmul(X, w)


@pytest.mark.parametrize(
    ("routing", "message"),
    [
        (lambda: Routing([2, 2]), "sizes sum to 4, but 5 rows are computed"),
        (lambda: Routing([7, -2]), "expert 1 has -2 rows; sizes start at 0"),
        (lambda: Routing([5]), "sizes for 1 experts and w holds 2"),
        (lambda: Routing([]), "sizes are empty"),
        (lambda: Routing([2.5, 2.5]), "each is a number of rows, an int"),  # type: ignore[list-item]
        (lambda: Routing(5), r"sizes are 5; each is a number of rows, .* Routing\(\[3, 0, 5\]\)"),  # type: ignore[arg-type]
        (lambda: Routing([2**70]), "each is a number of rows, an int"),
        (lambda: Routing([2, 3], [0, 1]), r"gather is a list; .* torch\.tensor\(gather\)"),  # type: ignore[arg-type]
        (lambda: Routing(torch.tensor([2.0, 3.0])), r"sizes are torch\.float32"),
        (lambda: Routing(torch.tensor([[2, 3]])), r"of shape \(1, 2\)"),
        (lambda: Routing([2, 3], index(0, 1, 2, 3, 5)), "gather holds 0 to 5, but x has the rows"),
        (lambda: Routing([2, 3], index(0, 1, 2, 3, -1)), "gather holds -1 to 3"),
        (lambda: Routing([2, 3], index(0, 1, 2)), "sizes sum to 5, but 3 rows"),
        (lambda: Routing([2, 2], None, index(0, 1, 2, 3)), "every one of x's 5 rows"),
        (
            lambda: Routing([2, 3], None, index(0, 1, 2, 3, 3)),
            "in order, entry 4 is 3; give a perm",
        ),
        (
            lambda: Routing([2, 3], index(0, 1), index(0, 1, 2)),
            "gather has 2 entries and scatter 3",
        ),
        (lambda: Routing([2, 3], index(0, 1, 2, 3, 4).float()), r"gather are torch\.float32"),
        (lambda: [2, 3], "routing is a list; give Routing"),
    ],
)
def test_routing(routing: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matmul(X, EXPERTS, routing=routing())


@pytest.mark.parametrize(
    ("epilogue", "message"),
    [
        (
            lambda: Epilogue(torch.zeros(63, device=DEVICE)),
            r"give floats of shape \(64,\) or \(1, 64\)",
        ),
        (lambda: Epilogue(torch.zeros(64, device=DEVICE).int()), r"bias is torch\.int32"),
        (lambda: Epilogue(torch.zeros(64, device="meta")), "bias is on meta"),
        (lambda: Epilogue(activation="gelu"), "activation is 'gelu'; give None or 'swiglu'"),  # type: ignore[arg-type]
        (
            lambda: Epilogue(activation="swiglu", limit=0.0),
            r"limit is 0\.0; give a positive number",
        ),
        (lambda: Epilogue(activation="swiglu", limit="7"), "limit is '7'; give a number"),  # type: ignore[arg-type]
        (lambda: Epilogue(activation="swiglu", alpha=None), "alpha is None; give a number"),  # type: ignore[arg-type]
        (lambda: Epilogue([1.0]), "bias is a list; give a floating-point tensor"),  # type: ignore[arg-type]
        (
            lambda: Epilogue(torch.zeros(64, device=DEVICE).requires_grad_()),
            r"bias requires a gradient, .* bias\.detach\(\)",
        ),
        (lambda: "swiglu", "epilogue is a str; give Epilogue"),
    ],
)
def test_epilogue(epilogue: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matmul(X, W, epilogue=epilogue())


def test_swiglu_takes_pairs() -> None:
    with pytest.raises(ValueError, match="w has N = 63; give an even N"):
        matmul(X, pack(random_weight(63, 64)), epilogue=Epilogue(activation="swiglu"))


def test_engine_and_options() -> None:
    options = matmul_options(5, 64, 64)
    with pytest.raises(ValueError, match="engine is 'cuda'; give one of 'auto', "):
        matmul(X, W, engine="cuda")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="engine='reference' and options for 'triton' contradict"):
        matmul(X, W, engine="reference", options=options)
    with pytest.raises(
        ValueError, match="overlap_epilogue=False and options with flatten_loops=True"
    ):
        matmul(X, W, overlap_epilogue=False, options=options)
    with pytest.raises(ValueError, match=r"options are a dict; make them with matmul_options"):
        matmul(X, W, options={"block_m": 8})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="overlap_epilogue='no' is no position of the switch"):
        matmul(X, W, overlap_epilogue="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="block_m=7 cannot be chosen; give one of"):
        dataclasses.replace(options, block_m=7)
    with pytest.raises(ValueError, match=r"are a plain weight's, and w is packed"):
        matmul(X, W, options=matmul_options(5, 64, 64, packed=False))
    split = matmul_options(5, 64, 64, split_k=2)
    with pytest.raises(ValueError, match="split_k=2 goes without routing only"):
        matmul(X, EXPERTS, routing=ROUTING, options=split)
    with pytest.raises(ValueError, match="split_k=2 goes without routing only"):
        prepare(X, EXPERTS, ROUTING, options=split)


def test_a_prepared_routing_serves_one_kind_of_matmul() -> None:
    routing = prepare(X, EXPERTS, ROUTING, engine="triton")
    bias = Epilogue(torch.zeros(64, device=DEVICE))
    plain = torch.zeros(2, 64, 64, dtype=X.dtype, device=DEVICE)
    others: list[tuple[dict[str, Any], str]] = [
        ({"w": pack(random_weight(2, 96, 64))}, r"was prepared for \(N, K, rows of x\) = \(64, "),
        (
            {"epilogue": bias},
            "this one moves 2176 and 1536: its kind of weight, bias or activation",
        ),
        ({"w": plain}, "and this one moves 8192 and 1280"),
        ({"engine": "reference"}, "was prepared for engine 'triton', and engine='reference' cuts"),
        (
            {"options": matmul_options(5, 64, 64, experts=2, block_m=64)},
            r"differ in block_m \(\d+ a",
        ),
    ]
    for changed, message in others:
        how: dict[str, Any] = {"w": EXPERTS, "routing": routing} | changed
        with pytest.raises(ValueError, match=message):
            matmul(X, **how)
    with pytest.raises(ValueError, match=r"nothing to prepare: give Routing\(sizes\)"):
        prepare(X, W, None)  # type: ignore[arg-type]


def test_nothing_is_launched_before_everything_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from protonlab.kernels import _engines

    def launched(*args: Any) -> None:
        raise AssertionError("launched")

    for name, engine in _engines.ENGINES.items():
        monkeypatch.setitem(_engines.ENGINES, name, dataclasses.replace(engine, launch=launched))
    with pytest.raises(ValueError, match="limit"):
        matmul(X, W, epilogue=Epilogue(limit=-1))
    with pytest.raises(AssertionError, match="launched"):
        matmul(X, W)
