"""The only hook is called directly; any other that comes or goes finds the chain as it knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import triton.profiler as proton
from sample_kernels import add, triton_kernels
from triton import knobs
from triton.profiler.hooks.hook import Hook, HookManager

from protonlab import Session


def called() -> list[list[Callable[..., Any]]]:
    """What Triton calls before and after a launch."""
    chains = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    return [[chain.own] if hasattr(chain, "own") else list(chain.calls) for chain in chains]


MANAGER = [[HookManager.enter], [HookManager.exit]]


@pytest.fixture(autouse=True)
def _chains_end_as_they_were() -> Iterator[None]:
    before = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    assert called() == [[], []]
    yield
    assert (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook) == before
    assert called() == [[], []]


def launches(session: Session) -> int:
    return int(triton_kernels(session)["count"].sum())


def test_the_only_hook_stands_in_the_chain_while_its_session_records() -> None:
    with Session() as session:
        hook = HookManager.active_hooks[0]
        assert called() == [[hook.enter], [hook.exit]]
        add()
    assert launches(session) == 1


def test_a_session_inside_ends_the_short_cut_and_both_record() -> None:
    with Session() as outer:
        add()
        with Session(exclude="add") as inner:
            assert called() == MANAGER
            add()
        assert called() == MANAGER
        add()
    assert launches(outer) == 3
    assert outer.profile.info.launches == {"add_kernel": (3, 3)}
    assert inner.profile.info.launches == {"add_kernel": (1, 0)}


def test_functions_of_the_user_are_called_in_their_order() -> None:
    heard = []
    chain = knobs.runtime.launch_enter_hook

    def early(metadata: Any) -> None:
        heard.append("early")

    def late(metadata: Any) -> None:
        heard.append("late")

    chain.add(early)
    try:
        with Session() as session:
            assert called()[0] == [early, HookManager.enter]
            add()
            chain.add(late)
            assert called()[0] == [early, HookManager.enter, late]
            add()
    finally:
        chain.remove(early)
        chain.remove(late)
    assert heard == ["early", "early", "late"]
    assert launches(session) == 2


@pytest.mark.parametrize("later", [False, True])
def test_a_function_that_comes_later_is_called_whatever_it_is_added_to(later: bool) -> None:
    heard = []

    def listen(metadata: Any) -> None:
        heard.append(metadata.data["name"])

    before = knobs.runtime.launch_enter_hook
    with Session() as session:
        hook = HookManager.active_hooks[0]
        assert called()[0] == [hook.enter]
        chain = knobs.runtime.launch_enter_hook if later else before
        chain.add(listen)
        add()
        chain.remove(listen)
        add()
    assert heard == ["add_kernel [n=128]"]  # our hook comes first
    assert launches(session) == 2


def test_a_paused_session_hears_nothing_and_takes_the_short_cut_again() -> None:
    with Session() as session:
        hook = HookManager.active_hooks[0]
        with session.paused():
            assert called() == MANAGER
            add()
        assert called() == [[hook.enter], [hook.exit]]
        add()
    assert session.profile.info.launches == {"add_kernel": (1, 1)}


def test_a_hook_that_rests_is_called_when_it_wakes() -> None:
    heard = []

    class Listener(Hook):  # type: ignore[misc]  # Triton has no types
        def init_handle(self, *about: Any) -> None: ...
        def activate(self) -> None: ...
        def deactivate(self) -> None: ...
        def exit(self, metadata: Any) -> None: ...
        def enter(self, metadata: Any) -> None:
            heard.append(metadata.data["name"])

    other = 1_000_000  # no session of Proton's has this number
    HookManager.register(Listener(), other)
    try:
        HookManager.deactivate(other)
        with Session() as session:
            assert called() == MANAGER
            HookManager.activate(other)
            add()
    finally:
        HookManager.unregister(other)
    assert heard == ["add_kernel [n=128]"]  # our hook comes first
    assert launches(session) == 1


def test_everything_is_finalized_inside() -> None:
    with Session() as session:
        proton.finalize()
        assert called() == [[], []]
    assert session.problem is not None
