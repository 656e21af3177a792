"""Calling the only hook there is without a detour through Proton's hook manager.

Triton calls a chain of functions around each launch, Proton's manager is one of them, and it calls
the hooks in turn. With one hook in all, its own methods can stand in the chain: the detour is half
of what a filtered launch costs. Whoever registers another hook adds the manager to the chain, which
ends the short cut, and the manager, when it lets the hook rest, tells the hook, which ends it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protonlab.capture import _proton


class _Calls(list[Callable[..., Any]]):
    """What a chain calls, with a hook's method in the place of the manager's."""

    def __init__(self, chain: Any, managers: Callable[..., Any], own: Callable[..., Any]) -> None:
        super().__init__(own if call == managers else call for call in chain.calls)
        self._chain, self._managers, self._own = chain, managers, own

    def append(self, call: Callable[..., Any]) -> None:
        self.restore()
        self._chain.add(call)

    def restore(self) -> None:
        # A new list: a launch may be walking over this one.
        self._chain.calls = [self._managers if call == self._own else call for call in self]


def take_short_cut(hook: Any) -> None:
    """Let Triton call the hook itself, if Proton's manager knows no other."""
    proton = _proton.require()
    manager, runtime = proton.hook_manager, proton.knobs.runtime
    known = {id(each) for hooks in manager.session_hooks.values() for each in hooks}
    if known != {id(hook)} or hook not in manager.active_hooks:
        return
    for chain, managers, own in (
        (runtime.launch_enter_hook, manager.enter, hook.enter),
        (runtime.launch_exit_hook, manager.exit, hook.exit),
    ):
        if type(getattr(chain, "calls", None)) is list:
            chain.calls = _Calls(chain, managers, own)


def leave_short_cut() -> None:
    """Let the manager call the hooks again."""
    runtime = _proton.require().knobs.runtime
    for chain in (runtime.launch_enter_hook, runtime.launch_exit_hook):
        calls = getattr(chain, "calls", None)
        if isinstance(calls, _Calls):
            calls.restore()
