"""Proton as the rest of this package sees it: all differences between its versions end here.

Features are detected, versions are never compared. Triton is imported by `require`, on first use.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from protonlab.capture._failures import explain, explain_disabled
from protonlab.errors import CaptureError, MissingDependencyError

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
        self.reads_memory = hasattr(libproton, "get_data_msgpack")

    def metadata_state(self, kernel: str) -> str:
        """Name of the frame under which Proton files what a metadata function launches."""
        if self._state_name is None:
            return "__proton_launch_metadata"
        return cast(str, self._state_name(kernel))  # since 3.8 it carries the kernel's name

    def own_hook_is_active(self) -> bool:
        """Whether a session with Proton's own launch hook runs beside ours."""
        active = self.hook_manager.active_hooks
        return len(active) > 1 and any(type(hook) is self._own_hook for hook in active)

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

    def is_disabled(self) -> bool:
        """Whether the process asked Proton to ignore `start`."""
        return bool(self.flags.command_line or self.knobs.proton.disable)


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


class Recording:
    """One live Proton session with one hook; ends with `finish`.

    Parameters
    ----------
    context
        ``"shadow"`` or ``"python"``.
    hook
        The launch hook.
    interpreted
        Whether kernels run in Triton's interpreter: Proton then builds its tree without a GPU.

    Raises
    ------
    ProtonLabError
        If Proton does not start; the message is one sentence with the next step.
    """

    def __init__(self, context: str, hook: Any, *, interpreted: bool) -> None:
        self._proton = require()
        if self._proton.is_disabled():
            raise CaptureError(explain_disabled(command_line=self._proton.flags.command_line))
        self._folder = Path(tempfile.mkdtemp(prefix="protonlab-"))
        before = set(os.environ)
        self._set: set[str] = set()  # environment that Proton sets: the paths of its libraries
        self._counted = False
        was_on = self._proton.flags.profiling_on
        try:
            self.id = self._start(str(self._folder / "profile"), context, interpreted)
            self._set = set(os.environ) - before
        except BaseException as error:
            self._set = set(os.environ) - before
            self._proton.flags.profiling_on = was_on
            self._restore()
            if isinstance(error, Exception):
                raise CaptureError(explain(error)) from error
            raise
        # The switch counts our sessions. Whoever else starts one sets True, which then stays.
        self._counted = was_on is not True
        self._proton.flags.profiling_on = was_on + 1 if self._counted else True
        try:
            self._proton.hook_manager.register(hook, self.id)
        except BaseException:
            self.finish()
            raise

    def _start(self, path: str, context: str, interpreted: bool) -> int:
        proton = self._proton
        if interpreted:
            # The instrumentation backend touches no GPU; its target is only a word.
            args = (path, context, "tree", "instrumentation", "cuda")
            return cast(int, proton.libproton.start(*args))
        session = proton.profiler.start(path, context=context)
        if session is None:
            raise CaptureError(explain_disabled(command_line=proton.flags.command_line))
        return cast(int, session)

    def pause(self) -> None:
        """Record nothing until `resume`."""
        self._proton.profiler.deactivate(self.id)

    def resume(self) -> None:
        """Record again."""
        self._proton.profiler.activate(self.id)

    def finish(self) -> bytes:
        """End the session and give back Proton's tree, JSON or msgpack.

        Raises
        ------
        CaptureError
            If the tree could not be read. Nothing of the session is left all the same.
        """
        try:
            _synchronize()
            return self._read()
        except Exception as error:
            raise CaptureError(explain(error)) from error
        finally:
            try:
                self._proton.profiler.finalize(self.id)
            except Exception:  # the cell may have finalized all sessions, ours with them
                self._proton.hook_manager.unregister(self.id)
            finally:
                self._restore()

    def _read(self) -> bytes:
        proton = self._proton
        if proton.reads_memory:
            proton.profiler.deactivate(self.id, flushing=True)
            data: bytes = proton.libproton.get_data_msgpack(self.id, 0)
            proton.libproton.clear_data(self.id, 0, True)  # so finalize has nothing to write out
            return data
        proton.profiler.deactivate(self.id)
        proton.profiler.finalize(self.id)
        return (self._folder / "profile.hatchet").read_bytes()

    def _restore(self) -> None:
        flags = self._proton.flags
        if self._counted and flags.profiling_on is not True:
            flags.profiling_on = max(flags.profiling_on - 1, 0) or False
        for key in self._set & os.environ.keys():
            del os.environ[key]
        shutil.rmtree(self._folder, ignore_errors=True)


def _synchronize() -> None:
    """Let launched kernels end, so that their times are there."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return
    has_context = getattr(torch._C, "_cuda_hasPrimaryContext", lambda device: True)
    for device in range(torch.cuda.device_count()):
        if has_context(device):  # synchronising would create a context on an idle GPU
            torch.cuda.synchronize(device)
