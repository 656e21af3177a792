"""A session: the act of recording one piece of code, whatever runs its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NoReturn, Self

from protonlab.capture import _proton, _reading
from protonlab.capture._hook_option import check_hook
from protonlab.capture._recording import Recording
from protonlab.capture._rounds import Rounds
from protonlab.capture._so_far import SoFar
from protonlab.capture.clocks import Clocks
from protonlab.capture.options import option
from protonlab.capture.proton_words import CheckedWords, ProtonWords
from protonlab.errors import CaptureError, ProtonLabError
from protonlab.model import KernelFilter, Profile, Trace

if TYPE_CHECKING:
    from typing import Unpack

    from protonlab.capture._hook import LaunchHook
    from protonlab.capture._hook_session import HookSession


class Session:
    """Records kernels between `start` and `stop`; a context manager.

    If Proton cannot record, the code inside still runs: `problem` says why, and only asking for
    `profile` raises. Sessions may nest and overlap. After `stop`, an error or an interrupt no file,
    no Proton session and no hook is left.

    Parameters
    ----------
    name
        Name of the profile.
    include, exclude
        Regular expressions for the launch hook, matched from the start of the compiled kernel
        name: whose launch metadata is evaluated. All kernels are timed.
    record
        Launch metadata keys to record; None records every number.
    hook
        A LaunchHook of your own, in place of `include`, `exclude` and `record`.
    sync
        ``"warn"``: find launch metadata that makes the host wait for the GPU, and what that costs.
    **words
        ``context``, ``data``, ``backend`` and ``mode``, as `ProtonWords` describes them.

    Raises
    ------
    ProtonLabError
        If an option is not legal, or is known not to work beside another.

    Examples
    --------
    >>> with Session("moe", include="_p_matmul.*") as session:  # doctest: +SKIP
    ...     with session.paused():
    ...         moe(x)  # compile and autotune unrecorded
    ...     moe(x)
    >>> session.profile.kernels  # doctest: +SKIP
    >>> with Session("timeline", data="trace") as session:  # doctest: +SKIP
    ...     moe(x)
    >>> session.trace.kernels  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str = "proton",
        *,
        include: str | None = None,
        exclude: str | None = None,
        record: Iterable[str] | str | None = None,
        hook: LaunchHook | None = None,
        sync: Literal["ignore", "warn"] = "ignore",
        **words: Unpack[ProtonWords],
    ) -> None:
        given = {"include": include, "exclude": exclude, "record": record}
        if hook is not None:
            check_hook(hook, [key for key, value in given.items() if value is not None])
        self.name = name
        self.words = CheckedWords.of(**words)
        self._filter = KernelFilter(include, exclude)
        self._record = option("record").check(record)
        self._detects_syncs = option("sync").check(sync) == "warn"
        self._hook = hook
        self._recording: Recording | None = None
        self._seen: HookSession | None = None
        self._clocks = Clocks()
        self._when = ""
        self._ended = False
        self._rounds = Rounds(self)
        self._result: Profile | Trace | None = None
        self._problem: str | None = None
        self._so_far = SoFar()
        self.notes: list[str] = []  # what others have to say about the profile to come

    def __repr__(self) -> str:
        state = "recording" if self._recording else "ended" if self._ended else "not started"
        return f"<Session {self.name!r}: {state}>"

    @property
    def problem(self) -> str | None:
        """One sentence on why there is no profile, with what to do; None when there is one."""
        return self._problem

    @property
    def profile(self) -> Profile:
        """What was recorded, after `stop`.

        Raises
        ------
        CaptureError
            If the session has not ended, Proton could not record, or recorded a trace.
        """
        if not isinstance(self._result, Profile):
            self._refuse("profile")
        return self._result

    @property
    def trace(self) -> Trace:
        """What was recorded with ``data="trace"``, after `stop`; raises as `profile` does."""
        if not isinstance(self._result, Trace):
            self._refuse("trace")
        return self._result

    @property
    def result(self) -> Profile | Trace:
        """Whatever was recorded: `profile`, or `trace`."""
        return self.trace if self.words.data == "trace" else self.profile

    def _refuse(self, wanted: str) -> NoReturn:
        kept = "trace" if self.words.data == "trace" else "profile"
        if self._problem is not None:
            raise CaptureError(f"session {self.name!r} has no {wanted}: {self._problem}")
        if kept != wanted:
            raise CaptureError(
                f"session {self.name!r} has no {wanted}: it records data={self.words.data}, so "
                f"there is session.{kept}"
            )
        state = "is still recording" if self._recording else "has not been started"
        raise CaptureError(f"session {self.name!r} {state}; its {wanted} is there after stop()")

    def start(self, *, watched: bool = False) -> Self:
        """Begin to record; `watched`: in a way that lets `so_far` see more of it.

        Raises
        ------
        ProtonLabError
            If the session was started before: a session records once.
        """
        if self._recording is not None or self._ended or self._when:
            raise ProtonLabError(
                f"session {self.name!r} was started before; make another Session to record again"
            )
        self._when = datetime.now().astimezone().isoformat(timespec="seconds")
        try:
            self._begin(watched)
            self._clocks.read()
        except ProtonLabError as error:
            self._problem = str(error)
        except BaseException:
            self.stop()
            raise
        return self

    def _begin(self, watched: bool) -> None:
        _proton.require()
        from protonlab.capture._hook import LaunchHook
        from protonlab.capture._hook_session import HookSession

        if self._hook is None:
            self._hook = LaunchHook(
                include=self._filter.include, exclude=self._filter.exclude, record=self._record
            )
        self._seen = HookSession(self._hook, detects_syncs=self._detects_syncs)
        self._seen.start()
        try:
            lock = self._seen.lock
            self._recording = Recording(self.name, self.words, self._hook, lock, watched=watched)
        except BaseException:
            self._seen.stop()
            raise

    def stop(self) -> None:
        """Stop recording and read the profile; does nothing when the session is not recording."""
        with self._so_far.lock:
            recording, self._recording = self._recording, None
            self._ended = True
        if recording is None or self._seen is None:
            return
        self._clocks.read()  # while the GPU may still be at work
        self._problem = "its end was interrupted; record again"
        try:
            parts = recording.finish()
            self._seen.stop()
            self._result = _reading.result_of(parts, self._source())
            self._problem = None
        except ProtonLabError as error:
            self._problem = str(error)
        finally:
            self._seen.stop()

    def so_far(self) -> Profile:
        """Read what is complete while the session records; in another thread, too.

        What is just being launched is not in it. Memory does not grow: what was read is added up.

        Raises
        ------
        CaptureError
            If it does not record, or is read at its end only: before Triton 3.7, with
            ``data="trace"``, with repeats. It goes on recording all the same.
        """
        with self._so_far.lock:
            parts = self._so_far.read(self._recording, self._seen, self._source)
            return _reading.profile_of(parts, self._source())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        self.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing inside the ``with`` block: warm-up, compilation, autotuning."""
        recording = self._recording
        if recording is not None:
            recording.pause()
        try:
            yield
        finally:
            if recording is not None and recording is self._recording:
                recording.resume()

    def repeats(self, number: int, *, warmup: int = 0) -> Iterator[int]:
        """Repeat what stands in the loop, and keep what each round recorded.

        Before the repeats come `warmup` rounds that are not recorded. The profile holds the sums
        over the repeats; `Profile.distribution` says how they vary. A round that does not end,
        by ``break`` or an exception, is left out if another one ended.

        Parameters
        ----------
        number
            How many repeats.
        warmup
            How many rounds before them.

        Yields
        ------
        int
            Number of the round: -`warmup` to -1, then 0 to `number` - 1.

        Raises
        ------
        ProtonLabError
            If a number is not legal, or the session keeps no tree that repeats could be added to.

        Examples
        --------
        >>> with Session("moe") as session:  # doctest: +SKIP
        ...     for _ in session.repeats(20, warmup=3):
        ...         moe(x)
        >>> session.profile.distribution("time/us")  # doctest: +SKIP
        """
        number, warmup = option("repeat").check(number), option("warmup").check(warmup)
        self.words.check_repeats(number, warmup)
        return self._rounds.run(number, warmup)

    def begin_part(self, repeat: int | None) -> None:
        """File what is launched from here on under a repeat; `repeats` does that for you."""
        if self._recording is None:
            return
        try:
            self._recording.begin_part(repeat)
        except CaptureError:
            self.stop()  # which says why

    def end_repeat(self) -> bool:
        """Read the clocks at the end of a repeat; whether the session is still recording."""
        if self._recording is not None:
            self._clocks.read()
        return self._recording is not None

    def _source(self) -> _reading.Source:
        assert self._seen is not None
        return _reading.Source(
            name=self.name,
            words=self.words,
            seen=self._seen,
            when=self._when,
            completed=self._rounds.completed,
            warmup=self._rounds.warmup,
            clocks=self._clocks,
            earlier=self._so_far.settled,
            notes=self.notes,
        )
