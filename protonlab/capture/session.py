"""A session: the act of recording one piece of code, whatever runs its kernels."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from protonlab.capture import _platform, _proton
from protonlab.capture.clocks import Clocks
from protonlab.capture.options import option
from protonlab.errors import CaptureError, ProtonLabError
from protonlab.formats import load
from protonlab.model import KernelFilter, Profile, ProfileInfo
from protonlab.model.clocks import clock_notes

if TYPE_CHECKING:
    from protonlab.capture._hook import LaunchHook
    from protonlab.capture._interpreter import Launches
    from protonlab.capture._launch_record import HookRecord

INTERPRETER = "interpreter, CPU"


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
    context
        What kernels are filed under: ``"shadow"``, the scopes they were launched in, or
        ``"python"``, the Python call stack.
    record
        Launch metadata keys to record; None records every number.
    hook
        A LaunchHook of your own, in place of `include`, `exclude` and `record`.

    Raises
    ------
    ProtonLabError
        If an option is not legal.

    Examples
    --------
    >>> with Session("moe", include="_p_matmul.*") as session:  # doctest: +SKIP
    ...     with session.paused():
    ...         moe(x)  # compile and autotune unrecorded
    ...     moe(x)
    >>> session.profile.kernels  # doctest: +SKIP
    """

    def __init__(
        self,
        name: str = "proton",
        *,
        include: str | None = None,
        exclude: str | None = None,
        context: Literal["shadow", "python"] = "shadow",
        record: Iterable[str] | str | None = None,
        hook: LaunchHook | None = None,
    ) -> None:
        given = {"include": include, "exclude": exclude, "record": record}
        if hook is not None:
            _check_hook(hook, [key for key, value in given.items() if value is not None])
        self.name = name
        self.context = option("context").check(context)
        self._filter = KernelFilter(include, exclude)
        self._record = option("record").check(record)
        self._hook = hook
        self._recording: _proton.Recording | None = None
        self._launches: Launches | None = None
        self._before: HookRecord | None = None
        self._clocks = Clocks()
        self._when = ""
        self._ended = False
        self._profile: Profile | None = None
        self._problem: str | None = None

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
            If the session has not ended, or Proton could not record.
        """
        if self._problem is not None:
            raise CaptureError(f"session {self.name!r} has no profile: {self._problem}")
        if self._profile is None:
            state = "is still recording" if self._recording else "has not been started"
            raise CaptureError(f"session {self.name!r} {state}; its profile is there after stop()")
        return self._profile

    def start(self) -> Self:
        """Begin to record.

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
            self._begin()
        except ProtonLabError as error:
            self._problem = str(error)
        except BaseException:
            self._end_launches()
            raise
        self._clocks.read()
        return self

    def _begin(self) -> None:
        _proton.require()
        if self._hook is None:
            from protonlab.capture._hook import LaunchHook

            self._hook = LaunchHook(
                include=self._filter.include, exclude=self._filter.exclude, record=self._record
            )
        self._before = self._hook.begin()
        interpreted = _platform.interpreting()
        if interpreted:
            from protonlab.capture import _interpreter

            if not _interpreter.is_whole():
                raise CaptureError(
                    f"{_interpreter.TOO_LATE}; restart the kernel and load protonlab first"
                )
            self._launches = _interpreter.Launches()
            self._launches.start()
        try:
            self._recording = _proton.Recording(self.context, self._hook, interpreted=interpreted)
        except ProtonLabError:
            self._end_launches()
            raise

    def stop(self) -> None:
        """Stop recording and read the profile; does nothing when the session is not recording."""
        recording, self._recording = self._recording, None
        self._ended = True
        if recording is None:
            return
        self._clocks.read()  # while the GPU may still be at work
        try:
            tree = recording.finish()
            self._profile = self._read(tree)
        except ProtonLabError as error:
            self._problem = str(error)
        finally:
            self._end_launches()

    def _end_launches(self) -> None:
        launches, self._launches = self._launches, None
        if launches is not None:
            launches.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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

    def _read(self, tree: bytes) -> Profile:
        assert self._hook is not None
        assert self._before is not None
        record = self._hook.record.since(self._before)
        info = ProfileInfo(
            name=self.name,
            backend=INTERPRETER if self._launches else "roctracer" if _is_amd() else "cupti",
            context=self.context,
            versions=_versions(),
            gpu="" if self._launches else _gpu_name(),
            when=self._when,
            include=self._hook.include,
            exclude=self._hook.exclude,
            launches=record.launches,
            cells=_cells() if self.context == "python" else {},
            notes=record.notes,
        )
        kept = record.kept
        profile = load(tree, info=info).with_hook(record.kernel_of, kept, record.filtered, kept)
        used = [gpu.device_id for gpu in profile.devices if gpu.device_type == "CUDA"]
        clocks = self._clocks.of(used)
        notes = (*info.notes, *clock_notes(clocks))
        return replace(profile, info=replace(info, clocks=clocks, notes=notes))


def _check_hook(hook: object, also: list[str]) -> None:
    if also:
        raise ProtonLabError(
            f"hook= brings its own filter, so it excludes {' and '.join(also)}; give "
            "them to the hook: LaunchHook(include=…, exclude=…, record=…)"
        )
    module = sys.modules.get("protonlab.capture._hook")  # not loaded: then nobody has made one
    if module is not None and isinstance(hook, module.LaunchHook):
        return
    raise ProtonLabError(
        f"hook={hook!r} is a {type(hook).__name__}; it must be a protonlab.LaunchHook, such as "
        "LaunchHook(include='_p_matmul.*')"
    )


def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
    for package in ("protonlab", "triton", "torch"):
        with suppress(importlib.metadata.PackageNotFoundError):  # run from a source checkout
            found[package] = importlib.metadata.version(package)
    return found


def _is_amd() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.version.hip is not None


def _gpu_name() -> str:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    return str(torch.cuda.get_device_name())


def _cells() -> Mapping[str, int]:
    """File names of the notebook's cells, by which the Python context cuts the shell's frames."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return dict(names) if isinstance(names, dict) else {}
