"""Hooks of others stay as they were: Proton's manager files each hook under each session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from sample_kernels import answers, metrics, told
from triton import knobs
from triton.profiler.hooks.hook import Hook, HookManager

from protonlab import LaunchHook, Session

OWN = 1_000_000  # no session of Proton's has this number


class Listener(Hook):  # type: ignore[misc]  # Triton has no types
    """A hook of the user's own, which remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def init_handle(self, *about: Any) -> None: ...
    def activate(self) -> None: ...
    def deactivate(self) -> None: ...
    def exit(self, metadata: Any) -> None: ...
    def enter(self, metadata: Any) -> None:
        self.heard.append(metadata.data["name"])


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A hook registered with a session of the user's own."""
    hook = Listener()
    HookManager.register(hook, OWN)
    yield hook
    HookManager.unregister(OWN)


def test_a_session_of_the_users_keeps_its_hooks_and_gets_none_of_ours(listener: Listener) -> None:
    with Session() as session:
        with session.paused():
            pass
        told({"n": 1})
    assert dict(HookManager.session_hooks[OWN]) == {listener: True}
    HookManager.deactivate(OWN)
    HookManager.activate(OWN)
    assert HookManager.active_hooks == [listener]
    assert listener.heard == ["told_kernel"]


def test_a_hook_that_the_user_put_to_rest_stays_at_rest(listener: Listener) -> None:
    with Session() as session:
        HookManager.deactivate(OWN)
        with session.paused():
            pass
        told({"n": 1})
    assert listener.heard == []


def test_a_paused_session_stays_paused_while_another_goes_on() -> None:
    first, second = Session("first").start(), Session("second", exclude="told").start()
    with first.paused():
        with second.paused():
            pass
        told({"n": 1})
        assert answers.calls == []
    first.stop()
    second.stop()
    assert first.profile.info.launches == {}
    assert second.profile.info.launches == {"told_kernel": (1, 0)}


def test_an_ended_session_evaluates_nothing_while_another_goes_on() -> None:
    first, second = Session("first").start(), Session("second", exclude="told").start()
    with first.paused(), second.paused():
        pass
    first.stop()
    told({"n": 1})
    second.stop()
    assert answers.calls == []


def test_sessions_of_one_hook_go_on_when_one_of_them_ends() -> None:
    hook = LaunchHook()
    first, second = Session("first", hook=hook).start(), Session("second", hook=hook).start()
    with first.paused():
        told({"n": 1})
    first.stop()
    told({"n": 2})
    second.stop()
    assert metrics(second) == {"n": 3}
    assert first.profile.kernels.empty


@pytest.mark.parametrize("inside", [False, True])
def test_a_function_in_place_of_the_chain_is_said_so(
    inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = []

    def listen(metadata: Any) -> None:
        heard.append(metadata.data["name"])

    with monkeypatch.context() as patch:
        chain = knobs.runtime.launch_enter_hook
        if not inside:
            patch.setattr(knobs.runtime, "launch_enter_hook", listen)
        with Session() as session:
            if inside:
                patch.setattr(knobs.runtime, "launch_enter_hook", listen)
            out = told(launches=1)
        assert knobs.runtime.launch_enter_hook is listen
    chain.remove(HookManager.enter)  # the manager stopped at what it could not reach
    knobs.runtime.launch_exit_hook.remove(HookManager.exit)
    assert out[0] == 1
    # Without a session nothing calls hooks but a real launcher.
    assert heard == (["told_kernel"] if inside or torch.cuda.is_available() else [])
    if session.problem is None:  # Triton from 3.7 on is read before it is taken down
        assert inside
    else:
        assert "knobs.runtime.launch_enter_hook.add(" in session.problem
