"""One recording of Proton's: started with a session's words, read back in parts, left clean."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import RLock
from typing import Any, cast

from protonlab.capture import _proton
from protonlab.capture._backends import check_backend
from protonlab.capture._failures import FINALIZED, explain, explain_disabled, explain_modes
from protonlab.capture._launch_record import Launch
from protonlab.capture._part import Part
from protonlab.capture._phases import BUFFER_BYTES, BUFFER_VARIABLE
from protonlab.capture._platform import gpus_in_use
from protonlab.capture._short_cut import take_short_cut
from protonlab.capture.proton_words import CheckedWords
from protonlab.errors import CaptureError
from protonlab.model.repeats import REPEAT_SCOPE


class Recording:
    """One live Proton session with one hook; ends with `finish`.

    Each repeat gets a phase of Proton's, or a scope where there are no phases; where no scope
    shows either (Python context), a Proton session of its own.

    Parameters
    ----------
    name
        Name of the session, for messages.
    words
        Context, data, backend and mode.
    hook
        The launch hook.
    lock
        Held by each launch in Triton's interpreter, where Proton builds its tree without a GPU.
    watched
        Whether it is read while it records: CUPTI then hands records over in small portions.

    Raises
    ------
    ProtonLabError
        If Proton does not start; the message is one sentence with the next step.
    """

    def __init__(
        self,
        name: str,
        words: CheckedWords,
        hook: Any,
        lock: RLock | None = None,
        *,
        watched: bool = False,
    ) -> None:
        self._proton = _proton.require()
        if self._proton.is_disabled():
            raise CaptureError(explain_disabled(command_line=self._proton.flags.command_line))
        self._name, self.words, self._hook = name, words, hook
        self._interpreted, self._watched = lock is not None, watched
        self._no_launch = lock or nullcontext()
        self.first_phase = 0  # what came before was read and cleared while the session recorded
        self._done: list[Part] = []  # of Proton sessions that ended between repeats
        self._part: int | None = None
        self._scope: int | None = None
        self._pauses = 0
        self._open()

    def _open(self) -> None:
        flags = self._proton.flags
        self._parts: dict[int, int | None] = {0: self._part}  # first phase -> its repeat
        self._folder = _temporary_folder()
        if not self._flushes:
            self._folder.rmdir()  # until it is read: who is killed before leaves nothing behind
        before = set(os.environ)
        self._set: set[str] = set()  # environment that Proton sets: the paths of its libraries
        self._counted = False
        self._scopes_before: int = self._proton.libproton.record_scope()
        was_on = flags.profiling_on
        if self._watched:
            os.environ.setdefault(BUFFER_VARIABLE, str(BUFFER_BYTES))
        try:
            self.id = self._start(str(self._folder / "profile"))
            self._set = set(os.environ) - before
        except BaseException as error:
            self._set = set(os.environ) - before
            flags.profiling_on = was_on
            self._restore()
            if isinstance(error, Exception):
                raise CaptureError(self._explained(error)) from error
            raise
        # The switch counts our sessions. Whoever else starts one sets True, which then stays.
        self._counted = was_on is not True
        flags.profiling_on = was_on + 1 if self._counted else True
        mode = f"mode={self.words.mode}" if self.words.mode else "no mode"
        self._proton.live[self.id] = f"session {self._name!r} ({mode})"
        try:
            self._proton.hook_manager.register(self._hook, self.id)
            self._hooks = {*self._proton.hook_manager.session_hooks[self.id]}
            take_short_cut(self._hook)
            if gpus_in_use():  # elsewhere the helper kernels would make a context
                self._proton.prepare_captures()
        except BaseException as error:
            with suppress(CaptureError):
                self.finish()
            if isinstance(error, Exception):
                raise CaptureError(explain(error)) from error
            raise

    def _start(self, path: str) -> int:
        proton, words = self._proton, self.words
        if self._interpreted:
            # The instrumentation backend touches no GPU; its target is only a word.
            args = (path, words.context, "tree", "instrumentation", "cuda")
            return cast(int, proton.libproton.start(*args))
        check_backend(words)
        mode = words.mode
        session = proton.profiler.start(
            path,
            context=words.context,
            data=words.data,
            backend=words.backend,
            mode=mode and (mode.given or str(mode)),
        )
        if session is None:
            raise CaptureError(explain_disabled(command_line=proton.flags.command_line))
        return cast(int, session)

    def _explained(self, error: Exception) -> str:
        if "different mode than existing sessions" in str(error):
            return explain_modes(self.words.mode, list(self._proton.live.values()))
        return explain(error)

    def pause(self) -> None:
        """Record nothing until `resume`; `finish` says what went wrong, should this fail."""
        self._pauses += 1
        if self._pauses == 1:
            self._fall_silent()

    def resume(self) -> None:
        """Record again, once each pause was ended."""
        self._pauses -= 1
        if not self._pauses:
            with self._no_launch, suppress(Exception):
                held = self._proton.hook_manager.session_hooks[self.id]
                for other in held.keys() - self._hooks:  # the manager has filed it here
                    del held[other]
                self._proton.profiler.activate(self.id)
                take_short_cut(self._hook)

    def _fall_silent(self) -> None:
        with self._no_launch, suppress(Exception):
            self._hook.settle()
            with Launch.none_in_others(), self._proton.hooks_as_registered():
                self._proton.profiler.deactivate(self.id)

    def begin_part(self, repeat: int | None) -> None:
        """File what is launched from here on under a repeat; None: under no repeat.

        Raises
        ------
        CaptureError
            If Proton cannot; the session is then to be finished.
        """
        try:
            with self._no_launch:
                self._begin_part(repeat)
        except Exception as error:
            raise CaptureError(explain(error)) from error

    def _begin_part(self, repeat: int | None) -> None:
        libproton = self._proton.libproton
        if self._proton.has_phases:
            self._parts[libproton.advance_data_phase(self.id)] = repeat
        elif self.words.context == "shadow":
            self._leave_scope()
            if repeat is not None:
                self._scope = libproton.record_scope()
                libproton.enter_scope(self._scope, f"{self._prefix}{repeat}")
        else:
            self._done = self.finish()
            self._part = repeat
            self._open()
            if self._pauses:
                self._fall_silent()
            return
        self._part = repeat

    @property
    def _flushes(self) -> bool:
        """Whether Proton writes files while it records."""
        mode = self.words.mode
        return mode is not None and mode.name == "periodic_flushing"

    @property
    def has_repeats(self) -> bool:
        """Whether it was told of a repeat."""
        return bool(self._done) or any(repeat is not None for repeat in self._parts.values())

    def ended_phases(self) -> list[tuple[int, int | None]]:
        """Return those of Proton's phases that have ended, each with its repeat."""
        return list(self._parts.items())[:-1]

    def _leave_scope(self) -> None:
        if self._scope is not None:
            self._proton.libproton.exit_scope(self._scope, f"{self._prefix}{self._part}")
            self._scope = None

    @property
    def _prefix(self) -> str:
        return f"{REPEAT_SCOPE}{self.id}:"

    def finish(self) -> list[Part]:
        """End the session and give back what Proton recorded.

        Raises
        ------
        CaptureError
            If it could not be read. Nothing of the session is left all the same.
        """
        try:
            with self._no_launch:
                return [*self._done, *self._read()]
        except Exception as error:
            raise CaptureError(explain(error)) from error
        finally:
            self._proton.live.pop(self.id, None)
            try:
                with self._proton.hooks_as_registered():
                    self._proton.profiler.finalize(self.id)
            except Exception:  # the cell may have finalized all sessions, ours with them
                self._proton.hook_manager.unregister(self.id)
            finally:
                self._restore()

    def _read(self) -> Iterator[Part]:
        """Read trees from memory; traces, and what is flushed as it comes, from files."""
        proton = self._proton
        self._hook.settle()
        self._leave_scope()
        _synchronize()
        if proton.has_phases and self.words.data == "tree" and not self._flushes:
            with Launch.none_in_others(), proton.hooks_as_registered():
                proton.profiler.deactivate(self.id, flushing=True)
            phases = proton.libproton.advance_data_phase(self.id)
            repeat = None
            for phase in range(self.first_phase, phases):
                repeat = self._parts.get(phase, repeat)
                yield Part(proton.libproton.get_data_msgpack(self.id, phase), repeat)
            # So that finalize has nothing to write out.
            proton.libproton.clear_data(self.id, phases, True)
            return
        if self._hook not in proton.hook_manager.session_hooks.get(self.id, ()):
            raise CaptureError(FINALIZED)  # Proton's finalize says nothing
        self._folder.mkdir(mode=0o700, exist_ok=self._flushes)
        from protonlab.capture._scope_metrics import ScopeMetrics

        ended = ScopeMetrics.scopes_ended(since=self._scopes_before)
        with Launch.none_in_others(), proton.hooks_as_registered(), ended:
            proton.profiler.finalize(self.id)
        for file in sorted(self._folder.glob("profile*"), key=_number):
            yield Part(file.read_bytes(), self._parts[0], self._prefix)

    def _restore(self) -> None:
        flags = self._proton.flags
        if self._counted and flags.profiling_on is not True:
            flags.profiling_on = max(flags.profiling_on - 1, 0) or False
        for key in self._set & os.environ.keys():
            del os.environ[key]
        shutil.rmtree(self._folder, ignore_errors=True)


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="protonlab-"))
    except OSError as error:
        raise CaptureError(
            f"Proton needs a temporary folder and there is none to write to: {error}; free some "
            "space or point TMPDIR at another"
        ) from error


def _number(file: Path) -> int:
    """Phase of a file: ``profile.part_12.hatchet``."""
    found = re.search(r"\.part_(\d+)\.", file.name)
    return int(found[1]) if found else 0


def _synchronize() -> None:
    """Let launched kernels end, so that their times are there."""
    for gpu in gpus_in_use():
        sys.modules["torch"].cuda.synchronize(gpu)
