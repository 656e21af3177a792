"""Launch metadata of odd values: one that cannot be recorded costs the others nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sample_kernels import metrics, notes, record, told

from protonlab import Session
from protonlab.capture import _hook, _proton
from protonlab.capture._launch_record import Launch

VECTORS = _proton.require().records_vectors


class Broken:
    """A scalar whose value cannot be had."""

    ndim = 0

    def item(self) -> float:
        raise RuntimeError("gone")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (10**400, "to read it raised OverflowError: int too large to convert to float"),
        (Broken(), "to read it raised RuntimeError: gone"),
        (torch.empty((), device="meta"), "it is on the device meta; give a tensor on CPU or GPU"),
    ],
    ids=["huge", "broken", "meta"],
)
def test_value_that_cannot_be_read(value: Any, reason: str) -> None:
    said = f"the launch metadata of told_kernel has no metric 'flops32': {reason}"
    with pytest.warns(UserWarning, match="no metric") as caught:
        session = record({"n": 1, "flops32": value, "z": 0.5}, {"n": 1, "flops32": 2, "z": 0.5})
    assert [str(warning.message) for warning in caught] == [said]
    assert notes(session) == [said]
    assert metrics(session) == {"n": 2, "flops32": 2.0, "z": 1.0}


@pytest.mark.skipif(not VECTORS, reason="Triton before 3.7 records no vectors")
@pytest.mark.parametrize("other", [[10, 20], 10])
def test_vector_of_another_shape_costs_only_itself(other: Any) -> None:
    first = {"n": 1, "shares": [1, 2, 3], "z": 0.5}
    with pytest.warns(UserWarning, match=r"^Proton refused metrics of told_kernel \(shares\): "):
        session = record(first, {**first, "shares": other}, first)
    assert metrics(session) == {"n": 3, "shares": (2, 4, 6), "z": 1.5}


@pytest.mark.skipif(not VECTORS, reason="Triton before 3.7 records no vectors")
def test_number_that_becomes_a_vector_costs_only_that() -> None:
    first = {"n": 1, "share": 2, "z": 0.5}
    with pytest.warns(UserWarning, match=r"^Proton refused metrics of told_kernel \(share\): "):
        session = record(first, {**first, "share": [3, 4]}, first, first)
    assert metrics(session) == {"n": 4, "share": 6, "z": 2.0}


def test_interrupt_before_the_metadata_leaves_the_hook_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(state: str) -> None:
        raise KeyboardInterrupt

    with Session() as session:
        with monkeypatch.context() as patch:
            patch.setattr(_hook, "_enter_state", interrupted)
            with pytest.raises(KeyboardInterrupt):
                told({"n": 1})
        assert not Launch.unrecorded
        told({"n": 1})
    assert metrics(session) == {"n": 1}
