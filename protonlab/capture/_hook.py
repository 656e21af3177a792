"""The launch hook: which kernels have their launch metadata evaluated, and what is recorded.

Triton calls `enter` before and `exit` after each launch, with a LazyDict that holds the compiled
name and evaluates the kernel's metadata function on demand. Three rules shape this file. Nothing
that goes wrong here reaches the launch. A metric is written once a launch: libproton writes to
every live session, so hooks of several sessions share one `Launch`. And every launch of the user's
program waits: a kernel is decided on once, and a hook that is alone does nothing for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from threading import get_ident
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, ClassVar

from protonlab.capture import _proton
from protonlab.capture._graphs import broken_capture
from protonlab.capture._kernels import Kernels
from protonlab.capture._launch_record import NO_KEYS, HookRecord, Kernel, Launch, Notes
from protonlab.capture._metric_writer import MetricWriter
from protonlab.capture._short_cut import leave_short_cut
from protonlab.capture.options import option
from protonlab.model.filters import KernelFilter

if TYPE_CHECKING:
    from protonlab.capture._synchronisations import SyncDetector

proton = _proton.require()
_record_scope, _enter_op, _exit_op = proton.record_scope, proton.enter_op, proton.exit_op
_enter_state, _exit_state = proton.enter_state, proton.exit_state
_add_metrics = proton.add_metrics
_active = proton.hook_manager.active_hooks  # Proton changes this list in place
_opened, _unrecorded = Launch.opened, Launch.unrecorded


class LaunchHook(proton.Hook):  # type: ignore[misc, name-defined]  # Triton has no types
    """A Proton hook that records launch metadata of the kernels you choose.

    It serves a `Session` (``hook=``), ``%%proton`` (``hook=name``) and, from Triton 3.7 on,
    ``proton.start(…, hook=hook)``. libproton gives every metric to every live session: a Session
    drops on reading what its own hook did not record, a session that you started yourself beside
    it shows the metrics of both.

    Parameters
    ----------
    include
        Regular expression; only kernels whose compiled name matches from its start are kept.
    exclude
        Regular expression; kernels whose compiled name matches are rejected, whatever `include`
        says. The metadata function of a rejected kernel is never called.
    record
        Launch metadata keys to record; None records every number.

    Raises
    ------
    ProtonLabError
        If a pattern is no regular expression or `record` holds something else than names.

    Examples
    --------
    >>> hook = LaunchHook(include="_p_matmul.*")
    >>> with Session("moe", hook=hook) as session:  # doctest: +SKIP
    ...     moe(x)
    """

    watchers: ClassVar[list[SyncDetector]] = []  # of all hooks: the first evaluates for all
    # Before Proton's own hook (100), which evaluates the metadata and so hides the compiled name.
    priority = 1000

    def __init__(
        self,
        *,
        include: str | None = None,
        exclude: str | None = None,
        record: Iterable[str] | str | None = None,
    ) -> None:
        keys = option("record").check(record)
        self._kernels = Kernels()
        self._loaded = self._kernels.loaded
        self._notes = Notes()
        self._writer = MetricWriter(None if keys is None else frozenset(keys), self._notes)
        self._write = self._writer.write
        self._spares: list[Launch] = []  # a new object each launch would cost time
        self.configure(include=include, exclude=exclude)

    def configure(self, *, include: str | None = None, exclude: str | None = None) -> None:
        """Replace the filter, from the next launch on.

        Raises
        ------
        ProtonLabError
            If a pattern is no regular expression; the filter then stays as it was.
        """
        self._kernels.decide(KernelFilter(include, exclude))

    def __repr__(self) -> str:
        return f"LaunchHook(include={self.include!r}, exclude={self.exclude!r})"

    @property
    def include(self) -> str | None:
        """Pattern of the kernels to keep; None keeps all."""
        return self._kernels.filter.include

    @property
    def exclude(self) -> str | None:
        """Pattern of the kernels to reject."""
        return self._kernels.filter.exclude

    @property
    def seen(self) -> HookRecord:
        """What the hook has seen since it was made."""
        return self._kernels.record(self._notes)

    def begin(self) -> HookRecord:
        """Begin a session: warn anew, let metrics have new types. Return the record so far."""
        self._writer.renew()
        self._kernels.renew()
        self._notes.renew()
        return self.seen

    def settle(self) -> None:
        """Write what could not be written at its launch; Proton must still be recording."""
        try:
            self._writer.settle()
        except Exception as error:
            self._notes.tell("late", "", f"metrics on the GPU could not be read: {error}", None)

    def end(self) -> None:
        """End a session: name keys that were never held."""
        self._writer.name_absent_keys()

    def init_handle(
        self, module: Any, function: Any, name: str, metadata_group: Any, hash: str
    ) -> None:
        """Remember the compiled name of a kernel that is being loaded."""
        self._kernels.load(function, name)

    def destroy_handle(
        self, module: Any, function: Any, name: str, metadata_group: Any, hash: str
    ) -> None:
        """Forget a handle, which the driver may give to another kernel."""
        self._loaded.pop(function, None)

    def activate(self) -> None:
        """Do nothing when a session starts."""

    def deactivate(self) -> None:
        """Close a frame whose launch failed, so that the next session's frames open."""
        leave_short_cut()
        _current(None)

    def enter(self, metadata: Any) -> None:
        """Open the launch's frame with its metrics, if the filter keeps the kernel."""
        # A kernel that was prepared before there was a hook has no metadata. What a metadata
        # function launches is filed under the metadata frame, unmeasured.
        if metadata is None or (_unrecorded and Launch.passes_by(self)):
            return
        try:
            data = metadata.data
            kernel = self._loaded.get(data["function"])
            if kernel is None or kernel.name != data["name"]:
                kernel = self._find(metadata, kernel)
            kernel.seen += 1
            if not kernel.keep:
                if _opened:
                    _current(metadata)
                return
            kernel.kept += 1
            thread = get_ident()
            launch = _current(metadata) if _opened else None
            if launch is not None and launch.scope is None:
                return  # another hook has seen its metadata function raise
            stream = data["stream"]  # read before a metadata function can hide it
            place = None
            if metadata.extras:
                place = metadata.extras[0][0]
                try:
                    _unrecorded.add(thread)
                    _enter_state(kernel.state)
                    data = _watched(kernel, metadata) if _watchers else metadata.get()
                except Exception as error:
                    launch = _opened[thread] = Launch(self)
                    launch.metadata = metadata
                    self._tell_failure(kernel.name, metadata, stream, place, error)
                    return
                finally:
                    _exit_state()
                    _unrecorded.discard(thread)
            if launch is None:
                name = data["name"]
                if name != kernel.shown:
                    name = kernel.shown = self._kernels.shown_name(name, kernel)
                try:
                    launch = self._spares.pop()
                except IndexError:
                    launch = Launch(self)
                launch.metadata, launch.kernel, launch.name = metadata, kernel.name, name
                launch.scope = scope = _record_scope()
                _enter_op(scope, name)
                _opened[thread] = launch
            metrics = kernel.read(data)
            if metrics is None or len(_active) > 1 or (stream and proton.capturing()):
                self._write(launch, kernel, data, stream, place)
            elif metrics:
                _add_metrics(scope, metrics)
        except Exception as error:
            self._notes.tell("launch hook", "", f"the launch hook failed: {error!r}", None)

    def exit(self, metadata: Any) -> None:
        """Close the launch's frame."""
        if len(_active) > 1 and metadata is not None:
            self._learn_name(metadata)
        if not _opened:
            return
        thread = get_ident()
        launch = _opened.get(thread)
        if launch is not None and launch.metadata is metadata and launch.owner is self:
            del _opened[thread]
            if launch.scope is not None:
                _exit_op(launch.scope, launch.name)
                launch.keys = NO_KEYS
                launch.metadata = None
                self._spares.append(launch)

    def _find(self, metadata: Any, loaded: Kernel | None) -> Kernel:
        """Find the kernel, also where another hook has put the display name in its place."""
        data = metadata.data
        if not metadata.extras and len(_active) > 1:
            launch = _current(metadata)
            if launch is not None:
                return self._kernels.named(launch.kernel)
            if loaded is not None:
                return loaded
        return self._kernels.load(data["function"], data["name"])

    def _learn_name(self, metadata: Any) -> None:
        """Remember the name under which another hook has filed the kernel."""
        data = metadata.data
        kernel = self._loaded.get(data.get("function"))
        launch = _opened.get(get_ident())
        if launch is not None and launch.metadata is metadata:
            kernel = self._kernels.named(launch.kernel)
        if kernel is not None and data.get("name") != kernel.name:
            self._kernels.shown_name(data["name"], kernel)

    def _tell_failure(
        self,
        kernel: str,
        metadata: Any,
        stream: Any,
        place: Callable[..., Any],
        error: Exception,
    ) -> None:
        kind = type(error).__name__
        reason = (str(error).splitlines() or [""])[0]
        what = f"the launch metadata of {kernel} raised {kind}: {reason}"
        *_, (raised_in, _) = walk_tb(error.__traceback__)
        if raised_in.f_code is type(metadata).get.__code__:  # adding to a dict what was returned
            what = f"the launch metadata of {kernel} is no dict: its function returned another "
            what += "object, or nothing"
        message = f"{what}; the metrics of that launch are missing"
        if stream and proton.stream_captures():  # the default stream cannot be captured
            message = broken_capture(kernel, error)
        self._notes.tell(kernel, kind, message, place)


_watchers = LaunchHook.watchers


def _watched(kernel: Kernel, metadata: Any) -> Any:
    """Evaluate launch metadata with all watchers around it."""
    evaluate, place = metadata.get, metadata.extras[0][0]
    for watcher in list(_watchers):
        evaluate = partial(watcher.watch, kernel.name, place, evaluate)
    return evaluate()


def _current(metadata: Any) -> Launch | None:
    """Return this launch if a hook has kept it; close the frame of an earlier one that failed."""
    launch = _opened.get(get_ident())
    if launch is None or launch.metadata is metadata:
        return launch
    del _opened[get_ident()]
    if launch.scope is not None:
        _exit_op(launch.scope, launch.name)
    return None
