"""The launch hook: which kernels have their launch metadata evaluated, and what is recorded.

Triton calls `enter` before and `exit` after each launch, with a LazyDict that holds the compiled
name and evaluates the kernel's metadata function on demand. Two rules shape this file. Nothing
that goes wrong here reaches the launch. And a metric is written once a launch: libproton writes to
every live session, so hooks of several sessions share one `Launch`, kept on the LazyDict.

Proton's own hook looks two helper kernels up at each launch (40 us of its 43 us, Triton 3.9,
H200). They are needed for metrics on the GPU and under graph capture only, once a stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from protonlab.capture import _proton
from protonlab.capture._launch_metrics import RESERVED_KEYS, LaunchMetrics, sort_metrics
from protonlab.capture._launch_record import HookRecord, Kernel, Launch, Notes
from protonlab.capture.options import option
from protonlab.model.filters import KernelFilter

proton = _proton.require()
_record_scope, _enter_op, _exit_op = proton.record_scope, proton.enter_op, proton.exit_op
_add_metrics = proton.add_metrics
_NOTHING = LaunchMetrics({}, {}, {})


class LaunchHook(proton.Hook):  # type: ignore[misc, name-defined]  # Triton has no types
    """A Proton hook that records launch metadata of the kernels you choose.

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

    # Before Proton's own hook (100), which evaluates the metadata and so hides the compiled name.
    priority = 1000

    # Of each thread: whether a metadata function is running, and the launch whose frame is open.
    # Shared by all hooks, as libproton's open frame is.
    _thread: ClassVar[threading.local] = threading.local()

    def __init__(
        self,
        *,
        include: str | None = None,
        exclude: str | None = None,
        record: Iterable[str] | str | None = None,
    ) -> None:
        keys = option("record").check(record)
        self._record = None if keys is None else frozenset(keys)
        self._kernels: dict[str, Kernel] = {}
        self._compiled: dict[Any, str] = {}  # function handle -> compiled name
        self._kernel_of: dict[str, str] = {}
        self._types: dict[str, type] = {}
        self._notes = Notes()
        self.configure(include=include, exclude=exclude)

    def configure(self, *, include: str | None = None, exclude: str | None = None) -> None:
        """Replace the filter, from the next launch on.

        Raises
        ------
        ProtonLabError
            If a pattern is no regular expression; the filter then stays as it was.
        """
        self._filter = KernelFilter(include, exclude)
        for name, kernel in list(self._kernels.items()):
            kernel.keep = self._filter.matches(name)

    def __repr__(self) -> str:
        return f"LaunchHook(include={self.include!r}, exclude={self.exclude!r})"

    @property
    def include(self) -> str | None:
        """Pattern of the kernels to keep; None keeps all."""
        return self._filter.include

    @property
    def exclude(self) -> str | None:
        """Pattern of the kernels to reject."""
        return self._filter.exclude

    @property
    def record(self) -> HookRecord:
        """What the hook has seen since it was made."""
        return HookRecord(
            {name: (kernel.seen, kernel.kept) for name, kernel in self._kernels.items()},
            dict(self._kernel_of),
            tuple(self._notes.messages),
        )

    def begin(self) -> HookRecord:
        """Begin a session: warn anew, let metrics have new types; give back the record so far."""
        self._types.clear()
        self._notes.renew()
        return self.record

    # Proton's side of the hook.

    def init_handle(
        self, module: Any, function: Any, name: str, metadata_group: Any, hash: str
    ) -> None:
        """Remember the compiled name of a kernel that is being loaded."""
        self._compiled[function] = name

    def destroy_handle(
        self, module: Any, function: Any, name: str, metadata_group: Any, hash: str
    ) -> None:
        """Forget a handle, which the driver may give to another kernel."""
        self._compiled.pop(function, None)

    def activate(self) -> None:
        """Do nothing; Proton calls this when a session starts."""

    def deactivate(self) -> None:
        """Close a frame whose launch failed, so that the next session's frames open."""
        self._close_stale(None)

    def enter(self, metadata: Any) -> None:
        """Open the launch's frame with its metrics, if the filter keeps the kernel."""
        thread = self._thread.__dict__
        # What a metadata function launches is filed under the metadata frame, unmeasured; a kernel
        # that was prepared before there was a hook has no metadata.
        if metadata is None or thread.get("evaluating"):
            return
        try:
            launch = getattr(metadata, "_protonlab_launch", None)
            if launch is None or launch.closed:
                launch = Launch(self._compiled_name(metadata))
                metadata._protonlab_launch = launch
            if thread.get("open") is not None:
                self._close_stale(launch)
            kernel = self._kernels.get(launch.compiled)
            if kernel is None:
                keep = self._filter.matches(launch.compiled)
                kernel = self._kernels.setdefault(
                    launch.compiled, Kernel(keep, proton.metadata_state(launch.compiled))
                )
            kernel.seen += 1
            if kernel.keep:
                kernel.kept += 1
                self._keep(metadata, launch, kernel)
        except Exception as error:
            self._notes.tell("launch hook", "", f"the launch hook failed: {error!r}", None)

    def exit(self, metadata: Any) -> None:
        """Close the launch's frame."""
        launch = getattr(metadata, "_protonlab_launch", None)
        if launch is None:
            return  # launched by a metadata function
        # Read here, not from the launch: another hook may have evaluated the metadata, and a
        # kernel that this one rejects may be filed under a name that another session's gave it.
        name = metadata.data.get("name")
        if name != launch.compiled and isinstance(name, str):
            self._kernel_of.setdefault(name, launch.compiled)
        if launch.owner is self and not launch.closed:
            launch.closed = True
            self._thread.__dict__["open"] = None
            _exit_op(launch.scope, launch.name)

    def _compiled_name(self, metadata: Any) -> str:
        """Find the compiled name, also where another hook has put the display name in its place."""
        data = metadata.data
        if metadata.extras:  # not evaluated yet
            name: str = data["name"]
            self._compiled[data["function"]] = name
            return name
        return self._compiled.get(data["function"]) or data["name"]

    def _close_stale(self, launch: Launch | None) -> None:
        """Close the frame of a launch that raised: Triton then never calls `exit`."""
        stale = self._thread.__dict__.get("open")
        if stale is not None and stale is not launch:
            self._thread.__dict__["open"] = None
            stale.closed = True
            _exit_op(stale.scope, stale.name)

    def _keep(self, metadata: Any, launch: Launch, kernel: Kernel) -> None:
        if launch.failed:
            return  # another hook has seen its metadata function raise
        place = metadata.extras[0][0] if metadata.extras else None
        if place is not None and not self._evaluate(metadata, launch, kernel, place):
            return
        data = metadata.data
        found = self._sort(launch, data, place) if len(data) > len(RESERVED_KEYS) else _NOTHING
        if launch.scope is None:
            name = data["name"]
            launch.name = name if isinstance(name, str) else launch.compiled
            launch.scope = _record_scope()
            _enter_op(launch.scope, launch.name)
            launch.owner = self
            self._thread.__dict__["open"] = launch
        if found.host or found.device:
            self._write(launch, found, kernel, place)
            if proton.own_hook_is_active():
                # Proton's hook would add the same metrics to the same frame again.
                metadata.data = {key: data[key] for key in data if key in RESERVED_KEYS}

    def _evaluate(
        self, metadata: Any, launch: Launch, kernel: Kernel, place: Callable[..., Any]
    ) -> bool:
        thread = self._thread.__dict__
        thread["evaluating"] = True
        proton.enter_state(kernel.state)
        try:
            metadata.get()
        except Exception as error:
            launch.failed = True
            self._notes.tell(
                launch.compiled,
                type(error).__name__,
                f"the launch metadata of {launch.compiled} raised {type(error).__name__}: {error}; "
                "the metrics of that launch are missing",
                place,
            )
            return False
        finally:
            proton.exit_state()
            thread["evaluating"] = False
        return True

    def _sort(
        self, launch: Launch, data: dict[str, Any], place: Callable[..., Any] | None
    ) -> LaunchMetrics:
        found = sort_metrics(
            data,
            record=self._record,
            types=self._types,
            vectors=proton.records_vectors,
            device_tensors=proton.records_device_tensors,
        )
        for key, problem in found.problems.items():
            self._notes.tell(
                launch.compiled,
                key,
                f"the launch metadata of {launch.compiled} has no metric {key!r}: {problem}",
                place,
            )
        for key in launch.keys:  # written by another session's hook
            found.host.pop(key, None)
            found.device.pop(key, None)
        return found

    def _write(
        self,
        launch: Launch,
        found: LaunchMetrics,
        kernel: Kernel,
        place: Callable[..., Any] | None,
    ) -> None:
        assert launch.scope is not None
        if proton.helpers_missing:
            proton.load_helpers(kernel.state)
        try:
            if found.device or proton.capturing():
                self._thread.__dict__["evaluating"] = True
                try:
                    proton.add_device_metrics(launch.scope, found.host, found.device, kernel.state)
                finally:
                    self._thread.__dict__["evaluating"] = False
            else:
                _add_metrics(launch.scope, found.host)
            launch.keys |= {*found.host, *found.device}
        except Exception as error:
            keys = ", ".join([*found.host, *found.device])
            self._notes.tell(
                launch.compiled,
                keys,
                f"Proton refused metrics of {launch.compiled} ({keys}): {error}",
                place,
            )
