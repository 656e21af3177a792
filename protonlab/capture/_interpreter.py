"""The backend without a GPU: Triton's interpreter, made to launch as the compiled path does.

The interpreter calls no launch hooks and benchmarks autotuned kernels on a driver that is not
there. While a session records, launches go through `_launch`, which calls the same hooks with the
same lazy metadata and writes wall time and count into Proton's own tree.
"""

from __future__ import annotations

import functools
import inspect
import platform
import sys
import threading
import time
import warnings
from collections import namedtuple
from contextlib import suppress
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import LazyDict
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import mangle_type

from protonlab.capture import _narrow_floats, _older_arithmetic, _proton
from protonlab.capture._between_launches import BetweenLaunches
from protonlab.capture._launch_record import Launch
from protonlab.errors import ProtonLabError

InterpretedFunction = interpreter.InterpretedFunction

# What the compiler's metadata says of a kernel, as far as metadata functions read it.
KernelMetadata = namedtuple(
    "KernelMetadata", "name num_warps num_ctas num_stages shared warp_size target cluster_dims"
)
SpecializationProxy = namedtuple("SpecializationProxy", "constants signature")

TOO_LATE = "Triton was imported before its interpreter was switched on, so kernels cannot run here"


def is_whole() -> bool:
    """Whether Triton was imported with the interpreter on: its own functions are then too."""
    return isinstance(tl.sum, InterpretedFunction)


def install() -> None:
    """Correct the interpreter's arithmetic and autotuning, for the rest of the process."""
    if hasattr(Autotuner.run, "by_protonlab"):
        return
    _older_arithmetic.install(interpreter)  # first: the next one wraps its operations
    _narrow_floats.install(interpreter, tl)
    Autotuner.run = _first_configuration(Autotuner.run)
    grid = interpreter.GridExecutor
    grid.__call__ = _one_at_a_time(grid.__call__)
    builder = interpreter.InterpreterBuilder
    builder.create_splat = _of_plain_shape(builder.create_splat)


# The interpreter keeps the place in the grid, and what it patches, for the whole process.
_RUNNING = threading.RLock()


def _one_at_a_time(original: Any) -> Any:
    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # here and below: a traceback shows the user's lines
        with _RUNNING:
            return original(*args, **kwargs)

    return run


def _of_plain_shape(original: Any) -> Any:
    """Give numpy a tuple of Python's: while it reads Triton's, an interrupt becomes a TypeError."""

    @functools.wraps(original)
    def create_splat(builder: Any, block: Any, value: Any) -> Any:
        return original(builder, SimpleNamespace(shape=tuple(block.shape)), value)

    return create_splat


def _first_configuration(original: Any) -> Any:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        configurations = self.configs
        if not knobs.runtime.interpret or len(configurations) == 1 or _has_own_benchmark(self):
            return original(self, *args, **kwargs)
        message = (
            f"{self.base_fn.__name__} is autotuned over {len(configurations)} configurations; the "
            f"interpreter takes the first, {configurations[0]}"
        )
        for launches in getattr(InterpretedFunction.run, "sessions", ()):
            launches.notes[message] = None
        if not hasattr(self, "_told_by_protonlab"):
            self._told_by_protonlab = True
            file, line = self.base_fn.__code__.co_filename, self.base_fn.__code__.co_firstlineno
            warnings.warn_explicit(message, UserWarning, file, line, "protonlab")
        self.configs = configurations[:1]
        try:
            return original(self, *args, **kwargs)
        finally:
            self.configs = configurations

    run.by_protonlab = True  # type: ignore[attr-defined]
    return run


def _has_own_benchmark(tuner: Any) -> bool:
    """Whether the user gave ``do_bench=``; Triton's own benchmarks need a driver."""
    given = tuner._do_bench is not None
    return given and (tuner.num_warmups, tuner.num_reps, tuner.use_cuda_graph) == (
        None,
        None,
        False,
    )


class Launches:
    """Makes the interpreter's launches recordable; `start` and `stop` may nest.

    Attributes
    ----------
    notes
        Sentences on how the interpreter differed.
    """

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}

    def start(self) -> None:
        """Send launches through the hooks."""
        install()
        if not hasattr(InterpretedFunction.run, "sessions"):
            InterpretedFunction.run = _recorded(InterpretedFunction.run)
        InterpretedFunction.run.sessions.append(self)

    @property
    def between(self) -> BetweenLaunches:
        """Says when none of them runs; while a session records."""
        found: BetweenLaunches = InterpretedFunction.run.between
        return found

    @property
    def lock(self) -> threading.RLock:
        """Held by every launch."""
        return _RUNNING

    def stop(self) -> None:
        """Put Triton's own launch back when the last session ends."""
        run = InterpretedFunction.run
        run.sessions.remove(self)
        if not run.sessions:
            InterpretedFunction.run = run.__wrapped__
            vars(_scope()).update(run.replaced)


