"""What of the outputs of two variants can be compared, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from protonlab.experiment._outputs import Outputs, compared

X = torch.arange(12.0).reshape(3, 4)
HOLDS_ITSELF: list[Any] = [X]
HOLDS_ITSELF.append(HOLDS_ITSELF)


def told(first: Any, second: Any) -> tuple[bool | None, str]:
    return compared(("one", "two"), Outputs(first), Outputs(second))


@pytest.mark.parametrize(
    ("make", "tensors"),
    [
        (lambda by: (by * X).to_sparse(), "one tensor"),
        (lambda by: (by * X).to_sparse_csr(), "one tensor"),
        (lambda by: torch.nested.nested_tensor([by * X[1], X[2, :2]]), "2 tensors"),
        (lambda by: by * np.arange(4)[::-1], "one tensor"),
        (lambda by: {"a": (by * X).to(torch.float8_e4m3fn), "why": np.str_("b")}, "one tensor"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(nested tensors|Sparse CSR).*")
def test_tensors_of_every_layout_are_compared(make: Any, tensors: str) -> None:
    assert told(make(1), make(1)) == (True, f"identical ({tensors} compared)")
    assert told(make(1), make(2))[0] is False


@pytest.mark.parametrize(
    ("odd", "called"),
    [
        (2**70, "[1] (an int of more than 64 bits)"),
        (np.longdouble(1), "[1] (of numpy's type "),
        (torch.empty(3, device="meta"), "[1] (a meta tensor)"),
    ],
)
def test_what_cannot_be_compared_is_named(odd: Any, called: str) -> None:
    equal, words = told((X, odd), (X, odd))
    assert equal is True
    assert words.startswith(f"identical (one tensor compared, not {called}")
    assert told((X, odd), (2 * X, odd))[0] is False
    assert told(odd, odd)[0] is None


def test_an_output_that_holds_itself_is_not_compared() -> None:
    words = "not compared: a result that holds itself"
    assert told(HOLDS_ITSELF, HOLDS_ITSELF) == (None, words)
