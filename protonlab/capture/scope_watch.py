"""Being told where a scope of Proton's begins and ends, by its name, while a session records."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from protonlab.capture import _proton

_MODULE = "triton.profiler.scope"  # its package has a class of that name


class ScopeWatch:
    """Calls back round each scope of one name; a context manager.

    A scope within another of the same name is part of it.

    Parameters
    ----------
    name
        The scope's name, as it stands in ``proton.scope(name)``.
    entered, left
        Called before such a scope opens, and after it has closed.
    """

    def __init__(self, name: str, entered: Callable[[], None], left: Callable[[], None]) -> None:
        self._name, self._entered, self._left = name, entered, left
        self._depth = 0
        self._original: Any = None

    def start(self) -> None:
        """Begin to watch; before the session starts, which watches scopes in its own way."""
        _proton.require()
        module = vars(sys.modules[_MODULE])
        self._original = module["libproton"]
        module["libproton"] = _Library(self._original, self)

    def stop(self) -> None:
        """Take back what `start` did; after the session has ended."""
        self._entered = self._left = lambda: None
        module = vars(sys.modules[_MODULE])
        if isinstance(module["libproton"], _Library):
            module["libproton"] = self._original

    def enter(self, name: str) -> None:
        """Count a scope that is about to open."""
        if name == self._name:
            self._depth += 1
            if self._depth == 1:
                self._entered()

    def exit(self, name: str) -> None:
        """Count a scope that has closed."""
        if name == self._name and self._depth:
            self._depth -= 1
            if not self._depth:
                self._left()


class _Library:
    """libproton as Proton's scopes see it, with a watch on them."""

    def __init__(self, original: Any, watch: ScopeWatch) -> None:
        self._original, self._watch = original, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def enter_scope(self, scope: int, name: str) -> None:
        self._watch.enter(name)
        self._original.enter_scope(scope, name)

    def exit_scope(self, scope: int, name: str) -> None:
        self._original.exit_scope(scope, name)
        self._watch.exit(name)
