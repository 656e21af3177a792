"""Metadata functions that make the host wait for the GPU are found, with their cost."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from sample_kernels import metrics, notes, record, told

from protonlab import LaunchHook, ProtonLabError, Session
from protonlab.capture._synchronisations import SyncDetector


def metadata() -> None: ...


def test_operations_that_wait_are_counted_by_launch() -> None:
    detector = SyncDetector("cpu")  # reading a value is the same operation on every device
    x = torch.arange(4)
    assert detector.watch("a", metadata, lambda: {"n": x.sum().item()}) == {"n": 6}
    detector.watch("a", metadata, lambda: {"n": int(x[0]) + int(x[1])})
    detector.watch("a", metadata, lambda: {"n": x.numel()})
    detector.watch("b", metadata, lambda: {"n": x.sum()})
    ((kernel, message, place),) = detector.findings({"a", "b"})
    assert (kernel, place) == ("a", metadata)
    assert re.fullmatch(
        r"the launch metadata of a made the host wait for the GPU in 2 of 3 launches, \d+\.\d µs "
        r"each \(aten\._local_scalar_dense\.default\); return the tensor itself, or exclude=a",
        message,
    )


def test_an_error_in_watched_metadata_is_the_functions_own() -> None:
    detector = SyncDetector("cpu")
    with pytest.raises(ZeroDivisionError):
        detector.watch("a", metadata, lambda: 1 / int(torch.zeros(())))
    ((_, message, _),) = detector.findings({"a", "b"})
    assert "1 of 1 launches" in message


def test_nothing_waits_on_the_interpreter() -> None:
    x = torch.arange(4)
    session = record(lambda: {"n": x.sum().item()}, sync="warn")
    assert metrics(session) == {"n": 6}
    assert notes(session) == []


@pytest.fixture
def _waits_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions watch the CPU: reading a value is the same operation there."""
    monkeypatch.setattr(SyncDetector.__init__, "__defaults__", ("cpu",))


def waits() -> dict[str, int]:
    return {"n": int(torch.ones(()).item())}


def waiting(session: Session) -> list[str]:
    """What a session's notes say of launches that waited."""
    found = (re.search(r"in (\d+ of \d+) launches", note) for note in session.profile.info.notes)
    return [each[1] for each in found if each is not None]


@pytest.mark.usefixtures("_waits_on_the_cpu")
@pytest.mark.filterwarnings("ignore:the launch metadata:UserWarning")
def test_sessions_of_one_hook_count_their_own_launches() -> None:
    hook = LaunchHook()
    first = Session("first", hook=hook, sync="warn").start()
    told(waits)
    second = Session("second", hook=hook, sync="warn").start()
    told(waits, waits)
    first.stop()
    told(waits, waits)
    second.stop()
    assert (waiting(first), waiting(second)) == (["3 of 3"], ["4 of 4"])
    assert (metrics(first), metrics(second)) == ({"n": 3}, {"n": 4})


@pytest.mark.usefixtures("_waits_on_the_cpu")
@pytest.mark.filterwarnings("ignore:the launch metadata:UserWarning")
def test_only_a_session_that_asked_is_told_whoever_evaluates_the_metadata() -> None:
    with Session("outer") as outer, Session("inner", sync="warn") as inner:
        told(waits)
    assert (waiting(outer), waiting(inner)) == ([], ["1 of 1"])
    with Session("outer", sync="warn") as outer, Session("inner") as inner:
        told(waits)
    assert (waiting(outer), waiting(inner)) == (["1 of 1"], [])


@pytest.mark.usefixtures("_waits_on_the_cpu")
def test_a_kernel_that_the_session_filters_is_not_its_concern() -> None:
    with Session("outer") as outer, Session("inner", exclude="told", sync="warn") as inner:
        told(waits)
    assert (metrics(outer), waiting(inner)) == ({"n": 1}, [])


@pytest.mark.usefixtures("_waits_on_the_cpu")
@pytest.mark.filterwarnings("ignore:the launch metadata:UserWarning")
def test_detector_is_off_after_the_session() -> None:
    hook = LaunchHook()
    for sync, wanted in (("warn", ["1 of 1"]), ("ignore", []), ("warn", ["1 of 1"])):
        assert waiting(record(waits, hook=hook, sync=sync)) == wanted
    assert not LaunchHook.watchers


@pytest.mark.parametrize("sync", ["error", True, 3])
def test_illegal_value(sync: Any) -> None:
    with pytest.raises(ProtonLabError, match="use ignore or warn"):
        Session(sync=sync)


@pytest.mark.gpu
def test_on_a_gpu() -> None:
    x = torch.arange(4, device="cuda")
    told(launches=1)
    with (
        pytest.warns(UserWarning, match="made the host wait for the GPU in 2 of 3 launches"),
        Session(sync="warn") as session,
    ):
        told(lambda: {"n": x.sum().item()}, lambda: {"n": x.cpu()[0].item()}, {"n": 1})
    (note,) = session.profile.info.notes
    assert "aten._local_scalar_dense" in note, note
    assert "aten._to_copy" in note, note
