"""The matmul in torch's float64: slow, and what the other engines are compared with."""

from __future__ import annotations

import torch

from protonlab.kernels._layout import PackedWeight, unpack
from protonlab.kernels._mxfp4 import MXFP4Weight, dequantize
from protonlab.kernels._options import MatmulOptions
from protonlab.kernels._problem import Epilogue, Problem, Weight
from protonlab.kernels._routing import Routing


def launch(problem: Problem, options: MatmulOptions) -> None:
    """Compute ``problem.y``, rounding once. Reads sizes on the GPU, so it waits for it."""
    x, w, y, routing = problem.x, problem.w, problem.y, problem.routing
    if routing is None:
        y.copy_(_rows(x, w, 0, problem.epilogue))
        return
    y.zero_()
    first = 0
    for expert, size in enumerate(_clamped(routing, problem.rows)):
        if size:
            rows = slice(first, first + size)
            result = _rows(_gathered(x, routing, rows), w, expert, problem.epilogue)
            _scatter(y, result, routing, rows)
        first += size


def _clamped(routing: Routing, rows: int) -> list[int]:
    sizes, left = [], rows
    for size in routing.size_tensor.tolist():
        sizes.append(min(max(size, 0), left))
        left -= sizes[-1]
    return sizes


def _gathered(x: torch.Tensor, routing: Routing, rows: slice) -> torch.Tensor:
    if routing.gather is None:
        return x[rows]
    index = routing.gather[rows].long()
    known = (index >= 0) & (index < len(x))
    return torch.where(known[:, None], x[torch.where(known, index, 0)], 0)


def _scatter(y: torch.Tensor, result: torch.Tensor, routing: Routing, rows: slice) -> None:
    if routing.scatter is None:
        y[rows] = result.to(y.dtype)
        return
    index = routing.scatter[rows].long()
    known = (index >= 0) & (index < len(y))
    y[index[known]] = result[known].to(y.dtype)


def _rows(x: torch.Tensor, w: Weight, expert: int, epilogue: Epilogue) -> torch.Tensor:
    result = x.double() @ _expert(w, expert).T
    if epilogue.bias is not None:
        result += epilogue.bias[expert if len(epilogue.bias) > 1 else 0].double()
    if epilogue.activation == "swiglu":
        gate, linear = result[:, 0::2], result[:, 1::2]
        if epilogue.limit is not None:
            gate = gate.clamp(max=epilogue.limit)
            linear = linear.clamp(-epilogue.limit, epilogue.limit)
        result = gate * torch.sigmoid(epilogue.alpha * gate) * (linear + epilogue.offset)
    return result


def _expert(w: Weight, expert: int) -> torch.Tensor:
    """Float64 (N, K)."""
    if isinstance(w, PackedWeight):
        return dequantize(unpack(w.expert(expert)), torch.float64)
    if isinstance(w, MXFP4Weight):
        if w.codes.ndim == 3:
            w = MXFP4Weight(w.codes[expert], w.scales[expert])
        return dequantize(w, torch.float64)
    return w[expert].double()
