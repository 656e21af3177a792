"""Autotuning while a session records: what it launches is filed apart, what it tried is kept.

`triton.autotune` benchmarks a configuration in ``Autotuner._bench``, Inductor any choice in its
benchmarkers. Both are wrapped while a session records. Inductor is loaded by the first compiled
call, often inside the session, so its modules are wrapped as they are imported.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import get_ident
from types import ModuleType
from typing import Any, ClassVar, Self

from triton.runtime.autotuner import Autotuner

from protonlab.capture import _proton
from protonlab.capture._launch_record import Launch
from protonlab.model.frames import TUNING_SCOPE
from protonlab.model.tuning import TuningTrial

proton = _proton.require()
_BENCHMARKERS = "torch._inductor.runtime.benchmarking"
_HEURISTICS = "torch._inductor.runtime.triton_heuristics"


class Tuning:
    """Watches the autotuners; a context manager, which may nest.

    Attributes
    ----------
    trials
        What was tried so far.
    """

    _live: ClassVar[list[Tuning]] = []
    _undo: ClassVar[list[Callable[[], None]]] = []

    def __init__(self) -> None:
        self.trials: list[TuningTrial] = []

    def __enter__(self) -> Self:
        self._live.append(self)
        if len(self._live) == 1:
            self._wrap(Autotuner, "_bench", _bench)
            self._wrap(Autotuner, "run", _run)
            for name in (_BENCHMARKERS, _HEURISTICS):
                if name in sys.modules:
                    self.wrap_inductor(sys.modules[name])
            sys.meta_path.insert(0, finder := InductorFinder())
            self._undo.append(lambda: sys.meta_path.remove(finder))
        return self

    def __exit__(self, *error: object) -> None:
        self._live.remove(self)
        while not self._live and self._undo:
            self._undo.pop()()

    @classmethod
    def wrap_inductor(cls, module: ModuleType) -> None:
        """Wrap what benchmarks in a module of Inductor's that was loaded."""
        if module.__name__ == _HEURISTICS:
            cls._wrap(module.CachingAutotuner, "bench", _inductor_bench)
            cls._wrap(module.CachingAutotuner, "autotune_to_one_config", _inductor_choice)
            return
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__name__.endswith("Benchmarker"):
                for method in ("benchmark_gpu", "benchmark_gpu_with_cuda_graph"):
                    if method in vars(kind):
                        cls._wrap(kind, method, _inductor_benchmark)

    @classmethod
    def _wrap(cls, owner: Any, method: str, around: Callable[..., Any]) -> None:
        original = vars(owner).get(method)
        if not callable(original):  # another release of torch's
            return

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(owner, method, wrapper)
        cls._undo.append(lambda: setattr(owner, method, original))

    @classmethod
    def tell(cls, trial: TuningTrial) -> None:
        """Add a trial to every session."""
        for tuning in cls._live:
            tuning.trials.append(trial)

    @classmethod
    def choose(cls, tuner: str, kernel: str, config: str, since: Sequence[int]) -> None:
        """Mark the configuration that was taken, among the trials after those counted before."""
        for tuning, start in zip(cls._live, since, strict=False):
            for index in range(start, len(tuning.trials)):
                trial = tuning.trials[index]
                if (trial.tuner, trial.kernel, trial.config) == (tuner, kernel, config):
                    tuning.trials[index] = replace(trial, chosen=True)

    @classmethod
    def counts(cls) -> list[int]:
        """Count the trials of each session so far."""
        return [len(tuning.trials) for tuning in cls._live]


class InductorFinder:
    """Wraps Inductor's modules right after their import."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the two modules as Python does, with a loader that wraps what it has loaded."""
        if name not in (_BENCHMARKERS, _HEURISTICS):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                if Tuning._live:
                    with suppress(AttributeError):  # another release of torch's
                        Tuning.wrap_inductor(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def _filed_apart() -> Iterator[None]:
    """File what this thread launches under the tuning frame, past the launch hooks."""
    thread = get_ident()
    if thread in Launch.unrecorded:  # inside a metadata function, or inside another trial
        yield
        return
    Launch.unrecorded.add(thread)
    proton.enter_state(TUNING_SCOPE)
    try:
        yield
    finally:
        proton.exit_state()
        Launch.unrecorded.discard(thread)


def _bench(original: Any, tuner: Any, *args: Any, config: Any, **meta: Any) -> Any:
    with _filed_apart():
        timings = original(tuner, *args, config=config, **meta)
    with suppress(Exception):  # a tuner of another release; the kernel is tuned all the same
        median = timings[0] if isinstance(timings, list | tuple) else timings
        Tuning.tell(TuningTrial("triton", tuner.base_fn.__name__, str(config), _ms(median), False))
    return timings


def _run(original: Any, tuner: Any, *args: Any, **kwargs: Any) -> Any:
    before = Tuning.counts()
    try:
        return original(tuner, *args, **kwargs)
    finally:
        if Tuning.counts() != before:  # it has tuned
            best = str(getattr(tuner, "best_config", None))
            Tuning.choose("triton", tuner.base_fn.__name__, best, before)


def _inductor_benchmark(original: Any, *args: Any, **kwargs: Any) -> Any:
    with _filed_apart():
        return original(*args, **kwargs)


def _inductor_bench(original: Any, tuner: Any, launcher: Any, *args: Any, **kwargs: Any) -> Any:
    with _filed_apart():
        milliseconds = original(tuner, launcher, *args, **kwargs)
    with suppress(Exception):
        config = str(launcher.config)
        Tuning.tell(TuningTrial("inductor", _name(tuner), config, _ms(milliseconds), False))
    return milliseconds


def _inductor_choice(original: Any, tuner: Any, *args: Any, **kwargs: Any) -> Any:
    before = Tuning.counts()
    result = original(tuner, *args, **kwargs)
    with suppress(Exception):
        Tuning.choose("inductor", _name(tuner), str(tuner.launchers[0].config), before)
    return result


def _name(tuner: Any) -> str:
    return str(tuner.inductor_meta.get("kernel_name") or tuner.fn.__name__)


def _ms(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
