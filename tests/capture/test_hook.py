"""The launch hook on real launches: filters, metrics, and what may go wrong in metadata."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from sample_kernels import BLOCK, add, answers, plain, told, told_kernel, triton_kernels
from triton.profiler.hooks.hook import Hook

from protonlab import LaunchHook, ProtonLabError, Session
from protonlab.capture import _proton, device

VECTORS = _proton.require().records_vectors


def row(session: Session, name: str) -> dict[str, Any]:
    """Metrics that a kernel of this name has, missing ones left out."""
    frames = session.profile.frames
    rows = (frames["name"] == name) & (frames["kind"] == "kernel")
    (found,) = frames[rows].to_dict("records")
    metrics = [column.column for column in session.profile.columns]
    return {key: found[key] for key in metrics if not _missing(found[key])}


def _missing(value: Any) -> bool:
    return value is None or (not isinstance(value, tuple) and bool(np.isnan(float(value))))


def record(*queue: Any, **options: Any) -> Session:
    with Session(**options) as session:
        told(*queue)
    return session


def metrics(session: Session, name: str = "told_kernel") -> dict[str, Any]:
    found = row(session, name)
    assert found.pop("count") >= 1
    assert found.pop("time_ns") > 0
    return found


def test_is_a_hook_of_protons() -> None:
    assert isinstance(LaunchHook(), Hook)
    assert repr(LaunchHook(include="a")) == "LaunchHook(include='a', exclude=None)"


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
    assert session.profile.info.notes == (message,)


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


def test_a_name_that_is_no_text() -> None:
    assert metrics(record({"name": 3, "n": 5})) == {"n": 5}


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


def test_exclude_never_evaluates_metadata() -> None:
    with Session(exclude="told") as session:
        x = told(launches=3)
    assert answers.calls == []
    assert x[0] == 3
    assert set(row(session, "told_kernel")) == {"count", "time_ns"}
    (kernel,) = triton_kernels(session).to_dict("records")
    assert (kernel["kernel"], kernel["hook"], kernel["count"]) == ("told_kernel", "filtered", 3)
    assert session.profile.info.launches == {"told_kernel": (3, 0)}


def test_filter_matches_the_compiled_name_from_its_start() -> None:
    with Session(include="kernel") as session:
        add()
    assert session.profile.info.launches == {"add_kernel": (1, 0)}
    with Session(include="add_kernel$") as session:  # the display name has [n=128] behind it
        add()
        plain()
    assert session.profile.info.launches == {"add_kernel": (1, 1), "plain_kernel": (1, 0)}
    assert session.profile.info.include == "add_kernel$"


def test_configure_takes_effect_at_the_next_launch() -> None:
    hook = LaunchHook(exclude="told")
    with Session(hook=hook) as session:
        told({"n": 1})
        hook.configure(include="told")
        told({"n": 2})
        with pytest.raises(ProtonLabError, match="include is not a regular expression"):
            hook.configure(include="(")
        told({"n": 3})
    assert metrics(session) == {"n": 5}
    assert session.profile.info.launches == {"told_kernel": (3, 2)}


@pytest.mark.parametrize("pattern", [b"add", 3])
def test_pattern_of_the_wrong_type(pattern: Any) -> None:
    with pytest.raises(ProtonLabError, match="give the regular expression as a string"):
        LaunchHook(include=pattern)


@pytest.mark.parametrize(
    "error", [ValueError("bad token count"), SystemError("odd"), AssertionError()]
)
def test_metadata_that_raises_leaves_the_hook_on(error: Exception) -> None:
    with Session() as session, pytest.warns(UserWarning, match="launch metadata") as caught:
        x = told(error, {"n": 1}, {"n": 2})
    (warning,) = caught
    assert str(warning.message) == (
        f"the launch metadata of told_kernel raised {type(error).__name__}: {error}; the metrics "
        "of that launch are missing"
    )
    assert x[0] == 3
    assert row(session, "told_kernel")["count"] == 3
    assert metrics(session) == {"n": 3}


@pytest.mark.parametrize("answer", [None, 3, [("n", 1)]])
def test_metadata_that_is_no_dict(answer: Any) -> None:
    with pytest.warns(UserWarning, match="raised TypeError"):
        session = record(answer, {"n": 1})
    assert metrics(session) == {"n": 1}


def test_interrupt_in_metadata_reaches_the_user_and_leaves_the_hook_on() -> None:
    hook = LaunchHook()
    with pytest.raises(KeyboardInterrupt), Session(hook=hook):
        told(KeyboardInterrupt())
    assert metrics(record({"n": 1}, hook=hook)) == {"n": 1}


def test_warnings_as_errors_do_not_disturb_the_launch() -> None:
    session = record({"bad": "text", "n": 1})  # outside pytest.warns, they are errors here
    assert metrics(session) == {"n": 1}
    assert len(session.profile.info.notes) == 1


def test_launches_inside_metadata_are_the_metadatas_own() -> None:
    def launches() -> dict[str, Any]:
        add()
        told_kernel[(1,)](torch.zeros(BLOCK, device=device()), BLOCK)  # would recurse
        return {"n": 1}

    with Session() as session:
        told(launches)
    assert metrics(session) == {"n": 1}
    assert len(answers.calls) == 1
    frames = session.profile.frames
    nested = frames[(frames["kind"] == "metadata") & frames["name"].str.contains("_kernel$")]
    assert nested["count"].dropna().tolist() == [1, 1]
    assert session.profile.info.launches == {"told_kernel": (1, 1)}
    assert triton_kernels(session)["count"].tolist() == [1]


def test_launches_from_threads() -> None:
    def work() -> None:
        for _ in range(20):
            add()

    with Session() as session:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
            thread.join()  # Triton's interpreter itself runs one launch at a time
    assert metrics(session, "add_kernel [n=128]")["n_tokens"] == 8 * 60
    assert session.profile.info.launches == {"add_kernel": (60, 60)}


def test_two_sessions_with_opposite_filters() -> None:
    with Session("a", include="add") as first, Session("b", exclude="add") as second:
        add()
        told({"name": "renamed", "n": 5})
    assert metrics(first, "add_kernel [n=128]")["n_tokens"] == 8
    assert metrics(first, "renamed") == {}
    assert metrics(second, "renamed") == {"n": 5}
    assert metrics(second, "add_kernel [n=128]") == {}
    for session, kept in ((first, "add_kernel [n=128]"), (second, "renamed")):
        kernels = triton_kernels(session).set_index("name")
        assert kernels["hook"].to_dict()[kept] == "kept"
        assert sorted(kernels["hook"]) == ["filtered", "kept"]
        assert sorted(kernels["kernel"]) == ["add_kernel", "told_kernel"]


def test_two_sessions_that_keep_the_same_kernel_write_its_metrics_once() -> None:
    with Session(record="n") as first, Session() as second:
        told({"n": 1, "m": 2}, {"n": 1, "m": 2})
    assert metrics(second) == {"n": 2, "m": 4}
    assert metrics(first)["n"] == 2
    assert len(answers.calls) == 2


class RenamingHook(Hook):
    """Evaluates metadata before anyone else, as another profiler may."""

    priority = 10_000

    def init_handle(self, *args: Any) -> None: ...
    def activate(self) -> None: ...
    def deactivate(self) -> None: ...
    def exit(self, metadata: Any) -> None: ...
    def enter(self, metadata: Any) -> None:
        metadata.get()


def test_compiled_name_where_another_hook_was_first() -> None:
    with Session(include="told_kernel") as session:
        told({"name": "one", "n": 1})
        manager = _proton.require().hook_manager
        manager.register(other := RenamingHook(), 99)
        try:
            told({"name": "two", "n": 2})
            assert other in manager.active_hooks
        finally:
            manager.unregister(99)
    assert session.profile.info.launches == {"told_kernel": (2, 2)}
    assert metrics(session, "two") == {"n": 2}
