"""The engine in plain Triton: it launches the kernels of `_matmul_kernel`."""

from __future__ import annotations

import torch
import triton
from triton.runtime.interpreter import InterpretedFunction

from protonlab.kernels._layout import TILE, PackedWeight
from protonlab.kernels._matmul_kernel import matmul_kernel, sum_parts_kernel
from protonlab.kernels._mxfp4 import MXFP4Weight
from protonlab.kernels._options import MatmulOptions
from protonlab.kernels._problem import Problem

_SUM_N, _SUM_M = 128, 8  # tile of the kernel that sums the parts of K
_MOST_TILES = 2**31 - 1
_INTERPRETED = isinstance(matmul_kernel, InterpretedFunction)
_AMPERE, _HOPPER = (8, 0), (9, 0)


def unsupported(problem: Problem, options: MatmulOptions) -> str | None:
    """Say why this engine cannot compute a problem; None if it can."""
    if isinstance(problem.w, MXFP4Weight):
        return "the weight is not packed; pack it: w = pack(w)"
    if not _INTERPRETED:
        device = problem.x.device
        if device.type == "cpu":
            return (
                "x is on the CPU and Triton's interpreter is off; move x to a GPU, or set "
                "TRITON_INTERPRET=1 before Triton is imported"
            )
        if torch.version.hip:
            return f"{device} is an AMD GPU, and the kernels are NVIDIA's"
        found = torch.cuda.get_device_capability(device)
        if found < _AMPERE:
            return f"it needs bfloat16, so compute capability 8.0, and {device} has {found}"
    if isinstance(problem.w, PackedWeight) and (options.block_n, options.block_k) != (TILE, TILE):
        return (
            f"options with block_n={options.block_n} and block_k={options.block_k} are a plain "
            "weight's, and w is packed in tiles of 128 by 128: matmul_options(…, packed=True)"
        )
    if options.split_k > 1 and problem.routing is not None:
        return f"split_k={options.split_k} goes without routing only; leave it out"
    blocks = triton.cdiv(problem.rows, options.block_m)
    blocks += problem.routing.experts if problem.routing else 0
    tiles = blocks * triton.cdiv(problem.n, options.block_n) * options.split_k
    if max(tiles, problem.rows * options.split_k) > _MOST_TILES:
        return f"it counts tiles in 32 bits, and there would be {tiles}; split x into parts"
    return None


def has_assembly(device: torch.device) -> bool:
    """Whether to use the assembly, which counts on the order of Hopper's registers."""
    return not _INTERPRETED and torch.cuda.get_device_capability(device) == _HOPPER


def launch(problem: Problem, options: MatmulOptions, *, assembly: bool | None = None) -> None:
    """Compute ``problem.y``.

    Parameters
    ----------
    problem
        Checked inputs, with a schedule if there is a routing.
    options
        How to cut and launch.
    assembly
        Whether to dequantise with inline assembly; None for where it can.
    """
    x, w, y, epilogue = problem.x, problem.w, problem.y, problem.epilogue
    schedule = problem.schedule
    if isinstance(w, PackedWeight):
        fast = w.fast and has_assembly(x.device) if assembly is None else assembly
        weight, scales = w.values if fast else w.values.view(torch.int32), w.scales
        strides, output_scale = (0, 0), w.output_scale
        undo = w.undo
    else:
        assert isinstance(w, torch.Tensor)
        fast, weight, scales, undo = False, w, None, 0
        strides, output_scale = (w.stride(0), w.stride(1)), 1.0
    blocks = sum(schedule.most_blocks) if schedule else triton.cdiv(problem.rows, options.block_m)
    tiles_n = triton.cdiv(problem.n, options.block_n)
    programs = blocks * tiles_n * options.split_k
    if options.persistent:
        programs = min(programs, multiprocessors(x.device) * options.programs_per_sm)
    parts = None
    if options.split_k > 1:
        shape = (options.split_k, problem.rows, problem.n)
        parts = torch.empty(shape, dtype=torch.float32, device=x.device)
    limited = epilogue.limit is not None
    bias = epilogue.bias
    finish = (output_scale, epilogue.alpha, epilogue.limit if limited else 0.0, epilogue.offset)
    swiglu = epilogue.activation == "swiglu"
    matmul_kernel[(programs,)](
        x,
        weight,
        scales,
        y,
        parts,
        bias,
        problem.gather,
        problem.scatter,
        None if schedule is None else schedule.blocks,
        None if schedule is None else schedule.stats,
        x.shape[0],
        problem.rows,
        1 if schedule is None else schedule.experts,
        problem.n,
        x.stride(0),
        *strides,
        0 if bias is None or len(bias) == 1 else bias.stride(0),
        problem.n_bytes,
        *finish,
        K=problem.k,
        BLOCK_M=options.block_m,
        BLOCK_N=options.block_n,
        BLOCK_K=options.block_k,
        SPLIT_K=options.split_k,
        NUM_STAGES=options.num_stages,
        PERSISTENT=options.persistent,
        FLATTEN_LOOPS=options.flatten_loops,
        WARP_SPECIALIZE=options.warp_specialize,
        PACKED=isinstance(w, PackedWeight),
        ASSEMBLY=fast,
        UNDO=undo,
        SPLIT_X=isinstance(w, PackedWeight) and x.dtype == torch.float16,
        WIDE_DOT=_INTERPRETED,
        SWIGLU=swiglu,
        LIMITED=limited,
        num_warps=options.num_warps,
    )
    if parts is not None:
        sum_parts(problem, parts)


def sum_parts(problem: Problem, parts: torch.Tensor) -> None:
    """Fill ``problem.y`` from the sums of parts of K: float32, shape (parts, rows, N)."""
    w, epilogue = problem.w, problem.epilogue
    split, rows, n = parts.shape
    limited = epilogue.limit is not None
    grid = (triton.cdiv(rows, _SUM_M), triton.cdiv(n, _SUM_N))  # only the first may be large
    sum_parts_kernel[grid](
        parts,
        problem.y,
        epilogue.bias,
        rows,
        n,
        w.output_scale if isinstance(w, PackedWeight) else 1.0,
        epilogue.alpha,
        epilogue.limit if limited else 0.0,
        epilogue.offset,
        SPLIT_K=split,
        BLOCK_N=_SUM_N,
        BLOCK_M=_SUM_M,
        SWIGLU=epilogue.activation == "swiglu",
        LIMITED=limited,
        TRUNCATES=_INTERPRETED,
    )


def multiprocessors(device: torch.device) -> int:
    """Count the multiprocessors of a device; the interpreter runs one program at a time."""
    if device.type == "cpu":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
