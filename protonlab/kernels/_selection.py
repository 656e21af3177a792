"""Which engine computes a matmul, and with which options."""

from __future__ import annotations

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._engines import ENGINES
from protonlab.kernels._legal import EngineChoice, EngineName, check_overlap
from protonlab.kernels._options import MatmulOptions, matmul_options
from protonlab.kernels._problem import Problem

# One weight, by tests/benchmarks/dense_engines.py: Gluon takes up to 0.6 µs longer to start, and a
# few tiles of few rows do not pay that back. A tile has 128 columns, an H200 132 multiprocessors.
_FEW_COLUMNS, _MANY_COLUMNS, _FEW_ROWS = 5120, 132 * 128, 16


def check_wishes(engine: EngineChoice, overlap: bool | None, options: MatmulOptions | None) -> None:
    """Raise if what was asked for is no engine, switch or options, or contradicts itself."""
    if engine not in ("auto", *ENGINES):
        raise KernelInputError(
            f"engine is {engine!r}; give one of {', '.join(map(repr, ('auto', *ENGINES)))}"
        )
    check_overlap(overlap, engine)
    if options is None:
        return
    if not isinstance(options, MatmulOptions):
        raise KernelInputError(
            f"options are a {type(options).__name__}; make them with matmul_options(rows, n, k, …)"
        )
    if engine not in ("auto", options.engine):
        raise KernelInputError(
            f"engine={engine!r} and options for {options.engine!r} contradict each other; make "
            f"options with matmul_options(…, engine={engine!r})"
        )
    if overlap is not None and options.flatten_loops != overlap:
        raise KernelInputError(
            f"overlap_epilogue={overlap} and options with flatten_loops="
            f"{options.flatten_loops} contradict each other; leave one of them out"
        )


def select(
    problem: Problem, engine: EngineChoice, overlap: bool | None, options: MatmulOptions | None
) -> MatmulOptions:
    """Decide on engine and options, and make sure that they can compute the problem.

    Parameters
    ----------
    problem
        Checked; its y may be on the device ``meta``.
    engine, overlap, options
        What was asked for, checked by `check_wishes`.

    Raises
    ------
    KernelInputError
        If the engine cannot compute it.
    """
    if options is None:
        if engine == "auto":
            return _fastest(problem, overlap)
        options = _default_options(problem, engine, overlap)
    reason = ENGINES[options.engine].unsupported(problem, options)
    if reason is not None:
        raise KernelInputError(
            f"engine {options.engine!r} cannot compute this: {reason}. engine='auto' takes one "
            "that can"
        )
    return options


def gluon_pays(n: int, rows: int) -> bool:
    """Say whether Gluon was at least about as fast for so many rows and one weight's N."""
    return n >= _MANY_COLUMNS or (n >= _FEW_COLUMNS and rows > _FEW_ROWS)


def _fastest(problem: Problem, overlap: bool | None) -> MatmulOptions:
    """Take the engine that was measured to be fastest, of those that can.

    The switch is plain Triton's.
    """
    pays = problem.routing is not None or gluon_pays(problem.n, problem.rows)
    gluon = overlap is None and pays
    for name in reversed(ENGINES):
        if name == "gluon" and not gluon:
            continue
        options = _default_options(problem, name, overlap)
        if not ENGINES[name].unsupported(problem, options):
            return options
    raise AssertionError("the reference computes everything")


def _default_options(problem: Problem, engine: EngineName, overlap: bool | None) -> MatmulOptions:
    device = problem.x.device
    sms = {}
    if device.type == "cuda":
        sms["sms"] = torch.cuda.get_device_properties(device).multi_processor_count
    return matmul_options(
        problem.rows,
        problem.n,
        problem.k,
        experts=None if problem.routing is None else problem.routing.experts,
        packed=not isinstance(problem.w, torch.Tensor),
        engine=engine,
        overlap_epilogue=overlap,
        **sms,
    )
