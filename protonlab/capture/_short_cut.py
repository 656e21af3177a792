"""Calling the only hook there is without a detour through Proton's hook manager.

Triton calls a chain of functions around each launch, Proton's manager is one of them, and it calls
the hooks in turn. With one hook in all, its own method can be what Triton calls: chain and manager
are most of what a filtered launch costs. The chain stands aside with its list shared, so a function
that is added to either of them is called, and ends the short cut: so does the manager, which adds
itself when another hook is registered and tells the hook when it is to rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protonlab.capture import _proton

_CHAINS = "launch_enter_hook", "launch_exit_hook"


class _Direct:
    """Stands for a chain that holds Proton's manager alone: calls a hook's method."""

    def __init__(self, chain: Any, own: Callable[[Any], None]) -> None:
        self.chain, self.own = chain, own
        self.calls, self.reversed, self.remove = chain.calls, chain.reversed, chain.remove

    def __call__(self, metadata: Any) -> None:
        if len(self.calls) == 1:
            self.own(metadata)
        else:
            self.chain(metadata)

    def add(self, call: Callable[..., Any]) -> None:
        leave_short_cut()
        self.chain.add(call)


def take_short_cut(hook: Any) -> None:
    """Let Triton call the hook itself, if Proton's manager knows no other, and Triton no more."""
    proton = _proton.require()
    manager, runtime = proton.hook_manager, proton.knobs.runtime
    known = {id(each) for hooks in manager.session_hooks.values() for each in hooks}
    if known != {id(hook)} or hook not in manager.active_hooks:
        return
    chains = [getattr(runtime, name) for name in _CHAINS]
    if [getattr(chain, "calls", None) for chain in chains] == [[manager.enter], [manager.exit]]:
        for name, chain, own in zip(_CHAINS, chains, (hook.enter, hook.exit), strict=True):
            setattr(runtime, name, _Direct(chain, own))


def leave_short_cut() -> None:
    """Let the manager call the hooks again."""
    runtime = _proton.require().knobs.runtime
    for name in _CHAINS:
        chain = getattr(runtime, name)
        if isinstance(chain, _Direct):
            setattr(runtime, name, chain.chain)
            chain.own = chain.chain  # a launch of another thread may be about to call it
