"""Metrics of scopes come through as launch metadata's do; what cannot is named, raising nothing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
import triton.profiler as proton
from sample_kernels import add, notes

from protonlab import Session
from protonlab.capture import _proton
from protonlab.display import summary

VECTORS = _proton.require().records_vectors


def scoped(*entries: dict[str, Any]) -> Session:
    """Enter one scope with each of these metrics."""
    with Session() as session:
        for entry in entries:
            with proton.scope("step", metrics=entry):
                add()
    return session


def recorded(session: Session) -> dict[str, Any]:
    """Metrics of the scope, missing ones left out."""
    frames = session.profile.frames
    (row,) = frames[frames["name"] == "step"].to_dict("records")
    columns = [each.column for each in session.profile.columns]
    return {
        key: row[key]
        for key in columns
        if isinstance(row[key], tuple) or (row[key] is not None and row[key] == row[key])
        if key not in ("count", "time_ns")
        if str(row[key]) != "<NA>"
    }


@pytest.mark.parametrize(
    ("value", "sum_of_two"),
    [
        (1.5, 3.0),
        (2, 4),
        (True, 2),
        (np.float32(1.5), 3.0),
        (np.int16(3), 6),
        (np.array(1.5), 3.0),
        (torch.tensor(1.5), 3.0),
        (torch.tensor(1.5, dtype=torch.bfloat16), 3.0),
        (torch.tensor(7, dtype=torch.uint8), 14),
    ],
    ids=["float", "int", "bool", "float32", "int16", "array", "tensor", "bfloat16", "uint8"],
)
def test_numbers_of_each_kind(value: Any, sum_of_two: float) -> None:
    session = scoped({"loss": value}, {"loss": value})
    assert recorded(session) == {"loss": sum_of_two}
    assert "Scopes recorded loss; Proton adds up the entries of a scope" in str(
        summary(session.profile)
    )


@pytest.mark.parametrize(
    "value",
    [[1, 2.5], (1, 2.5), np.array([1, 2.5]), torch.tensor([1, 2.5])],
    ids=["list", "tuple", "array", "tensor"],
)
def test_vectors(value: Any) -> None:
    if VECTORS:
        assert recorded(scoped({"loss": value}, {"loss": value})) == {"loss": (2.0, 5.0)}
    else:
        with pytest.warns(UserWarning, match="a scope has no metric 'loss': this Triton records"):
            assert recorded(scoped({"loss": value, "n": 1})) == {"n": 1}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "it is nan"),
        (2**63, "9223372036854775808 does not fit in 64 bits; return it as a float"),
        ("text", "a str is no number"),
        ([], "it is empty"),
        (torch.zeros(2, 2), "a tensor of 2 dimensions; give one of at most 1"),
    ],
    ids=["nan", "large", "text", "empty", "matrix"],
)
def test_what_cannot_be_recorded_is_named_once(value: Any, reason: str) -> None:
    said = f"a scope has no metric 'loss': {reason}"
    with pytest.warns(UserWarning, match="has no metric") as caught:
        session = scoped({"loss": value, "n": 1}, {"loss": value, "n": 1})
    assert [str(warning.message) for warning in caught] == [said]
    assert notes(session) == [said]
    assert recorded(session) == {"n": 2}


def test_a_metric_that_changes_from_int_to_float_raises_nothing() -> None:
    with pytest.warns(UserWarning, match="a scope has no metric 'loss': it was an int"):
        session = scoped({"loss": 1, "n": 1}, {"loss": 0.5, "n": 1})
    assert recorded(session) == {"loss": 1, "n": 2}


def test_scopes_that_are_entered_and_left_by_calls() -> None:
    with Session() as session:
        proton.enter_scope("step", metrics={"loss": np.float32(0.5)})
        add()
        proton.exit_scope(metrics={"best": np.float32(0.25)})
    assert recorded(session) == {"loss": 0.5, "best": 0.25}


def test_time_of_a_scope_on_the_cpu() -> None:
    with Session() as session, proton.cpu_timed_scope("step", metrics={"loss": np.float32(0.5)}):
        add()
    found = recorded(session)
    assert found.pop("loss") == 0.5
    assert min(found.values()) > 0


def test_proton_is_as_it_was_afterwards() -> None:
    module = sys.modules["triton.profiler.scope"]
    before = dict(vars(module))
    with Session(), Session():
        assert vars(module)["libproton"] is not before["libproton"]
        add()
    assert dict(vars(module)) == before
