"""``matmul``: checks, choice of engine and options, launch."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._checks import checked_problem
from protonlab.kernels._engines import ENGINES
from protonlab.kernels._first_call import announced
from protonlab.kernels._options import EngineName, MatmulOptions, matmul_options
from protonlab.kernels._problem import Epilogue, Problem, Weight, byte_model
from protonlab.kernels._routing import Routing
from protonlab.kernels._schedule import Schedule, cut

Engine = Literal["auto", "triton", "gluon", "reference"]

# One weight, by tests/benchmarks/dense_engines.py: Gluon takes up to 0.6 µs longer to start, and a
# few tiles of few rows do not pay that back. A tile has 128 columns, an H200 132 multiprocessors.
_FEW_COLUMNS, _MANY_COLUMNS, _FEW_ROWS = 5120, 132 * 128, 16


@dataclass(frozen=True, eq=False)
class PreparedRouting:
    """A routing whose schedule lies on the GPU; made by `prepare` for weights of one shape.

    Parameters
    ----------
    schedule
        Blocks of rows.
    options
        What they were cut for; matmuls with this routing use them.
    n, k, x_rows
        The shape of the weights, and the number of rows of x.
    """

    schedule: Schedule
    options: MatmulOptions
    n: int
    k: int
    x_rows: int


def prepare(
    x: torch.Tensor,
    w: Weight,
    routing: Routing,
    *,
    epilogue: Epilogue | None = None,
    overlap_epilogue: bool | None = None,
    engine: Engine = "auto",
    options: MatmulOptions | None = None,
    debug: bool = False,
) -> PreparedRouting:
    """Make a routing's schedule, to be used by several matmuls of these shapes.

    `matmul` does it by itself, at each call. The parameters and errors are its own; nothing of x
    but shape, type and device is looked at.

    Examples
    --------
    >>> routing = prepare(x, w, Routing(sizes))  # doctest: +SKIP
    >>> y = matmul(x, w, routing=routing)  # doctest: +SKIP
    """
    problem = _checked(x, w, routing, epilogue, engine, options, debug)
    chosen = _options(problem, engine, overlap_epilogue, options)
    schedule = _schedule(problem, routing, chosen, debug)
    return PreparedRouting(schedule, chosen, problem.n, problem.k, x.shape[0])


def matmul(
    x: torch.Tensor,
    w: Weight,
    *,
    routing: Routing | PreparedRouting | None = None,
    epilogue: Epilogue | None = None,
    overlap_epilogue: bool | None = None,
    engine: Engine = "auto",
    options: MatmulOptions | None = None,
    debug: bool = False,
) -> torch.Tensor:
    """Compute ``y = x @ w.T`` with a weight of four bits or a plain one, for one or many experts.

    Products are exact and sums are float32; y is rounded once, to the type of x. float16 is
    multiplied as the exact sum of two bfloat16.

    Parameters
    ----------
    x
        float16 or bfloat16, shape (rows of x, K), neighbours along K side by side.
    w
        ``pack(quantize_mxfp4(w))``, or a tensor of x's type. Shape (N, K), or (E, N, K) with
        routing. The reference also takes an `MXFP4Weight` that is not packed.
    routing
        Which rows belong to which expert.
    epilogue
        Bias and activation.
    overlap_epilogue
        Whether the next tile's loads run during this tile's epilogue (``FLATTEN_LOOPS`` of the
        plain Triton kernel); None leaves it to `matmul_options`.
    engine
        ``"auto"`` takes the one that was measured to be faster: Gluon on a Hopper GPU where it can,
        with routing or enough of one weight; else plain Triton, on GPUs since Ampere and on
        Triton's interpreter; and elsewhere the reference, float64 in torch.
    options
        From `matmul_options`; None for its defaults.
    debug
        Read sizes and indices that lie on the GPU, and check them. Waits for the GPU.

    Returns
    -------
    torch.Tensor
        Shape (rows, N), or (rows, N / 2) with swiglu, where rows are those of x or of the routing's
        gather. Rows that belong to no expert are zero.

    Raises
    ------
    KernelInputError
        A ValueError: if a type, shape, device, stride or value is not one of these, or the engine
        cannot compute it.

    Examples
    --------
    >>> w = pack(quantize_mxfp4(torch.randn(8, 256, 512)))
    >>> x = torch.randn(5, 512).to(torch.bfloat16)
    >>> y = matmul(x, w, routing=Routing([2, 0, 0, 3, 0, 0, 0, 0]), engine="reference")
    >>> y.shape
    torch.Size([5, 256])
    """
    plain = routing.schedule.routing if isinstance(routing, PreparedRouting) else routing
    problem = _checked(x, w, plain, epilogue, engine, options, debug)
    if isinstance(routing, PreparedRouting):
        _check_prepared(problem, routing, options)
        chosen = _options(problem, engine, overlap_epilogue, options or routing.options)
        schedule: Schedule | None = routing.schedule
    else:
        chosen = _options(problem, engine, overlap_epilogue, options)
        schedule = _schedule(problem, routing, chosen, debug) if routing is not None else None
    shape, dtype = problem.y.shape, problem.y.dtype
    whole = schedule is None or schedule.checked
    make = torch.empty if whole else torch.zeros
    y = make(shape, dtype=dtype, device=x.device)
    if not y.numel():
        return y
    problem = dataclasses.replace(problem, y=y, schedule=schedule)
    if chosen.engine == "reference" or not x.is_cuda:
        ENGINES[chosen.engine].launch(problem, chosen)
        return y
    key = (chosen, problem.n, problem.k, x.dtype, x.device, epilogue is None, routing is None)
    with _on(x), announced(key, f"the {chosen.engine} matmul"):
        ENGINES[chosen.engine].launch(problem, chosen)
    return y


def _checked(
    x: torch.Tensor,
    w: Weight,
    routing: Routing | None,
    epilogue: Epilogue | None,
    engine: Engine,
    options: MatmulOptions | None,
    debug: bool,
) -> Problem:
    if engine not in ("auto", *ENGINES):
        raise KernelInputError(
            f"engine is {engine!r}; give one of {', '.join(map(repr, ('auto', *ENGINES)))}"
        )
    if options is not None and engine not in ("auto", options.engine):
        raise KernelInputError(
            f"engine={engine!r} and options for {options.engine!r} contradict each other; make "
            f"options with matmul_options(…, engine={engine!r})"
        )
    reference = "reference" in (engine, options.engine if options else None)
    return checked_problem(x, w, routing, epilogue, unpacked=reference, debug=debug)


def _options(
    problem: Problem, engine: Engine, overlap: bool | None, options: MatmulOptions | None
) -> MatmulOptions:
    """Decide on engine and options, and make sure that they can compute the problem."""
    if options is not None:
        if overlap is not None and options.flatten_loops != overlap:
            raise KernelInputError(
                f"overlap_epilogue={overlap} and options with flatten_loops="
                f"{options.flatten_loops} contradict each other; leave one of them out"
            )
        _check_engine(problem, options)
        return options
    if engine == "auto":
        engine = _engine(problem, overlap)
    if engine == "gluon" and overlap is not None:
        raise KernelInputError(
            f"overlap_epilogue={overlap} with engine='gluon', whose loads always overlap with the "
            "epilogue; the switch is the plain Triton kernel's: engine='triton'"
        )
    chosen = _default_options(problem, engine, overlap)
    _check_engine(problem, chosen)
    return chosen


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


def _engine(problem: Problem, overlap: bool | None) -> EngineName:
    """Take the engine that was measured to be fastest, of those that can.

    The switch is plain Triton's.
    """
    n, rows = problem.n, problem.rows
    pays = n >= _MANY_COLUMNS or (n >= _FEW_COLUMNS and rows > _FEW_ROWS)
    gluon = overlap is None and (problem.routing is not None or pays)
    for name in reversed(ENGINES):
        options = _default_options(problem, name, overlap)
        if (name != "gluon" or gluon) and not ENGINES[name].unsupported(problem, options):
            return name
    raise AssertionError("the reference computes everything")


def _check_engine(problem: Problem, options: MatmulOptions) -> None:
    reason = ENGINES[options.engine].unsupported(problem, options)
    if reason is not None:
        raise KernelInputError(
            f"engine {options.engine!r} cannot compute this: {reason}. engine='auto' takes one "
            "that can"
        )


def _schedule(problem: Problem, routing: Routing, options: MatmulOptions, debug: bool) -> Schedule:
    assert problem.routing is not None
    each, fixed = byte_model(problem)
    scatter = routing.scatter
    host = routing.host_sizes
    known = host is not None and (scatter is None or scatter.device.type == "cpu")
    with _on(problem.x):
        return cut(
            problem.routing,
            problem.rows,
            options.row_classes if options.engine == "gluon" else (options.block_m,),
            bytes_each=each,
            bytes_fixed=fixed,
            host_sizes=host,
            checked=known or debug,
        )


def _on(x: torch.Tensor) -> AbstractContextManager[Any]:
    """Launch on the GPU that x is on, whichever is the current one."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def _check_prepared(
    problem: Problem, prepared: PreparedRouting, options: MatmulOptions | None
) -> None:
    found = (problem.n, problem.k, problem.x.shape[0])
    wanted = (prepared.n, prepared.k, prepared.x_rows)
    if found != wanted:
        raise KernelInputError(
            f"routing was prepared for (N, K, rows of x) = {wanted}, and this matmul has {found}; "
            "prepare it for each shape"
        )
    if options is not None and options != prepared.options:
        changed = [
            field.name
            for field in dataclasses.fields(options)
            if field.name in ("engine", "block_m", "row_classes")
            and getattr(options, field.name) != getattr(prepared.options, field.name)
        ]
        if changed:
            raise KernelInputError(
                f"options and prepared routing differ in {', '.join(changed)}; prepare the "
                "routing with these options"
            )
