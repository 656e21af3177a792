"""``matmul``: checks, choice of engine and options, launch."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._checks import checked_problem
from protonlab.kernels._engines import ENGINES
from protonlab.kernels._first_call import announced
from protonlab.kernels._legal import EngineChoice
from protonlab.kernels._options import MatmulOptions
from protonlab.kernels._problem import Epilogue, Problem, Weight, byte_model
from protonlab.kernels._routing import Routing
from protonlab.kernels._schedule import Schedule, cut, uncut
from protonlab.kernels._selection import check_wishes, select


@dataclass(frozen=True, eq=False)
class PreparedRouting:
    """A routing whose schedule lies on the GPU; made by `prepare` for matmuls of one kind.

    Parameters
    ----------
    schedule
        Blocks of rows.
    options
        What they were cut for; matmuls with this routing use them.
    n, k, x_rows
        The shape of the weights, and the number of rows of x.
    bytes_each, bytes_fixed
        What the schedule's kernel counted with: bytes of an active expert, and those besides.
    """

    schedule: Schedule
    options: MatmulOptions
    n: int
    k: int
    x_rows: int
    bytes_each: int
    bytes_fixed: int


def prepare(
    x: torch.Tensor,
    w: Weight,
    routing: Routing,
    *,
    epilogue: Epilogue | None = None,
    overlap_epilogue: bool | None = None,
    engine: EngineChoice = "auto",
    options: MatmulOptions | None = None,
    debug: bool = False,
) -> PreparedRouting:
    """Make a routing's schedule, to be used by several matmuls of these shapes and types.

    `matmul` does it by itself, at each call. The parameters and errors are its own; nothing of x
    but shape, type and device is looked at. Matmuls with it have the same kind of weight, of bias
    and of activation, since the schedule's kernel counts the bytes that they move.

    Examples
    --------
    >>> routing = prepare(x, w, Routing(sizes))  # doctest: +SKIP
    >>> y = matmul(x, w, routing=routing)  # doctest: +SKIP
    """
    if routing is None:
        raise KernelInputError("routing is None; there is nothing to prepare: give Routing(sizes)")
    problem = _checked(x, w, routing, epilogue, engine, overlap_epilogue, options, debug)
    chosen = select(problem, engine, overlap_epilogue, options)
    schedule = _schedule(problem, routing, chosen, debug)
    return PreparedRouting(schedule, chosen, problem.n, problem.k, x.shape[0], *byte_model(problem))


def matmul(
    x: torch.Tensor,
    w: Weight,
    *,
    routing: Routing | PreparedRouting | None = None,
    epilogue: Epilogue | None = None,
    overlap_epilogue: bool | None = None,
    engine: EngineChoice = "auto",
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
    prepared = None
    if isinstance(routing, PreparedRouting):
        prepared, routing = routing, routing.schedule.routing
        options = _prepared_options(prepared, engine, options)
    problem = _checked(x, w, routing, epilogue, engine, overlap_epilogue, options, debug)
    if prepared is not None:
        _check_prepared(problem, prepared)
    chosen = select(problem, engine, overlap_epilogue, options)
    schedule = None
    if prepared is not None:
        schedule = prepared.schedule
    elif routing is not None:
        schedule = _schedule(problem, routing, chosen, debug)
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
    engine: EngineChoice,
    overlap: bool | None,
    options: MatmulOptions | None,
    debug: bool,
) -> Problem:
    check_wishes(engine, overlap, options)
    reference = "reference" in (engine, options.engine if options else None)
    return checked_problem(x, w, routing, epilogue, unpacked=reference, debug=debug)


def _schedule(problem: Problem, routing: Routing, options: MatmulOptions, debug: bool) -> Schedule:
    assert problem.routing is not None
    each, fixed = byte_model(problem)
    scatter = routing.scatter
    host = routing.host_sizes
    known = host is not None and (scatter is None or scatter.device.type == "cpu")
    if options.engine == "reference":
        return uncut(problem.routing, problem.rows)
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


def _prepared_options(
    prepared: PreparedRouting, engine: EngineChoice, options: MatmulOptions | None
) -> MatmulOptions:
    """Give the options that a prepared routing is used with: its own, unless others cut alike."""
    made = prepared.options
    if engine not in ("auto", made.engine):
        raise KernelInputError(
            f"routing was prepared for engine {made.engine!r}, and engine={engine!r} cuts rows in "
            f"another way; prepare it with engine={engine!r}"
        )
    if not isinstance(options, MatmulOptions):  # None, or what `check_wishes` refuses
        return options or made
    changed = [
        f"{name} ({getattr(made, name)} and {getattr(options, name)})"
        for name in ("engine", "block_m", "row_classes")
        if getattr(options, name) != getattr(made, name)
    ]
    if changed:
        raise KernelInputError(
            f"prepared routing and options differ in {', '.join(changed)}; prepare the routing "
            "with these options"
        )
    return options


def _check_prepared(problem: Problem, prepared: PreparedRouting) -> None:
    found = (problem.n, problem.k, problem.x.shape[0])
    wanted = (prepared.n, prepared.k, prepared.x_rows)
    if found != wanted:
        raise KernelInputError(
            f"routing was prepared for (N, K, rows of x) = {wanted}, and this matmul has {found}; "
            "prepare it for each shape"
        )
    each, fixed = byte_model(problem)
    if (each, fixed) != (prepared.bytes_each, prepared.bytes_fixed):
        raise KernelInputError(
            f"routing was prepared for a matmul that moves {prepared.bytes_each} bytes an expert "
            f"and {prepared.bytes_fixed} besides, and this one moves {each} and {fixed}: its kind "
            "of weight, bias or activation is another; prepare it with this w and epilogue"
        )
