"""What a launch hook remembers of a launch, a kernel and a session, and what it has said."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, get_ident
from types import FrameType
from typing import Any, ClassVar

from protonlab.capture import _proton
from protonlab.capture._metric_reader import MetricReader, need_a_look

NO_KEYS: frozenset[str] = frozenset()
_PATIENCE_S = 1.0  # a launch waits when the GPU has more to do than its queue holds
_GATE = 0  # among the threads that record nothing: a session ends, and all others wait


class Launch:
    """One launch that a hook has kept, from its enter to its exit.

    All hooks share it, as they share libproton's open frame: the first that keeps the launch opens
    it, and only that one closes it.
    """

    __slots__ = ("kernel", "keys", "metadata", "name", "owner", "scope")

    # Thread -> its launch. A launch that fails in Triton never reaches its exit and stays here,
    # until the thread's next one closes its frame.
    opened: ClassVar[dict[int, Launch]] = {}
    # Threads in which a metadata function or an autotuner runs: what they launch is not recorded.
    unrecorded: ClassVar[set[int]] = set()
    _gate: ClassVar[Event] = Event()
    _held: ClassVar[set[int]] = set()

    def __init__(self, owner: object) -> None:
        self.owner = owner  # the hook that opened the frame
        self.metadata: Any = None  # of the launch; which one it is
        self.kernel = ""  # compiled name
        self.name = ""  # of the open frame
        self.scope: int | None = None  # Proton's id of the open frame; None: there is none
        self.keys = NO_KEYS  # metrics written so far

    @classmethod
    @contextmanager
    def none_in_others(cls) -> Iterator[None]:
        """Keep other threads from launching, for a moment; those inside a launch end it first.

        A session may only end between launches: libproton 3.6 takes the process down when one
        comes while it reads its buffers, and 3.9 never forgets a frame that is open then, and takes
        the process down at the next metric of that thread. What torch launches is not seen here.
        """
        deadline = time.monotonic() + _PATIENCE_S
        cls._gate = gate = Event()
        cls.unrecorded.add(_GATE)
        try:
            while cls._others() and time.monotonic() < deadline:
                time.sleep(0)
            yield
        finally:
            cls.unrecorded.discard(_GATE)
            gate.set()

    @classmethod
    def _others(cls) -> set[int]:
        """Other threads that are inside Triton's launcher, and do not wait for the gate."""
        own = get_ident()
        # No name for the frames: this one, which is among them, would keep itself and its callers.
        return {
            thread
            for thread, frame in sys._current_frames().items()
            if thread != own and thread not in cls._held and _is_in_launcher(frame)
        }

    @classmethod
    def passes_by(cls, hook: object) -> bool:
        """Whether a hook has nothing to do with the launch that its thread begins."""
        thread = get_ident()
        if thread in cls.unrecorded:
            return True
        if _GATE in cls.unrecorded:
            cls._held.add(thread)
            cls._gate.wait(_PATIENCE_S)
            cls._held.discard(thread)
        return hook not in _proton.require().hook_manager.active_hooks


def _is_in_launcher(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__call__" and code.co_filename.endswith("driver.py"):
            return True
        frame = frame.f_back
    return False


class Kernel:
    """A compiled kernel as one hook has seen it."""

    __slots__ = ("keep", "kept", "keys", "name", "read", "seen", "shown", "state")

    def __init__(self, name: str, keep: bool, state: str) -> None:
        self.name = name
        self.keep = keep
        self.seen = 0
        self.kept = 0
        self.state = state  # frame under which Proton files what its metadata function launches
        self.shown = name  # name of its frames, which a metadata function may choose
        self.read: MetricReader = need_a_look
        self.keys: set[str] = set()  # metrics that this hook has recorded


class Notes:
    """What a hook has said about missing metrics: each cause once a session and kernel."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._told: set[tuple[str, str]] = set()

    def renew(self) -> None:
        """Let everything be said again."""
        self._told.clear()

    def tell(self, kernel: str, cause: str, message: str, place: Callable[..., Any] | None) -> None:
        """Warn, pointing at the metadata function `place`."""
        if (kernel, cause) in self._told:
            return
        self._told.add((kernel, cause))
        self.messages.append(message)
        code = getattr(place, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code else ("protonlab", 1)
        # Without a registry, Python's "once a place" does not hide it in the next session. Where
        # warnings are errors this raises; the launch goes on all the same.
        with suppress(UserWarning):
            warnings.warn_explicit(message, UserWarning, file, line, "protonlab")


@dataclass(frozen=True)
class HookRecord:
    """What a hook knows after a session.

    Parameters
    ----------
    launches
        Compiled name -> (launches seen, launches kept).
    kernel_of
        Frame name -> compiled name.
    keys
        Compiled name -> launch metadata keys that the hook recorded.
    notes
        Sentences about metrics that are missing.
    """

    launches: dict[str, tuple[int, int]]
    kernel_of: dict[str, str]
    keys: dict[str, frozenset[str]]
    notes: tuple[str, ...]

    @property
    def kept(self) -> dict[str, frozenset[str]]:
        """Keys of each kernel of which at least one launch was kept."""
        return {name: self.keys[name] for name, (_, kept) in self.launches.items() if kept}

    @property
    def filtered(self) -> set[str]:
        """Kernels of which the hook kept no launch."""
        return {name for name, (_, kept) in self.launches.items() if not kept}

    def since(self, before: HookRecord) -> HookRecord:
        """Return what came after an earlier record of the same hook."""
        launches = {}
        for name, (seen, kept) in self.launches.items():
            seen_before, kept_before = before.launches.get(name, (0, 0))
            if seen > seen_before:
                launches[name] = (seen - seen_before, kept - kept_before)
        return HookRecord(launches, self.kernel_of, self.keys, self.notes[len(before.notes) :])

    def with_notes(self, *notes: str) -> HookRecord:
        """Return the same with sentences added."""
        return replace(self, notes=(*self.notes, *notes))
