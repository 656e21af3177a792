"""Variants that a function makes anew for each round, and what an interval over rounds says."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from variant_builders import RATE, comparison
from variant_kernels import ON_CPU, scale

from protonlab import ProtonLabError, compare_variants, load
from protonlab.capture import device
from protonlab.experiment import Measurement, elsewhere
from protonlab.experiment._words import protocol_in_words


def test_each_round_has_variants_of_its_own() -> None:
    made: list[weakref.ref[torch.Tensor]] = []
    alive = []

    def make() -> dict[str, Callable[[], Any]]:
        x = torch.zeros(1, device=device())
        made.append(weakref.ref(x))
        alive.append(sum(each() is not None for each in made))
        return {name: lambda: scale() + x for name in ("one", "two")}

    with Measurement(make, budget_s=60) as measurement:
        while len(made) < 3:
            measurement.step()
        found = measurement.comparison
    assert found.rounds == 2
    assert alive == [1, 2, 2]  # those before are there until these are, and no longer
    assert found.pairs["round"].tolist() == [0.0] * 4 + [1.0] * 4
    assert "variants" in found.protocol["made_anew"]
    assert "in rounds, each with variants" in repr(found)
    assert found.outputs_equal
    assert "8 pairs in 2 rounds" in found.verdict


@pytest.mark.skipif(not ON_CPU, reason="a GPU makes graphs anew")
def test_the_same_variants_make_no_rounds_where_there_are_no_graphs() -> None:
    found = compare_variants({"one": scale, "two": scale}, budget_s=0.3)
    assert found.rounds is None
    assert found.protocol["made_anew"] == []
    assert "anew" not in repr(found)


def test_words_say_what_stayed_in_its_place() -> None:
    known = {
        **{"in_words": "sustained", "seed": 0, "warmup_s": 1.0, "warmup_is_stable": True},
        **{"timer": "Proton", "timer_reason": "", "budget_s": 10, "stop_reason": ""},
    }
    words = protocol_in_words({**known, "made_anew": ["graphs"]}, on_gpu=True)
    assert "in rounds, each with graphs made anew; inputs stayed in one place" in words
    words = protocol_in_words({**known, "made_anew": ["variants", "graphs"]}, on_gpu=True)
    assert "in rounds, each with variants and graphs made anew. Warmed up" in words


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"one": scale}, "1 variant ('one'); give exactly two"),
        (scale, "variants is a function; give a mapping"),
        ({"two": scale, "one": scale}, "made two and one after one and two"),
    ],
)
def test_function_that_makes_something_else(made: Any, says: str) -> None:
    answers = iter([{"one": scale, "two": scale}, made])
    with pytest.raises(ProtonLabError) as caught:
        compare_variants(lambda: next(answers), budget_s=60)  # until the second round
    assert says in str(caught.value)


def test_function_that_raises_is_named() -> None:
    def make() -> Any:
        raise ValueError("no such weights")

    with pytest.raises(ProtonLabError, match="makes the variants raised ValueError: no such w"):
        compare_variants(make)


def test_rounds_are_saved_and_read_back(tmp_path: Path) -> None:
    times = np.array([100.0, 101.0, 102.0, 103.0]), np.array([104.0, 105.0, 110.0, 111.0])
    found = comparison(*times, columns={"round": [0.0, 0.0, 1.0, 1.0]}, metric=RATE)
    found.save(tmp_path / "c.json")
    again = load(tmp_path / "c.json")
    assert again.pairs.equals(found.pairs)
    assert (again.rounds, again.ratio) == (2, found.ratio)
    older = comparison(*times)
    older.save(tmp_path / "c.json")
    assert load(tmp_path / "c.json").rounds is None


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(4.0).expand(3, 4),
        torch.arange(3)[:, None].expand(3, 4)[1:],
        torch.arange(10.0).unfold(0, 4, 1),
        torch.arange(100).reshape(10, 10)[2:5, 3:9:2],
        torch.ones(2, 2).to(torch.float8_e4m3fn).t(),
        torch.tensor([1 + 2j]).conj(),
        torch.tensor(3.0),
        torch.empty(1, 8)[:, :0],
        torch.empty(0).as_strided((0, 1), (2**26, 1)),
    ],
    ids=["expanded", "column", "windows", "part", "fp8", "conjugate", "scalar", "none", "no rows"],
)
def test_copy_elsewhere_is_the_same_tensor_however_it_lies(tensor: torch.Tensor) -> None:
    copy = elsewhere(tensor)
    assert (copy.shape, copy.stride(), copy.dtype) == (tensor.shape, tensor.stride(), tensor.dtype)
    assert copy.tolist() == tensor.tolist()
    assert copy.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("tensor", "what"),
    [
        ([1, 2], "list"),
        (torch.eye(2).to_sparse(), "torch.sparse_coo"),
    ],
)
def test_what_is_no_dense_tensor_is_refused(tensor: Any, what: str) -> None:
    with pytest.raises(ProtonLabError, match=f"one dense tensor, .* of type {what}; give it"):
        elsewhere(tensor)


@pytest.mark.parametrize("transposed", [False, True])
def test_copy_elsewhere_is_the_same_tensor(transposed: bool) -> None:
    tensor = torch.arange(24, dtype=torch.int16).reshape(2, 3, 4)
    if transposed:
        tensor = tensor.transpose(0, 2)
    places = set()
    for _ in range(8):
        copy = elsewhere(tensor)
        assert copy.equal(tensor)
        assert copy.stride() == tensor.stride()
        gap = copy.storage_offset() * copy.element_size()
        assert gap % 512 == 0
        places.add(gap)
    assert len(places) > 4
