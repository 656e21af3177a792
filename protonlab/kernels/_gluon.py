"""The engine in Gluon: a launch of `_gluon_kernel` for each row class, one overlapping the next."""

from __future__ import annotations

import torch
import triton

from protonlab.kernels._gather import gathered
from protonlab.kernels._layout import PackedWeight
from protonlab.kernels._options import MatmulOptions
from protonlab.kernels._problem import Problem
from protonlab.kernels._row_classes import ClassShape, class_shape
from protonlab.kernels._triton import multiprocessors, sum_parts

_FIRST_TRITON = (3, 9)
_HAS_GLUON = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= _FIRST_TRITON
_HOPPER = (9, 0)

if _HAS_GLUON:
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    from protonlab.kernels._gluon_kernel import gluon_kernel
    from protonlab.kernels._ring import RAGGED_END


def unsupported(problem: Problem, options: MatmulOptions) -> str | None:
    """Say why this engine cannot compute a problem; None if it can."""
    x, w = problem.x, problem.w
    if not _HAS_GLUON:
        return f"it needs Triton 3.9, and this is {triton.__version__}"
    if x.device.type != "cuda":
        return f"x is on {x.device}; it needs a Hopper GPU"
    found = torch.cuda.get_device_capability(x.device)
    if found != _HOPPER:
        return f"it needs a Hopper GPU, compute capability {_HOPPER}, and {x.device} has {found}"
    if not isinstance(w, PackedWeight):
        return "it takes packed MXFP4 weights: pack(quantize_mxfp4(w))"
    if not w.fast:
        return "scales of w span too much for bfloat16 (see pack), or are NaN"
    if x.dtype != torch.bfloat16:
        return f"x is {x.dtype}; it takes bfloat16: x.to(torch.bfloat16)"
    if problem.epilogue.activation is not None:
        return f"it has no activation {problem.epilogue.activation!r}; apply it to y"
    apart = x.stride(0)
    if problem.gather is None and (x.data_ptr() % 16 or apart % 8 or apart < problem.k):
        return (
            f"rows of x begin {2 * apart} bytes apart, the first at {x.data_ptr():#x}; TMA needs "
            "multiples of 16, and rows that do not overlap: x.contiguous()"
        )
    if options.split_k > 1 and problem.routing is not None:
        return f"split_k={options.split_k} goes without routing only; leave it out"
    return None


def launch(problem: Problem, options: MatmulOptions) -> None:
    """Compute ``problem.y``."""
    x, w, y, bias = problem.x, problem.w, problem.y, problem.epilogue.bias
    assert isinstance(w, PackedWeight)
    if problem.gather is not None:
        x = gathered(x, problem.gather)
    schedule = problem.schedule
    row_tiles, steps = w.values.shape[1:3]
    # No part may be empty.
    parts = triton.cdiv(steps, triton.cdiv(steps, options.split_k))
    if parts > 1:
        y = torch.empty(parts, problem.rows, problem.n, dtype=torch.float32, device=x.device)
    if schedule is None:
        classes = options.row_classes[-1:]
        most_blocks: tuple[int, ...] = (triton.cdiv(problem.rows, classes[0]),)
    else:
        classes, most_blocks = schedule.row_classes, schedule.most_blocks
    flat = gl.NVMMASharedLayout(0, 32, 2)
    words, scales = w.values.view(torch.int32), w.scales.view(torch.int32)
    word_boxes = TensorDescriptor.from_tensor(words.view(-1, 256), [8, 256], flat)
    scale_boxes = TensorDescriptor.from_tensor(scales.view(-1, 64), [2, 64], flat)
    counted = True
    for index, most in enumerate(most_blocks):
        if not most:
            continue
        shape = _shape(classes[index], row_tiles, options)
        tiles = most * triton.cdiv(row_tiles, shape.strips) * parts
        programs = tiles
        if options.persistent:
            programs = min(tiles, multiprocessors(x.device) * shape.programs_per_sm)
        head = _rows_of(x, shape.head)
        gluon_kernel[(programs,)](
            head,
            _rows_of(x, shape.tail) if shape.tail else head,
            word_boxes,
            scale_boxes,
            y,
            bias,
            problem.scatter,
            None if schedule is None else schedule.blocks,
            None if schedule is None else schedule.stats,
            index,
            problem.rows,
            1 if schedule is None else schedule.experts,
            row_tiles,
            steps,
            problem.n,
            problem.k,
            parts,
            0 if bias is None or len(bias) == 1 else bias.stride(0),
            w.output_scale,
            problem.n_bytes,
            int(counted),
            HEAD=shape.head,
            TAIL=shape.tail,
            STRIPS=shape.strips,
            STAGES=shape.stages,
            WARPS=shape.warps,
            num_warps=shape.warps,
            maxnreg=shape.registers,
            launch_pdl=not counted,
        )
        counted = False
    if parts > 1:
        sum_parts(problem, y)


def _shape(rows: int, row_tiles: int, options: MatmulOptions) -> ClassShape:
    return class_shape(
        rows,
        row_tiles,
        strips=options.strips,
        stages=options.num_stages,
        warps=options.num_warps,
        programs_per_sm=options.programs_per_sm,
    )


def _rows_of(x: torch.Tensor, rows: int) -> TensorDescriptor:
    """Describe x so that a box of rows can end anywhere (see `_ring.RAGGED_END`)."""
    stride = x.stride(0)
    shape = [_MOST, _MOST, RAGGED_END.value, x.shape[1]]
    layout = gl.NVMMASharedLayout(128, 16, 4)
    return TensorDescriptor(x, shape, [2**34 - stride, stride, stride, 1], [1, 1, rows, 64], layout)


_MOST = 0x7FFF0000  # so large that these dimensions end nothing
