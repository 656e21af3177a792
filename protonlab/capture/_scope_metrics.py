"""Metrics of scopes, recorded as launch metadata is: each number for what it is, none in silence.

Proton hands what stands in ``proton.scope(name, metrics=…)`` to libproton as it is. That cuts
numpy's floats and values of tensors to whole numbers, and raises in the user's code where it has no
place for a value, or had an int under the name before. While a session records, such metrics are
sorted on the way, as those of launches are.

Which scopes are open is kept, too: Proton 3.9 writes no trace in which a kernel was launched from a
scope that has not ended, so a session that stops in the middle of one would lose all of it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from protonlab.capture import _proton
from protonlab.capture._launch_metrics import sort_metrics
from protonlab.capture._launch_record import Notes

proton = _proton.require()
_MODULE = "triton.profiler.scope"  # its package has a class of that name


class ScopeMetrics:
    """Sorts metrics of scopes while a session records; a context manager, which may nest.

    Parameters
    ----------
    notes
        Where missing metrics are named.
    """

    _live: ClassVar[list[ScopeMetrics]] = []

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def __enter__(self) -> None:
        if not self._live:
            module = vars(sys.modules[_MODULE])
            module["libproton"] = _Library(module["libproton"])
        self._live.append(self)

    def __exit__(self, *failure: object) -> None:
        self._live.remove(self)
        if not self._live:
            module = vars(sys.modules[_MODULE])
            module["libproton"] = module["libproton"].original

    @classmethod
    @contextmanager
    def scopes_ended(cls, since: int) -> Iterator[None]:
        """End the scopes that this thread has opened after scope `since`, and open them again."""
        library = vars(sys.modules[_MODULE])["libproton"]
        scopes = [each for each in library.open_scopes() if each[0] > since]
        for scope in reversed(scopes):
            proton.libproton.exit_scope(*scope)
        try:
            yield
        finally:
            for scope in scopes:
                proton.libproton.enter_scope(*scope)

    @classmethod
    def tell(cls, key: str, problem: str) -> None:
        """Name a missing metric in each session."""
        for each in list(cls._live):
            each._notes.tell("", key, f"a scope has no metric {key!r}: {problem}", None)


class _Library:
    """libproton as Proton's scopes see it."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.record_scope = original.record_scope
        self._types: dict[str, type] = {}
        self._open = threading.local()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def open_scopes(self) -> list[tuple[int, str]]:
        """Return this thread's open scopes, the outermost first, each as its number and name."""
        scopes: list[tuple[int, str]] = self._open.__dict__.setdefault("scopes", [])
        return scopes

    def enter_scope(self, scope: int, name: str) -> None:
        """Open a scope, and keep that it is open."""
        self.original.enter_scope(scope, name)
        self.open_scopes().append((scope, name))

    def exit_scope(self, scope: int, name: str) -> None:
        """Close a scope; it may have been opened before anything recorded."""
        scopes = self.open_scopes()
        if (scope, name) in scopes:
            scopes.remove((scope, name))
        self.original.exit_scope(scope, name)

    def add_metrics(self, scope: int, metrics: Mapping[str, Any], *tensors: Any) -> None:
        """Add what can be recorded; since Triton 3.7 tensors on a GPU come apart from the rest."""
        found = sort_metrics(
            metrics, record=None, types=self._types, vectors=proton.records_vectors
        )
        problems = found.problems
        if found.device and proton.stream_captures():
            problem = "a tensor on the GPU, which this Triton cannot record in a graph capture"
            problems.update(dict.fromkeys(found.device, problem))
        elif found.device:  # before Triton 3.7, whose libproton would read them here as well
            values = {key: tensor.item() for key, tensor in found.device.items()}
            read = sort_metrics(values, record=None, types=self._types, vectors=False)
            found.host.update(read.host)
            problems.update(read.problems)
        for key, problem in problems.items():
            ScopeMetrics.tell(key, problem)
        parts = [({}, tensors), *(({key: value}, ()) for key, value in found.host.items())]
        for part, beside in parts:
            if not part and not any(beside):
                continue
            try:
                self.original.add_metrics(scope, part, *beside)
            except Exception as error:  # a vector of another length, for one
                for key in part or beside[0]:
                    ScopeMetrics.tell(key, str(error))
