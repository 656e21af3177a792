"""What a matmul takes, checked before anything is launched."""

from __future__ import annotations

import dataclasses

import torch

from protonlab.errors import KernelInputError
from protonlab.kernels._layout import PackedWeight, check_packed
from protonlab.kernels._mxfp4 import MXFP4Weight
from protonlab.kernels._problem import Epilogue, Problem, Weight
from protonlab.kernels._routing import Routing

_TYPES = (torch.float16, torch.bfloat16)


def checked_problem(
    x: torch.Tensor,
    w: Weight,
    routing: Routing | None,
    epilogue: Epilogue | None,
    *,
    unpacked: bool,
    debug: bool,
) -> Problem:
    """Check inputs and put them into the form that engines take, y on torch's device ``meta``.

    Parameters
    ----------
    x, w, routing, epilogue
        As `matmul` takes them.
    unpacked
        Whether a weight in rows will do.
    debug
        Whether to read and check what is on the GPU.

    Raises
    ------
    KernelInputError
        If something does not fit.
    """
    _check_x(x)
    w = _checked_weight(w, x, unpacked)
    *lead, n, k = w.shape
    if isinstance(w, torch.Tensor) and w.ndim == 2:
        w = w[None]
    if x.shape[1] != k:
        raise KernelInputError(
            f"x has the shape {tuple(x.shape)} and w {(*lead, n, k)}: their last dimensions, K, "
            f"differ; y = x @ w.T needs x of shape (rows, {k})"
        )
    experts = lead[0] if lead else 1
    rows, moved = x.shape[0], None
    if routing is not None:
        moved = _checked_routing(routing, x, experts, debug)
        rows = routing.rows(x.shape[0])
    elif experts > 1:
        raise KernelInputError(
            f"w holds {experts} experts and there is no routing; say which rows are whose: "
            "routing=Routing(sizes)"
        )
    epilogue = _checked_epilogue(epilogue or Epilogue(), x, experts, n)
    columns = n // 2 if epilogue.activation == "swiglu" else n
    y = torch.empty(rows, columns, dtype=x.dtype, device="meta")
    return Problem(x, w, y, n, k, moved, epilogue)


def _check_x(x: torch.Tensor) -> None:
    if not isinstance(x, torch.Tensor):
        raise KernelInputError(f"x is a {type(x).__name__}; give a torch tensor")
    if x.dtype not in _TYPES:
        raise KernelInputError(
            f"x is {x.dtype}; matmul takes float16 and bfloat16: x.to(torch.bfloat16)"
        )
    if x.ndim != 2:
        raise KernelInputError(
            f"x has the shape {tuple(x.shape)}; give (rows, K): x.reshape(-1, x.shape[-1])"
        )
    _check_stride("x", x)
    if x.device.type not in ("cuda", "cpu"):
        raise KernelInputError(f"x is on {x.device}; matmul runs on cuda and cpu: x.to('cuda')")
    if torch.is_grad_enabled() and x.requires_grad:
        raise KernelInputError(
            "x requires a gradient, which matmul does not compute; call it under torch.no_grad() "
            "or give x.detach()"
        )


def _check_stride(name: str, tensor: torch.Tensor) -> None:
    strides = tensor.stride()
    if (tensor.shape[-1] > 1 and strides[-1] != 1) or min(strides) < 0:
        raise KernelInputError(
            f"{name} has the strides {strides}; neighbours along K must lie side by side: "
            f"{name}.contiguous()"
        )


def _checked_weight(w: Weight, x: torch.Tensor, unpacked: bool) -> Weight:
    if isinstance(w, MXFP4Weight):
        if not unpacked:
            raise KernelInputError(
                f"w, an MXFP4Weight of shape {w.shape}, is not packed; pack it once, when the "
                "model is loaded: w = pack(w), or say engine='reference'"
            )
    elif isinstance(w, PackedWeight):
        check_packed(w)
    elif isinstance(w, torch.Tensor):
        if w.dtype != x.dtype or w.ndim not in (2, 3):
            raise KernelInputError(
                f"w is {w.dtype} of shape {tuple(w.shape)} and x {x.dtype}; a plain weight has the "
                "type of x and the shape (N, K) or (E, N, K); others are quantised and packed: "
                "pack(quantize_mxfp4(w))"
            )
        _check_stride("w", w)
        if torch.is_grad_enabled() and w.requires_grad:
            raise KernelInputError(
                "w requires a gradient, which matmul does not compute; give w.detach()"
            )
    else:
        raise KernelInputError(
            f"w is a {type(w).__name__}; give pack(quantize_mxfp4(w)) or a tensor of x's type"
        )
    if w.device != x.device:
        raise KernelInputError(f"w is on {w.device} and x on {x.device}; move one: w.to(x.device)")
    if 0 in w.shape:
        raise KernelInputError(f"w has the shape {tuple(w.shape)}; no dimension may be 0")
    return w


def _checked_routing(routing: Routing, x: torch.Tensor, experts: int, debug: bool) -> Routing:
    if not isinstance(routing, Routing):
        raise KernelInputError(
            f"routing is a {type(routing).__name__}; give Routing(sizes, gather, scatter), or what "
            "prepare made of one"
        )
    if routing.experts != experts:
        raise KernelInputError(
            f"routing has sizes for {routing.experts} experts and w holds {experts}; give one "
            "size for each expert, 0 for those without rows"
        )
    capturing = x.is_cuda and torch.cuda.is_current_stream_capturing()
    for name, tensor in (
        ("sizes", routing.size_tensor),
        ("gather", routing.gather),
        ("scatter", routing.scatter),
    ):
        if tensor is None or tensor.device == x.device:
            continue
        if tensor.device.type != "cpu" or capturing:
            why = ", and a CUDA graph is being captured, which holds no copies" if capturing else ""
            raise KernelInputError(
                f"{name} are on {tensor.device} and x on {x.device}{why}; move them before: "
                "routing.to(x.device)"
            )
    routing.check(x.shape[0])
    if debug:
        routing.check_device(x.shape[0])
    return routing.to(x.device)


def _checked_epilogue(epilogue: Epilogue, x: torch.Tensor, experts: int, n: int) -> Epilogue:
    if not isinstance(epilogue, Epilogue):
        raise KernelInputError(
            f"epilogue is a {type(epilogue).__name__}; give Epilogue(bias=…, activation=…)"
        )
    if epilogue.activation == "swiglu" and n % 2:
        raise KernelInputError(f"swiglu takes pairs of columns, and w has N = {n}; give an even N")
    bias = epilogue.bias
    if bias is None:
        return epilogue
    wanted = [(n,), (experts, n)]
    if tuple(bias.shape) not in wanted or not bias.is_floating_point():
        raise KernelInputError(
            f"bias is {bias.dtype} of shape {tuple(bias.shape)}; give floats of shape {wanted[0]} "
            f"or {wanted[1]}"
        )
    if bias.device != x.device:
        raise KernelInputError(
            f"bias is on {bias.device} and x on {x.device}; move it: bias.to(x.device)"
        )
    if torch.is_grad_enabled() and bias.requires_grad:
        raise KernelInputError(
            "bias requires a gradient, which matmul does not compute; call it under "
            "torch.no_grad() or give bias.detach()"
        )
    if bias.dtype == torch.float64:
        bias = bias.float()
    bias = bias.reshape(-1, n).detach()
    return dataclasses.replace(epilogue, bias=bias if bias.stride(-1) == 1 else bias.contiguous())
