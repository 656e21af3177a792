"""One session's use of a launch hook, and of what else looks at launches meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from threading import RLock
from typing import TYPE_CHECKING

from protonlab.capture._graphs import GraphReplays
from protonlab.capture._hook import LaunchHook
from protonlab.capture._launch_record import HookRecord, Notes
from protonlab.capture._no_sync import NoSyncMetadata
from protonlab.capture._platform import interpreter_launches
from protonlab.capture._scope_metrics import ScopeMetrics
from protonlab.capture._tuning import Tuning
from protonlab.model.tuning import TuningTrial

if TYPE_CHECKING:
    from protonlab.capture._between_launches import BetweenLaunches
    from protonlab.capture._interpreter import Launches


class HookSession:
    """What a hook sees between `start` and `stop`.

    Parameters
    ----------
    hook
        The hook, which may serve other sessions before and meanwhile.
    detects_syncs
        Whether metadata functions that wait for the GPU are to be found.
    """

    def __init__(self, hook: LaunchHook, *, detects_syncs: bool) -> None:
        self.hook = hook
        self._detects_syncs = detects_syncs
        self._launches: Launches | None = None
        self._replays = GraphReplays()
        self._tuning = Tuning()
        self._stack = ExitStack()
        self._before: HookRecord | None = None
        self._notes = Notes()  # of this session alone, while the hook may serve others

    @property
    def interpreted(self) -> bool:
        """Whether kernels run in Triton's interpreter."""
        return self._launches is not None

    @property
    def between(self) -> BetweenLaunches | None:
        """Says when no launch runs in Triton's interpreter; None on a GPU."""
        return None if self._launches is None else self._launches.between

    @property
    def lock(self) -> RLock | None:
        """Held by each launch in Triton's interpreter; None on a GPU."""
        return None if self._launches is None else self._launches.lock

    def start(self) -> None:
        """Begin to look."""
        self._launches = interpreter_launches()
        try:
            if self._launches is not None:
                self._stack.callback(self._launches.stop)
            self._before = before = self.hook.begin()
            self._stack.callback(self.hook.end)
            if self._detects_syncs:
                self._detect_syncs(before)
            scopes = ScopeMetrics(self._notes)
            for watcher in (self._replays, self._tuning, NoSyncMetadata(), scopes):
                self._stack.enter_context(watcher)
        except BaseException:
            self._stack.close()
            raise

    def _detect_syncs(self, before: HookRecord) -> None:
        from protonlab.capture._synchronisations import SyncDetector  # which imports torch

        detector = SyncDetector()
        LaunchHook.watchers.append(detector)

        def tell() -> None:
            LaunchHook.watchers.remove(detector)
            kept = self.hook.seen.since(before).kept
            for kernel, message, place in detector.findings(kept):
                self._notes.tell(kernel, "synchronisation", message, place)

        self._stack.callback(tell)

    def stop(self) -> None:
        """Take back all that `start` did; may be called again."""
        self._stack.close()

    @property
    def record(self) -> HookRecord:
        """What the hook saw since `start`, with the notes of all that looked."""
        assert self._before is not None
        first = tuple(self._launches.notes) if self._launches is not None else ()
        record = self.hook.seen.since(self._before)
        return record.with_notes(*first, *self._replays.notes, *self._notes.messages)

    @property
    def trials(self) -> tuple[TuningTrial, ...]:
        """What autotuners tried since `start`."""
        return tuple(self._tuning.trials)
