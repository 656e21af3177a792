"""Launch metadata as metrics: what is recorded, in which type, and what is named instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sample_kernels import add, metrics, notes, record, row

from protonlab import Session
from protonlab.capture import _proton

VECTORS = _proton.require().records_vectors


def test_scalars_become_columns_summed_over_launches() -> None:
    with Session() as session:
        add(128)
        add(128)
    assert metrics(session, "add_kernel [n=128]") == {
        "bytes": 2 * 12 * 128,
        "flops32": 2 * 128.0,
        "n_tokens": 16,
        "share": 0.5,
    }
    assert row(session, "add_kernel [n=128]")["count"] == 2


def test_kinds_of_numbers() -> None:
    session = record(
        {
            "flag": True,
            "np_int": np.int32(3),
            "np_float": np.float32(0.5),
            "np_bool": np.bool_(True),
            "np_zero_d": np.array(7),
            "tensor": torch.tensor(2.5),
            "one_value": torch.tensor([4])[0],
            "flops16": np.int64(10),
            "bytes": 7.0,
            "nothing": None,
        }
    )
    assert metrics(session) == {
        "flag": 1,
        "np_int": 3,
        "np_float": 0.5,
        "np_bool": 1,
        "np_zero_d": 7,
        "tensor": 2.5,
        "one_value": 4,
        "flops16": 10.0,
        "bytes": 7,
    }
    assert isinstance(metrics(session)["flops16"], float)
    assert isinstance(metrics(session)["bytes"], int)


VECTOR_ANSWER = {
    "list": [1, 2],
    "mixed": [1, 2.5],
    "tuple": (0.5, 1.5),
    "array": np.array([1, 2]),
    "tensor": torch.tensor([1.5, 2.5]),
    "n": 1,
}


@pytest.mark.skipif(not VECTORS, reason="Triton before 3.7 records no vectors")
def test_vectors() -> None:
    assert metrics(record(VECTOR_ANSWER, VECTOR_ANSWER)) == {
        "list": (2, 4),
        "mixed": (2.0, 5.0),
        "tuple": (1.0, 3.0),
        "array": (2, 4),
        "tensor": (3.0, 5.0),
        "n": 2,
    }


@pytest.mark.skipif(VECTORS, reason="Triton from 3.7 on records vectors")
def test_vectors_are_named_once_where_they_cannot_be_recorded() -> None:
    with pytest.warns(UserWarning, match="launch metadata") as caught:
        session = record(VECTOR_ANSWER, VECTOR_ANSWER)
    assert [str(each.message).split(" has no metric ")[1][:6] for each in caught] == [
        "'list'", "'mixed", "'tuple", "'array", "'tenso",
    ]  # fmt: skip
    assert metrics(session) == {"n": 2}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("text", "a str is no number"),
        (1 + 2j, "a complex is no number"),
        (float("nan"), "it is nan"),
        (float("-inf"), "it is -inf"),
        (np.float32("inf"), "it is inf"),
        (torch.tensor(float("nan")), "it is nan"),
        (2**63, "9223372036854775808 does not fit in 64 bits; return it as a float"),
        (-(2**63) - 1, "does not fit in 64 bits"),
        ([], "it is empty"),
        (np.zeros(0), "it is empty"),
        (torch.zeros(0), "it is empty"),
        (np.zeros((2, 2)), "an array of 2 dimensions"),
        (torch.zeros(2, 2), "a tensor of 2 dimensions"),
        ([1, "a"], "a str is no number"),
        ([[1], [2]], "a list is no number"),
        ({"a": 1}, "a dict is no number"),
        (torch.tensor(1j), "complex numbers cannot be recorded"),
    ],
)
def test_what_cannot_be_recorded_is_named_once(value: Any, reason: str) -> None:
    with pytest.warns(UserWarning, match="launch metadata") as caught:
        session = record({"bad": value, "n": 1}, {"bad": value, "n": 1})
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith("the launch metadata of told_kernel has no metric 'bad': ")
    assert reason in message
    assert warning.filename.endswith("sample_kernels.py") or warning.lineno == 1
    assert metrics(session) == {"n": 2}
    assert notes(session) == [message]


def test_ten_thousand_names() -> None:
    answer = {f"metric {index}": index for index in range(10_000)}
    found = metrics(record(answer, answer))
    assert found == {name: 2 * value for name, value in answer.items()}


@pytest.mark.skipif(not VECTORS, reason="Triton before 3.7 records no vectors")
def test_vector_of_a_million_values() -> None:
    values = np.arange(1_000_000)
    found = metrics(record({"v": values, "n": 1}))
    assert found["n"] == 1
    assert found["v"] == tuple(values.tolist())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63])
def test_a_bad_value_after_good_ones_is_missing_alone(value: float) -> None:
    good = 1 if isinstance(value, int) else 1.0
    with pytest.warns(UserWarning, match="has no metric 'n'"):
        session = record(*[{"n": n, "m": 1} for n in (good, good, value, good)])
    assert metrics(session) == {"n": 3, "m": 4}


def test_a_key_that_comes_later_or_goes() -> None:
    session = record({"n": 1, "m": None}, {"n": 1, "m": 2}, {"n": 1, "k": 3}, {"n": 1})
    assert metrics(session) == {"n": 4, "m": 2, "k": 3}
    session = record({"n": 1, "a": 1}, {"n": 1, "m": 2}, record=["n", "m"])
    assert metrics(session) == {"n": 2, "m": 2}


def test_integers_for_flops_and_floats_for_bytes_keep_their_types() -> None:
    found = metrics(record(*[{"flops16": 2**40, "bytes": 8.0, "share": 1.5}] * 3))
    assert found == {"flops16": 3.0 * 2**40, "bytes": 24, "share": 4.5}
    assert isinstance(found["flops16"], float)
    assert isinstance(found["bytes"], int)


def test_largest_integers() -> None:
    assert metrics(record({"big": 2**63 - 1, "low": -(2**63)})) == {
        "big": 2**63 - 1,
        "low": -(2**63),
    }


def test_a_metric_that_changes_its_type() -> None:
    with pytest.warns(UserWarning, match=r"was an int in an earlier launch and is 1\.5 now"):
        session = record({"n": 1, "m": 0.5}, {"n": 1.5, "m": 1}, {"n": 2.0, "m": 2})
    assert metrics(session) == {"n": 3, "m": 3.5}


def test_reserved_keys_are_no_metrics() -> None:
    session = record({"name": "renamed", "function": 3, "stream": 4, "n": 5})
    assert metrics(session, "renamed") == {"n": 5}


@pytest.mark.parametrize("name", [3, ["a"], None])
def test_a_name_that_is_no_text(name: Any) -> None:
    assert metrics(record({"name": name, "n": 5})) == {"n": 5}


def test_odd_metric_names() -> None:
    session = record({"depth": 1, "a b": 2, "größe": 3, "power (W)": 4})
    assert set(metrics(session)) == {"depth_metric", "a b", "größe", "power_W"}


@pytest.mark.parametrize("key", ["count", "time (ns)", "device_id", "device_type", "", 3])
def test_metric_names_that_are_taken_or_none(key: Any) -> None:
    with pytest.warns(UserWarning, match=f"has no metric {str(key)!r}".replace("(", r"\(")[:20]):
        session = record({key: 7, "n": 1})
    assert metrics(session) == {"n": 1}
    assert row(session, "told_kernel")["count"] == 1


def test_record_chooses_metrics() -> None:
    with Session(record="bytes,share") as session:
        add()
    assert set(metrics(session, "add_kernel [n=128]")) == {"bytes", "share"}
    assert metrics(record({"bad": "text", "n": 1}, record=["n"])) == {"n": 1}
