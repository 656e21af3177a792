"""Metrics of scopes, recorded as launch metadata is: each number for what it is, none in silence.

Proton hands what stands in ``proton.scope(name, metrics=…)`` to libproton as it is. That cuts
numpy's floats and values of tensors to whole numbers, and raises in the user's code where it has no
place for a value, or had an int under the name before. While a session records, such metrics are
sorted on the way, as those of launches are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
    def tell(cls, key: str, problem: str) -> None:
        """Name a missing metric in each session."""
        for each in list(cls._live):
            each._notes.tell("", key, f"a scope has no metric {key!r}: {problem}", None)


class _Library:
    """libproton as Proton's scopes see it."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.record_scope = original.record_scope
        self.enter_scope, self.exit_scope = original.enter_scope, original.exit_scope
        self._types: dict[str, type] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

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
