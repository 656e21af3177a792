"""Proton as the rest of this package sees it: all differences between its versions end here.

Features are detected, versions are never compared. Triton is imported by `require`, on first use.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from protonlab.errors import MissingDependencyError

_INSTALL = "pip install 'triton>=3.6' (torch brings a matching one with its CUDA builds)"


class Proton:
    """The parts of ``triton.profiler`` that a hook and a session use."""

    def __init__(self) -> None:
        import triton
        from triton import knobs, profiler
        from triton._C.libproton import proton as libproton
        from triton.profiler import state
        from triton.profiler.flags import flags
        from triton.profiler.hooks import LaunchHook
        from triton.profiler.hooks.hook import Hook, HookManager

        self.version: str = triton.__version__
        self.Hook = Hook
        self.hook_manager = HookManager
        self.flags = flags
        self.knobs = knobs
        self.profiler = profiler
        self.libproton = libproton
        self.record_scope = libproton.record_scope
        self.enter_op, self.exit_op = libproton.enter_op, libproton.exit_op
        self.add_metrics = libproton.add_metrics
        self.enter_state, self.exit_state = libproton.enter_state, libproton.exit_state
        self._own_hook = LaunchHook
        self._state_name = getattr(state, "get_metadata_state_name", None)
        self._helpers_for: tuple[int, int] | None = None  # device and stream
        # Triton 3.7 and later: vectors, tensors on the GPU, profiles in memory, flushing.
        self.records_device_tensors = hasattr(libproton, "TensorMetric")
        self.records_vectors = self.records_device_tensors
        # Kernels that write metrics on the GPU; the interpreter can do without.
        self.helpers_missing = self.records_device_tensors and not knobs.runtime.interpret
        self.has_phases = hasattr(libproton, "advance_data_phase")
        self.backends = _backends(libproton)
        self.live: dict[int, str] = {}  # our sessions: id -> name and mode, for messages

    def metadata_state(self, kernel: str) -> str:
        """Name of the frame under which Proton files what a metadata function launches."""
        if self._state_name is None:
            return "__proton_launch_metadata"
        return cast(str, self._state_name(kernel))  # since 3.8 it carries the kernel's name

    def own_hook_is_active(self) -> bool:
        """Whether a session with Proton's own launch hook runs beside ours."""
        active = self.hook_manager.active_hooks
        return len(active) > 1 and any(type(hook) is self._own_hook for hook in active)

    @contextmanager
    def hooks_as_registered(self) -> Iterator[None]:
        """Undo what the manager writes as it looks a hook up: it files it under each session.

        Such a hook would come to life with the next session that goes on after a pause.
        """
        sessions = self.hook_manager.session_hooks
        before = {number: {*hooks} for number, hooks in list(sessions.items())}
        try:
            yield
        finally:
            for number, hooks in list(sessions.items()):
                for hook in hooks.keys() - before.get(number, hooks.keys()):
                    del hooks[hook]

    def capturing(self) -> bool:
        """Whether metrics must be written by helper kernels because a CUDA graph is captured."""
        return self.records_device_tensors and self.stream_captures()

    def stream_captures(self) -> bool:
        """Whether a CUDA graph is captured on torch's current stream."""
        torch = sys.modules.get("torch")
        return (
            torch is not None
            and torch.cuda.is_initialized()
            and torch.cuda.is_current_stream_capturing()
        )

    def prepare_captures(self) -> None:
        """Load the helper kernels, so that the session's first launch may be captured."""
        torch = sys.modules.get("torch")
        if self.helpers_missing and torch is not None and torch.cuda.is_initialized():
            self.load_helpers(self.metadata_state(""))

    def load_helpers(self, state: str) -> None:
        """Load the helper kernels before a graph capture needs them: inside one it is too late."""
        self.helpers_missing = False
        self.enter_state(state)
        try:
            with suppress(Exception):  # the metric that needs them will say why it is missing
                self._set_helpers()
        finally:
            self.exit_state()

    def _set_helpers(self) -> None:
        from triton.profiler.metric import set_metric_kernels
        from triton.runtime import driver

        device = driver.active.get_current_device()
        place = (device, driver.active.get_current_stream(device))
        if self._helpers_for != place:
            set_metric_kernels()
            self._helpers_for = place

    def add_device_metrics(
        self, scope: int, host: dict[str, Any], device: dict[str, Any], state: str
    ) -> None:
        """Add metrics with the helper kernels, which copy tensors without a synchronisation."""
        from triton.profiler.metric import transform_tensor_metrics

        self.enter_state(state)
        try:
            self._set_helpers()
            scalars, tensors = transform_tensor_metrics(device)
            self.add_metrics(scope, {**host, **scalars}, tensors)
        finally:
            self.exit_state()

    def target(self) -> str:
        """Kind of the GPU: ``"cuda"`` or ``"hip"``; raises where there is no driver."""
        from triton.runtime import driver

        return cast(str, driver.active.get_current_target().backend)

    def is_disabled(self) -> bool:
        """Whether the process asked Proton to ignore `start`."""
        return bool(self.flags.command_line or self.knobs.proton.disable)


def _backends(libproton: Any) -> tuple[str, ...]:
    listed = getattr(libproton, "get_available_profilers", None)  # not in older releases
    return tuple(listed()) if listed else ("cupti", "roctracer", "instrumentation")


@functools.cache
def require() -> Proton:
    """Import Proton.

    Raises
    ------
    MissingDependencyError
        If there is no Triton, or one before 3.6.
    """
    try:
        return Proton()
    except ImportError as error:
        try:
            import triton
        except ImportError:
            raise MissingDependencyError(
                f"recording needs Triton, which is not installed: {_INSTALL}"
            ) from error
        raise MissingDependencyError(
            f"recording needs Triton 3.6 or later with its profiler; this is "
            f"{getattr(triton, '__version__', 'an unknown version')} ({error}): {_INSTALL}"
        ) from error
