"""The steps of a training loop: where each ends, which are recorded, and how long they take.

A step ends where an optimizer has stepped. With several optimizers it is the first one that counts.
Or, by name, each scope of Proton's is a step.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from protonlab.capture._part import LEFT_OUT
from protonlab.capture._platform import interpreting
from protonlab.capture.scope_watch import ScopeWatch
from protonlab.model.units import counted

# Steps that a profile tells apart; what comes after is in its sums.
APART = 100
# The first steps compile, tune and warm up; their time says nothing about later ones.
_SLOW = 2
_TIMES_KEPT = 1000


def _uses_kernels() -> bool:
    """Whether there is a GPU in use, or the interpreter in its place."""
    return interpreting() or bool(sys.modules["torch"].cuda.is_initialized())


class Recorder(Protocol):
    """What steps ask of a session."""

    @property
    def tells_steps_apart(self) -> bool:
        """Whether it can file launches by step."""

    def start(self) -> object:
        """Begin to record."""

    def stop(self) -> None:
        """Stop recording, and write."""

    def begin_part(self, repeat: int | None) -> None:
        """File what follows under a repeat."""

    def end_step(self, repeat: int) -> None:
        """Count the repeat that ends here."""

    def read_clocks(self) -> None:
        """Read the GPU's clocks."""


class Steps:
    """Counts steps, and tells a session where each begins.

    Step 0 begins with the process or the session, so that it cannot be told from what comes before
    it: it is recorded, but not among the steps. The step before the first one that is asked for is
    a warm-up: starting a session takes ranks differently long, and a collective levels that out.

    Parameters
    ----------
    session
        Whom to tell.
    first, end
        Steps that are recorded: from the first one to before the end; None: to the end.
    scope
        Proton's scope whose entries are the steps; None: the optimizer's.

    Attributes
    ----------
    count
        Steps that have ended.
    drops_before, keeps_rest
        Whether what precedes the first step that is asked for is dropped; whether what follows the
        last whole step is kept.
    """

    def __init__(
        self, session: Recorder, first: int = 0, end: int | None = None, scope: str | None = None
    ) -> None:
        self._session, self.scope = session, scope
        self._first = first if scope else max(first, 1)
        self._end = first + APART if scope and end is None else end
        self.drops_before = bool(scope) or first > 0
        self.keeps_rest = not scope and end is None
        self.count = 0
        self._last: float | None = None
        self._recorded: list[float] = []
        self._unrecorded: list[float] = []
        self._open: int | None = None  # the repeat that a step is filling
        self._apart = False
        self._state = "waiting"  # then "recording", at last "over"
        self._undo: list[Callable[[], object]] = []
        self._leader: weakref.ref[Any] | None = None

    @property
    def starts_with_process(self) -> bool:
        """Whether recording begins before the first step."""
        return bool(self.scope) or not self.drops_before or self._starts_at == 0

    @property
    def _starts_at(self) -> int:
        """Number of steps that end before recording begins."""
        return self._first - (1 if self._session.tells_steps_apart else 0)

    def watch(self) -> None:
        """Begin to count; torch must be there, or Triton where scopes are counted."""
        if self._undo:
            return
        if self.scope is None:
            from torch.optim.optimizer import register_optimizer_step_post_hook

            self._undo.append(register_optimizer_step_post_hook(self._optimizer_stepped).remove)
        else:
            watch = ScopeWatch(self.scope, self._entered, self._left)
            watch.start()
            self._undo.append(watch.stop)

    def stop(self) -> None:
        """Count no more."""
        self._state = "over"
        while self._undo:
            self._undo.pop()()

    def session_started(self) -> None:
        """Take note that the session records."""
        self._state, self._apart = "recording", self._session.tells_steps_apart
        if self.drops_before:
            self._file(LEFT_OUT)

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        torch: Any = sys.modules["torch"]
        if torch.compiler.is_compiling() or (
            torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
        ):
            return
        leader = self._leader and self._leader()
        if leader is None:
            self._leader = weakref.ref(optimizer)
        elif leader is not optimizer:
            return
        self._guarded(self._step_ended)

    def _step_ended(self) -> None:
        now = time.perf_counter()
        number, self.count = self.count, self.count + 1
        if self._last is not None:
            self._note(number, now - self._last)
        self._close()
        if self._state == "recording" and self.count == self._end:
            self._finish()
        elif self._state == "waiting" and self.count >= self._starts_at and _uses_kernels():
            self._session.start()
        elif self._state == "recording" and self.count >= self._first:
            self._begin(self.count - self._first)
        self._last = time.perf_counter()

    def _entered(self) -> None:
        self._guarded(self._scope_entered)

    def _scope_entered(self) -> None:
        if self._state == "recording" and self.count >= self._first:
            self._begin(self.count - self._first)
        self._last = time.perf_counter()

    def _left(self) -> None:
        self._guarded(self._scope_left)

    def _scope_left(self) -> None:
        number, self.count = self.count, self.count + 1
        if self._last is not None:
            self._note(number, time.perf_counter() - self._last)
        self._close()
        if self._state == "recording":
            self._file(LEFT_OUT)
            if self.count == self._end:
                self._finish()

    def _guarded(self, do: Callable[[], None]) -> None:
        """Do something in the user's step, which nothing that goes wrong may reach."""
        try:
            do()
        except Exception as error:
            self.stop()
            warnings.warn(f"protonlab counts steps no more: {error!r}", stacklevel=3)

    def _note(self, number: int, seconds: float) -> None:
        recording = self._state == "recording"
        if recording and number >= self._first:
            self._recorded.append(seconds)
        elif not recording and number >= _SLOW and len(self._unrecorded) < _TIMES_KEPT:
            self._unrecorded.append(seconds)

    def _begin(self, repeat: int) -> None:
        if repeat < APART:
            self._file(repeat)
            self._open = repeat if self._apart else None
        elif repeat == APART:
            self._file(None)
        if repeat == 0:
            self._session.read_clocks()

    def _file(self, repeat: int | None) -> None:
        if self._apart:
            self._session.begin_part(repeat)

    def _close(self) -> None:
        if self._open is not None and self._state == "recording":
            self._session.end_step(self._open)
        self._open = None

    def _finish(self) -> None:
        self._state = "over"
        self._session.stop()

    @property
    def missed(self) -> str:
        """Why nothing was recorded, where no session has failed."""
        if self.scope is not None:
            return f"no scope {self.scope!r} was entered and left, so no step was recorded"
        if self.drops_before and self.count <= self._first:
            return (
                f"the script ended after {counted(self.count, 'step')} of an optimizer, and "
                f"recording was to begin with step {self._first}; give earlier steps"
            )
        return "nothing was recorded: the script used no GPU"

    @property
    def times(self) -> dict[str, Any]:
        """Return what a manifest says about steps, by its words."""
        if not self._recorded:
            return {}
        step = statistics.median(self._recorded)
        cost = step - statistics.median(self._unrecorded) if len(self._unrecorded) > 2 else None
        return {
            "steps": len(self._recorded),
            "first_step": self._first,
            "step_s": step,
            "overhead_s": cost,
        }
