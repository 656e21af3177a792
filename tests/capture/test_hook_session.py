"""What surrounds the hook in a session: graphs, late metrics, the switch against synchronising."""

from __future__ import annotations

import os
import sys
from threading import get_ident
from types import ModuleType
from typing import Any, ClassVar

import pytest
import torch
from sample_kernels import add, metrics, told
from triton import knobs

from protonlab import LaunchHook, Session
from protonlab.capture import _proton
from protonlab.capture._graphs import GraphReplays, broken_capture
from protonlab.capture._late_metrics import LateMetrics
from protonlab.capture._launch_record import Launch, Notes
from protonlab.capture._no_sync import SWITCH, NoSyncMetadata

TENSORS = _proton.require().records_device_tensors


class Graph:
    """The methods of torch's graphs that are watched; the real ones need a GPU."""

    def capture_begin(self, pool: Any = None) -> str:
        return f"captured into {pool}"

    def replay(self) -> str:
        return "replayed"


def test_replays_of_older_graphs_are_counted() -> None:
    plain = Graph.capture_begin, Graph.replay
    old = Graph()
    with GraphReplays(Graph) as outer:
        new = Graph()
        assert new.capture_begin(pool=3) == "captured into 3"
        with GraphReplays(Graph) as inner:
            assert [graph.replay() for graph in (old, new, new)] == ["replayed"] * 3
    assert (Graph.capture_begin, Graph.replay) == plain
    assert outer.notes[0].startswith("1 replay of a CUDA graph that was captured before")
    assert inner.notes[0].startswith("3 replays of a CUDA graph that was captured before")
    with GraphReplays(Graph) as replays:
        pass
    assert replays.notes == ()


def test_broken_capture_names_kernel_and_way_out() -> None:
    message = broken_capture("attention", RuntimeError("capture invalidated\nlong story"))
    assert message.startswith("the launch metadata of attention raised RuntimeError (capture inv")
    assert "long story" not in message
    assert message.endswith("record with exclude=attention")


class RememberingHook(LaunchHook):
    """Keeps the ids of the frames that it has closed."""

    scopes: ClassVar[list[int | None]] = []

    def exit(self, metadata: Any) -> None:
        self.scopes.append(Launch.opened[get_ident()].scope)
        super().exit(metadata)


@pytest.mark.skipif(TENSORS, reason="Triton from 3.7 on takes no metric after its launch")
def test_late_metrics_reach_their_launch() -> None:
    notes = Notes()
    late = LateMetrics(notes)
    with Session(hook=RememberingHook()) as session:
        told(*[{"m": 1, "n": 0}] * 4)
        for n, scope in zip((3, 4), RememberingHook.scopes[2:], strict=True):
            assert scope is not None
            late.keep(scope, "told_kernel", "n", torch.tensor([n]), None)
            late.keep(scope, "told_kernel", "x", torch.tensor(float("nan")), None)
        with pytest.warns(UserWarning, match="has no metric 'x': it is nan"):
            late.settle({})
    assert metrics(session) == {"m": 4, "n": 7}
    assert notes.messages == ["the launch metadata of told_kernel has no metric 'x': it is nan"]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Stand for ``triton_kernels.proton_opts``, which may not be installed."""
    module = ModuleType("triton_kernels.proton_opts")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.mark.parametrize("kept", [None, True, False])
def test_switch_against_synchronising_is_set_and_restored(reader: Any, kept: bool | None) -> None:
    reader._launch_metadata_allow_sync = kept
    assert SWITCH not in os.environ
    with NoSyncMetadata():
        assert os.environ.get(SWITCH) == ("1" if TENSORS else None)
        assert reader._launch_metadata_allow_sync is (False if TENSORS else kept)
    assert SWITCH not in os.environ
    assert reader._launch_metadata_allow_sync is kept


@pytest.mark.parametrize("value", ["0", "1"])
def test_switch_that_the_user_has_set_stays(
    reader: Any, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader._launch_metadata_allow_sync = None
    monkeypatch.setenv(SWITCH, value)
    with NoSyncMetadata():
        assert os.environ[SWITCH] == value
        assert reader._launch_metadata_allow_sync is None
    assert os.environ[SWITCH] == value


def test_nothing_is_left_of_a_session() -> None:
    before = dict(os.environ)
    with Session(), Session():
        add()
    assert dict(os.environ) == before
    assert not Launch.opened
    assert not Launch.unrecorded
    assert knobs.runtime.launch_enter_hook.calls == []


@pytest.mark.skipif(not TENSORS, reason="Triton before 3.7 records no tensors")
def test_switch_stays_until_the_last_of_overlapping_sessions() -> None:
    first, second = Session("first").start(), Session("second").start()
    first.stop()
    assert os.environ[SWITCH] == "1"
    second.stop()
    assert SWITCH not in os.environ
