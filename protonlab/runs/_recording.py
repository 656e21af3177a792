"""A session of one rank, which leaves its profile and a manifest in a run folder."""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from protonlab.capture import Session, _proton, _reading, _surroundings
from protonlab.capture._recording import Recording
from protonlab.capture.salvage import complete_parts
from protonlab.errors import ProtonLabError
from protonlab.model import Profile
from protonlab.model.manifest import RankManifest, State
from protonlab.runs._gpu import Gpu
from protonlab.runs._rank import Rank, one_line
from protonlab.runs._rank_files import RankFiles
from protonlab.runs._recording_steps import Steps

if TYPE_CHECKING:
    from typing import Unpack

    from protonlab.capture import ProtonWords


class RankSession(Session):
    """A `Session` in each rank of a job: what it recorded goes into a run folder.

    Steps are told apart where an optimizer steps, from the first such moment on: the profile's
    repeats are steps. The ranks do not speak to each other. A rank that cannot write or record
    warns, and the script goes on. ``protonlab run`` does all of this from outside of a script.

    Parameters
    ----------
    folder
        The run folder, the same in all ranks; made where it is missing.
    keep_host
        Whether the name of the host is written into the manifest.
    include, exclude, record, **words
        As of `Session`.

    Examples
    --------
    >>> with RankSession("run1") as session:  # doctest: +SKIP
    ...     for batch in loader:
    ...         train_step(batch)
    >>> protonlab.load_run("run1").stragglers()  # doctest: +SKIP
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        keep_host: bool = False,
        include: str | None = None,
        exclude: str | None = None,
        record: Iterable[str] | str | None = None,
        **words: Unpack[ProtonWords],
    ) -> None:
        self.rank = Rank.of(os.environ)
        super().__init__(
            f"rank {self.rank.rank}", include=include, exclude=exclude, record=record, **words
        )
        self.steps: Steps | None = Steps(self)
        self._files: RankFiles | None = RankFiles(Path(folder))
        self._announced = False
        self._keep_host = keep_host
        self._started = _now()
        self._gpu = Gpu()
        self._failure: str | None = None
        self._salvaged: int | None = None  # steps
        self._written: RankManifest | None = None
        self._ending = threading.RLock()  # the process may be ended while a window is

    def announce(self) -> None:
        """Say in the folder that this rank is there; `start` does it if nobody did."""
        if self._announced or self._files is None:
            return
        self._announced = True
        try:
            self._files.claim(self._manifest("recording"))
        except OSError as error:
            self._problem = f"the run folder {self._files.folder} cannot be written to: {error}"
            self._files = None
            warnings.warn(f"{self.name}: {self._problem}", RuntimeWarning, stacklevel=3)

    def start(self, *, watched: bool = False) -> Self:
        """Begin to record, as `Session.start` does, and to count steps."""
        self.announce()
        if self._files is None:  # nowhere to write to
            return self
        self._started = _now()
        if self.steps is not None and not self.tells_steps_apart and self.words.data == "tree":
            self.notes.append("steps are not told apart: that needs Triton 3.7 or later")
            if self.steps.scope is not None:
                self._problem = f"scope={self.steps.scope} needs Triton 3.7 or later; give steps"
                self.end()
                return self
        if self.steps is not None:
            self.steps.watch()
        super().start(watched=watched)
        if self._recording is None:
            self.end()
        elif self.steps is not None:
            self.steps.session_started()
        return self

    @property
    def is_recording(self) -> bool:
        """Whether it records now."""
        return self._recording is not None

    @property
    def tells_steps_apart(self) -> bool:
        """Whether launches can be filed by step: by Proton's phases, whichever thread launches."""
        try:
            return self.words.data == "tree" and _proton.require().has_phases
        except ProtonLabError:  # start() will say so
            return True

    def stop(self) -> None:
        """Stop recording, and write profile and manifest."""
        with self._ending:
            records = self._recording is not None
            super().stop()
            if records:
                self._write()

    def __exit__(self, *failure: object) -> None:
        error = failure[1] if len(failure) > 1 else None
        self.end(one_line(error) if isinstance(error, BaseException) else None)

    def end(self, failure: str | None = None) -> None:
        """Stop, with one sentence on why the script failed, if it did while recording."""
        with self._ending:
            if self._written is None:
                self._failure = failure
            self.stop()
            if self.steps is not None:  # after the session, which watches scopes as well
                self.steps.stop()
            self._write()

    def end_at_work(self, failure: str | None = None) -> None:
        """End while the GPU does not come to rest: with the steps that are complete.

        A rank whose peer died waits in a collective for ever, and so would whoever waits for its
        kernels. Proton's session is left as it is, since the process is about to go.
        """
        with self._ending:
            recording = self._recording
            if recording is not None:
                with self._so_far.lock:
                    self._recording, self._ended = None, True
                self._salvage(recording)
            self.end(failure)

    def _salvage(self, recording: Recording) -> None:
        try:
            parts = complete_parts(recording)
            self._rounds.completed[:] = sorted(part.repeat or 0 for part in parts)
            self.notes.append("the rank was ended while its GPU was at work: whole steps only")
            self._result = _reading.profile_of(parts, self._source())
            self._salvaged = len(parts)
        except ProtonLabError as error:
            self._problem = str(error)

    def repeats(self, number: int, *, warmup: int = 0) -> Iterator[int]:
        """Repeat what stands in the loop, as `Session.repeats`; steps are then not counted."""
        if self.steps is not None:
            self.steps.stop()
            self.steps = None
        return super().repeats(number, warmup=warmup)

    def end_step(self, repeat: int) -> None:
        """Count a repeat that a step has filled."""
        self._rounds.completed.append(repeat)

    def read_clocks(self) -> None:
        """Read the GPU's clocks; a context is there once a step was made."""
        self._gpu = Gpu.current()  # of the script's thread
        self._clocks.read()

    def _write(self) -> None:
        """Write what was recorded, once, and the manifest that says so."""
        if self._files is None or not self._announced:
            return
        before, problem = self._written, self._problem
        files = before.files if before is not None else ()
        try:
            if before is None and self._result is not None and not self._holds_nothing:
                files = (self._files.save(self._result),)
        except (OSError, ProtonLabError) as error:
            problem = f"the profile could not be written: {error}"
        if problem is None and self.steps is not None and (self._missed_steps or not files):
            problem = self.steps.missed
        reason = before.error if before is not None else self._failure or problem
        ended = before.ended if before is not None else _now()
        manifest = self._manifest("failed" if reason else "complete", files, reason, ended)
        if manifest == before:
            return
        try:
            self._files.tell(manifest)
            self._written = manifest
        except OSError as failed:
            words = f"{self.name}: the manifest could not be written: {failed}"
            warnings.warn(words, RuntimeWarning, stacklevel=2)

    @property
    def _missed_steps(self) -> bool:
        """Whether certain steps were asked for, and none came to its end."""
        return self.steps is not None and self.steps.drops_before and not self.steps.times

    @property
    def _holds_nothing(self) -> bool:
        result = self._result
        return self._missed_steps and isinstance(result, Profile) and result.kernels.empty

    def _source(self) -> _reading.Source:
        return replace(
            super()._source(), keeps_rest=self.steps is not None and self.steps.keeps_rest
        )

    def _manifest(
        self,
        state: State,
        files: tuple[str, ...] = (),
        error: str | None = None,
        ended: str | None = None,
    ) -> RankManifest:
        if threading.current_thread() is threading.main_thread():
            self._gpu = Gpu.current()
        gpu, info = self._gpu, getattr(self._result, "info", None)
        readings = [] if gpu.ordinal is None else self._clocks.of([gpu.ordinal])
        clocks = dataclasses.asdict(readings[-1]) if readings else {}
        times = self.steps.times if self.steps is not None else {}
        if self._salvaged is not None:
            times = {**times, "steps": self._salvaged}
        return RankManifest(
            rank=self.rank.rank,
            world_size=self.rank.world_size,
            state=state,
            started=self._started,
            local_rank=self.rank.local_rank,
            host=socket.gethostname() if self._keep_host else None,
            attempt=self.rank.attempt,
            files=files,
            ended=ended,
            gpu_uuid=gpu.uuid,
            gpu_name=gpu.name,
            versions=dict(info.versions if info else _surroundings.versions()),
            clocks=clocks,
            error=error,
            include=self._filter.include,
            exclude=self._filter.exclude,
            **times,
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
