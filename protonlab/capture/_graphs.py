"""CUDA graphs: a capture that launch metadata breaks, and graphs that are older than the session.

Proton files a replayed kernel under the path of its capture, which it knows only when the session
was on by then. torch's graphs are watched while a session records, to say so when it was not.
"""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any, Self

from protonlab.model.units import counted


def broken_capture(kernel: str, error: Exception) -> str:
    """One sentence on a metadata function that failed while a graph was captured."""
    reason = (str(error).splitlines() or [""])[0]
    return (
        f"the launch metadata of {kernel} raised {type(error).__name__} ({reason}) while a CUDA "
        "graph was being captured; a metadata function that reads a GPU tensor on the host breaks "
        f"the capture: restart the kernel and record with exclude={kernel}"
    )


class GraphReplays:
    """Counts replays of graphs that were captured before; a context manager, which may nest.

    Parameters
    ----------
    graph
        The class of the graphs; by default torch's, if torch is loaded.
    """

    def __init__(self, graph: Any = None) -> None:
        torch = sys.modules.get("torch")
        self._class = torch.cuda.CUDAGraph if graph is None and torch is not None else graph
        self._captured: weakref.WeakSet[Any] = weakref.WeakSet()
        self._unknown = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence, or none."""
        if not self._unknown:
            return ()
        return (
            f"{counted(self._unknown, 'replay')} of a CUDA graph that was captured before the "
            "session: Proton does not know what its kernels were captured under; start the session "
            "before the capture",
        )

    def captured(self, graph: Any) -> None:
        """Remember a graph whose capture has begun."""
        self._captured.add(graph)

    def replayed(self, graph: Any) -> None:
        """Count a replay."""
        self._unknown += graph not in self._captured

    def __enter__(self) -> Self:
        if self._class is not None:
            for method, tell in (("capture_begin", "captured"), ("replay", "replayed")):
                _watched(self._class, method, tell).append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._class is not None:
            for method in ("capture_begin", "replay"):
                watchers = getattr(self._class, method).watchers
                watchers.remove(self)
                if not watchers:
                    setattr(self._class, method, getattr(self._class, method).__wrapped__)


def _watched(owner: Any, method: str, tell: str) -> list[GraphReplays]:
    """Wrap a method, unless it is, and return who is told of its calls."""
    original = getattr(owner, method)
    if hasattr(original, "watchers"):
        return original.watchers  # type: ignore[no-any-return]
    watchers: list[GraphReplays] = []

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        for watcher in list(watchers):
            getattr(watcher, tell)(self)
        return original(self, *args, **kwargs)

    wrapper.watchers = watchers  # type: ignore[attr-defined]
    setattr(owner, method, wrapper)
    return watchers
