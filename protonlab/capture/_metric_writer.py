"""Writing the metrics of a launch into Proton's open frame.

Proton's own hook looks two helper kernels up at each launch (40 us of its 43 us, Triton 3.9,
H200). They are needed for metrics on the GPU and under graph capture only, once a stream.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

from protonlab.capture import _proton
from protonlab.capture._launch_metrics import RESERVED_KEYS, LaunchMetrics, sort_metrics
from protonlab.capture._launch_record import Kernel, Launch, Notes
from protonlab.capture._metric_reader import metric_reader, need_a_look

if TYPE_CHECKING:
    from protonlab.capture._late_metrics import LateMetrics

proton = _proton.require()
_add_metrics, _active = proton.add_metrics, proton.hook_manager.active_hooks


class MetricWriter:
    """Writes what one hook records.

    Parameters
    ----------
    record
        Launch metadata keys to record; None for all.
    notes
        Where missing metrics are named.
    """

    def __init__(self, record: frozenset[str] | None, notes: Notes) -> None:
        self._record = record
        self._notes = notes
        self._types: dict[str, type] = {}
        self._vectors: set[str] = set()
        self._seen: set[str] = set()  # keys of launch metadata, wanted or not
        self._late: LateMetrics | None = None  # needed before Triton 3.7 only, and imports torch

    def renew(self) -> None:
        """Let metrics have new types."""
        self._types.clear()
        self._vectors.clear()
        self._seen.clear()

    def settle(self) -> None:
        """Write the metrics that waited for the GPU."""
        if self._late is not None:
            self._late.settle(self._types)

    def name_absent_keys(self) -> None:
        """Say which keys were to be recorded and stood in no launch metadata."""
        absent = sorted((self._record or frozenset()) - self._seen)
        if absent and self._seen:
            seen = ", ".join(sorted(self._seen))
            message = f"record={','.join(absent)}: no launch metadata held that; it held {seen}"
            self._notes.tell("", "record", message, None)

    def write(
        self,
        launch: Launch,
        kernel: Kernel,
        data: dict[str, Any],
        stream: Any,
        place: Callable[..., Any] | None,
    ) -> None:
        """Write the metrics of a launch, whose frame is open.

        Parameters
        ----------
        launch, kernel
            The launch and its kernel.
        data
            The evaluated launch metadata.
        stream
            Where the kernel is launched: only a stream other than the default can be captured.
        place
            The metadata function, to point at in warnings.
        """
        if len(data) <= len(RESERVED_KEYS):
            return
        kernel.read = need_a_look
        self._seen.update(str(key) for key in data if key not in RESERVED_KEYS)
        found = sort_metrics(
            data, record=self._record, types=self._types, vectors=proton.records_vectors
        )
        for key, problem in found.problems.items():
            self._name_problem(kernel, key, problem, place)
        kernel.keys |= {*found.host, *found.device}
        for key in launch.keys:  # written by another session's hook
            found.host.pop(key, None)
            found.device.pop(key, None)
        # Proton refuses a vector of another length than before, and what it was to add after it.
        self._vectors |= {key for key, value in found.host.items() if type(value) is list}
        apart = [key for key in found.host if key in self._vectors]
        vectors = [LaunchMetrics({key: found.host.pop(key)}, {}, {}) for key in apart]
        for part in (found, *vectors):
            keys = [*part.host, *part.device]
            try:
                if keys:
                    self._add(launch, part, kernel, stream, place)
                    launch.keys |= {*keys}
            except Exception as error:
                named = ", ".join(keys)
                message = f"Proton refused metrics of {kernel.name} ({named}): {error}"
                self._notes.tell(kernel.name, named, message, place)
                part.host.clear()  # and no reader for them
        # Only where no key that is absent now could bring another metric later.
        others = len(data) - len(RESERVED_KEYS) - len(found.host)
        if self._record == found.host.keys() or (self._record is None and not others):
            kernel.read = metric_reader(data, found.host)
        if len(_active) > 1 and proton.own_hook_is_active():
            # Proton's hook would add the same metrics to the same frame again.
            launch.metadata.data = {key: data[key] for key in data if key in RESERVED_KEYS}

    def _add(
        self,
        launch: Launch,
        found: LaunchMetrics,
        kernel: Kernel,
        stream: Any,
        place: Callable[..., Any] | None,
    ) -> None:
        assert launch.scope is not None
        if proton.helpers_missing:
            proton.load_helpers(kernel.state)
        if found.device and not proton.records_device_tensors:
            self._keep_for_later(launch.scope, found.device, kernel, stream, place)
        elif found.device or (stream and proton.capturing()):
            thread = get_ident()
            Launch.unrecorded.add(thread)
            try:
                proton.add_device_metrics(launch.scope, found.host, found.device, kernel.state)
            finally:
                Launch.unrecorded.discard(thread)
            return
        if found.host:
            _add_metrics(launch.scope, found.host)

    def _keep_for_later(
        self,
        scope: int,
        tensors: dict[str, Any],
        kernel: Kernel,
        stream: Any,
        place: Callable[..., Any] | None,
    ) -> None:
        captures = stream and proton.stream_captures()
        for key, tensor in tensors.items():
            if captures:
                problem = "a tensor on the GPU, which this Triton cannot record in a graph capture"
                self._name_problem(kernel, key, f"{problem}; 3.7 and later can", place)
                continue
            if self._late is None:
                from protonlab.capture._late_metrics import LateMetrics

                self._late = LateMetrics(self._notes)
            proton.enter_state(kernel.state)
            try:
                self._late.keep(scope, kernel.name, key, tensor, place)
            finally:
                proton.exit_state()

    def _name_problem(
        self, kernel: Kernel, key: str, problem: str, place: Callable[..., Any] | None
    ) -> None:
        message = f"the launch metadata of {kernel.name} has no metric {key!r}: {problem}"
        self._notes.tell(kernel.name, key, message, place)