def _scope() -> Any:
    return sys.modules["triton.profiler.scope"]  # its package has a class of that name


def _recorded(original: Any) -> Any:
    @functools.wraps(original)
    def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        launch = functools.partial(original, function, *args, warmup=warmup, **kwargs)
        if warmup:
            return launch(grid=grid)
        # Without a GPU, libproton drops metrics of frames that another thread has opened meanwhile.
        with _RUNNING, run.between:  # type: ignore[attr-defined]
            return _launch(function, launch, grid, args, kwargs)

    run.sessions = []  # type: ignore[attr-defined]
    run.between = BetweenLaunches()  # type: ignore[attr-defined]
    # Scope metrics look helper kernels up on the GPU, which nothing here needs.
    look_up = "set_metric_kernels"
    run.replaced = {look_up: vars(_scope())[look_up]} if look_up in vars(_scope()) else {}  # type: ignore[attr-defined]
    vars(_scope()).update(dict.fromkeys(run.replaced, lambda: None))  # type: ignore[attr-defined]
    return run


def _launch(
    function: Any, launch: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Launch as ``JITFunction.run`` does: bind, resolve the grid, then hook, kernel, hook."""
    __tracebackhide__ = True
    proton = _proton.require()
    signature = inspect.signature(function.fn)
    parameters = {key: value for key, value in kwargs.items() if key in signature.parameters}
    bound = None
    with suppress(TypeError):
        bound = signature.bind(*args, **parameters)
    if bound is None:
        return launch(grid=grid)  # which raises as it does without a session
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    grid = tuple(grid(arguments) if callable(grid) else grid)
    name = _compiled_name(function, arguments)
    metadata = LazyDict({"name": name, "function": id(function.fn), "stream": 0})
    describe = function.kwargs.get("launch_metadata")
    if describe is not None:
        metadata.add(describe, (grid, _metadata(name, kwargs), arguments))
    hooks = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if hooks[0] is not None:
        hooks[0](metadata)
    opened = Launch.opened.get(get_ident())
    scope = opened.scope if opened is not None and opened.metadata is metadata else None
    try:
        if scope is None:  # rejected by the filter, or launched by a metadata function
            own = proton.record_scope()
            proton.enter_op(own, name)
        try:
            start = time.perf_counter_ns()
            _plainly(launch, grid)
            elapsed = time.perf_counter_ns() - start
            with suppress(IndexError):  # a launch inside this launch has closed the frame
                proton.add_metrics(
                    own if scope is None else scope, {"time (ns)": elapsed, "count": 1}
                )
        finally:
            if scope is None:
                proton.exit_op(own, name)
    finally:
        if hooks[1] is not None:
            hooks[1](metadata)
    return None


def _plainly(launch: Any, grid: tuple[int, ...]) -> None:
    """Launch; a refusal of ours comes out as itself, not wrapped as an interpreter error."""
    __tracebackhide__ = True
    try:
        launch(grid=grid)
    except interpreter.InterpreterError as error:
        cause = error.__cause__
        while isinstance(cause, interpreter.InterpreterError):
            cause = cause.__cause__
        if isinstance(cause, ProtonLabError):
            raise cause from None
        raise


def _compiled_name(function: Any, arguments: dict[str, Any]) -> str:
    """Work out the name that the compiler would give the kernel."""
    name: str = function.fn.__name__
    represent = function.kwargs.get("repr")
    if represent is None:
        return name
    annotations = inspect.get_annotations(function.fn)
    constants, types = {}, {}
    for key, value in arguments.items():
        if annotations.get(key) in (tl.constexpr, "tl.constexpr", "constexpr"):
            constants[key], types[key] = value, "constexpr"
        else:
            with suppress(Exception):
                types[key] = mangle_type(value)
            if value is None:
                constants[key] = None
    try:
        return str(represent(SpecializationProxy(constants, types)))
    except Exception:  # it asks for what only the compiler knows
        return name


def _metadata(name: str, options: dict[str, Any]) -> Any:
    return KernelMetadata(
        name=name,
        num_warps=options.get("num_warps", 4),
        num_ctas=options.get("num_ctas", 1),
        num_stages=options.get("num_stages", 3),
        shared=0,
        warp_size=32,
        target=GPUTarget("interpreter", platform.machine(), 32),
        cluster_dims=(1, 1, 1),
    )
