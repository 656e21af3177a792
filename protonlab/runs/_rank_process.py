"""A process of ``protonlab run``: whether it is a rank, and its recording from start to end.

Nothing is imported before the script imports it: the process waits for torch, and for what says
that kernels are about to run. That is CUDA's start, or without a GPU the import of Triton.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from protonlab.capture import enable_interpreter
from protonlab.capture._platform import has_gpu, interpreting
from protonlab.capture.rest_watch import RestWatch
from protonlab.errors import ProtonLabError
from protonlab.runs._rank import Rank, claimed_rank, one_line
from protonlab.runs._rank_options import VARIABLE, RankOptions
from protonlab.runs._rank_signals import EndingSignals

if TYPE_CHECKING:
    from protonlab.runs._recording import RankSession

_INTERPRET = "TRITON_INTERPRET"
_ENDED_BY = {
    "SIGTERM": "ended by SIGTERM",
    "SIGINT": "interrupted by Ctrl-C (SIGINT) in a call that went on",
}
_OF_A_JOB = ", as torchrun does when another rank failed"
# A GPU that is at work for so long while its process ends waits for a rank that is gone.
_REST_S, _REST_AFTER_FAILURE_S = 60.0, 5.0


def begin() -> None:
    """Record in this process, if it is a rank of a run; called before the script."""
    text = os.environ.get(VARIABLE)
    rank = claimed_rank() if text else None
    if text and rank is not None:
        RankProcess(rank, RankOptions.from_json(text)).watch()


class RankProcess:
    """One rank's process, from Python's start to its end."""

    def __init__(self, rank: Rank, options: RankOptions) -> None:
        self._rank, self._options = rank, options
        self._session: RankSession | None = None
        self._signals = EndingSignals(self._ended_by)
        self._rest = RestWatch()
        self._finder = ImportWatch({"torch": self._loaded_torch, "triton": self._loaded_triton})

    def watch(self) -> None:
        """Wait for what the script imports, and for its end."""
        if not has_gpu():
            os.environ.setdefault(_INTERPRET, "1")
        sys.meta_path.insert(0, self._finder)
        atexit.register(self._exited)
        os.register_at_fork(after_in_child=self._forked)

    def _loaded_torch(self, torch: Any) -> None:
        from protonlab.runs._recording import RankSession
        from protonlab.runs._recording_steps import Steps

        options = self._options
        self._session = session = RankSession(options.folder, **options.of_session)
        session.steps = Steps(session, options.first, options.end, options.scope)
        if self._rank.is_of_a_job:  # one alone may still turn out to be only a launcher
            session.announce()
        if options.scope is None:
            session.steps.watch()
        self._signals.start()
        self._rest.start()
        if not interpreting():
            self._watch_cuda(torch)
        elif "triton" in sys.modules:
            self._start()

    def _loaded_triton(self, triton: Any) -> None:
        if interpreting():
            enable_interpreter()
            if self._session is not None:
                self._start()

    def _watch_cuda(self, torch: Any) -> None:
        """Start when CUDA has: torch calls this function by name, also from C++."""
        original = torch.cuda._lazy_init

        def lazy_init() -> None:
            original()
            if torch.cuda._lazy_init is lazy_init and torch.cuda.is_initialized():
                torch.cuda._lazy_init = original
                self._start()

        torch.cuda._lazy_init = lazy_init

    def _start(self) -> None:
        session = self._session
        if session is None or session.steps is None:
            return
        try:
            if session.steps.starts_with_process:
                session.start()
        except Exception as error:  # the job goes on
            tell(f"rank {self._rank.rank} is not recorded: {_told(error)}")

    def _exited(self) -> None:
        self._end(_uncaught())
        self._signals.stop()

    def _ended_by(self, signal: str) -> None:
        why = _OF_A_JOB if signal == "SIGTERM" and self._rank.is_of_a_job else ""
        self._end(_uncaught() or f"{_ENDED_BY[signal]}{why}")

    def _end(self, failure: str | None) -> None:
        session = self._session
        if session is None:
            return
        try:
            if session.steps is not None and session.steps.count:
                session.announce()  # no launcher, though it has not come to what was asked for
            waits = _REST_AFTER_FAILURE_S if failure else _REST_S
            if session.is_recording and not self._rest.within(waits):
                session.end_at_work(failure)
            else:
                session.end(failure)
        except Exception as error:
            tell(f"rank {self._rank.rank} could not be written: {_told(error)}")

    def _forked(self) -> None:
        """Leave a forked child alone: it is no rank, whatever it inherits."""
        session, self._session = self._session, None
        atexit.unregister(self._exited)
        self._signals.forget()
        with suppress(Exception):
            if session is not None and session.steps is not None:
                session.steps.stop()


class ImportWatch:
    """Calls back when a module was imported, once each."""

    def __init__(self, loaded: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self._loaded = dict(loaded)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module that is waited for as Python does, with a loader that tells."""
        if name not in self._loaded:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        tell_loaded, load = self._loaded.pop(name), spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            try:
                tell_loaded(module)
            except Exception as error:
                tell(f"this process is not recorded: {_told(error)}")

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _uncaught() -> str | None:
    """Say what ended the script, if an exception did: the interpreter has noted it by then."""
    error = getattr(sys, "last_value", None)
    return _told(error) if isinstance(error, BaseException) else None


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, ProtonLabError) else one_line(error)


def tell(message: str) -> None:
    """Say something beside the job's own output."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"protonlab: {message}\n")
