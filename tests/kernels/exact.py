"""What y must be: float64 on dequantised weights, and how far a rounded sum may be from it."""

from __future__ import annotations

import torch

from protonlab.capture import device
from protonlab.kernels import Epilogue, MXFP4Weight, PackedWeight, Routing, dequantize, unpack

DEVICE = device()
ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def random_weight(*shape: int, seed: int = 0, codes: tuple[int, int] = (112, 130)) -> MXFP4Weight:
    """All sixteen values, scale codes from a range, ends included."""
    generator = torch.Generator().manual_seed(seed)
    *lead, k = shape
    values = torch.randint(0, 256, (*lead, k // 2), generator=generator, dtype=torch.uint8)
    low, high = codes
    scales = torch.randint(low, high + 1, (*lead, k // 32), generator=generator, dtype=torch.uint8)
    return MXFP4Weight(values, scales).to(DEVICE)


def random_x(rows: int, k: int, dtype: torch.dtype = torch.bfloat16, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, k, generator=generator).to(dtype).to(DEVICE)


def values_of(w: MXFP4Weight | PackedWeight | torch.Tensor) -> torch.Tensor:
    """Float64, shape (E, N, K)."""
    if isinstance(w, PackedWeight):
        w = unpack(w)
    values = dequantize(w, torch.float64) if isinstance(w, MXFP4Weight) else w.double()
    return values.reshape(-1, *values.shape[-2:])


def expected(
    x: torch.Tensor,
    w: MXFP4Weight | PackedWeight | torch.Tensor,
    routing: Routing | None = None,
    epilogue: Epilogue | None = None,
) -> torch.Tensor:
    """Y in float64, written as plainly as possible: one row after the other."""
    values = values_of(w)
    routing = routing or Routing([len(x)])
    sizes = routing.size_tensor.tolist()
    owner = [expert for expert, size in enumerate(sizes) for _ in range(size)]
    rows = []
    for place, expert in enumerate(owner):
        source = place if routing.gather is None else int(routing.gather[place])
        row = values[expert] @ x[source].double()
        if epilogue is not None:
            row = _finished(row, epilogue, expert)
        rows.append(row)
    columns = rows[0].numel() if rows else values.shape[1]
    y = torch.zeros(routing.rows(len(x)), columns, dtype=torch.float64, device=x.device)
    for place, row in enumerate(rows):
        y[place if routing.scatter is None else int(routing.scatter[place])] = row
    return y


def _finished(row: torch.Tensor, epilogue: Epilogue, expert: int) -> torch.Tensor:
    if epilogue.bias is not None:
        bias = epilogue.bias if epilogue.bias.ndim == 1 else epilogue.bias[expert]
        row = row + bias.double()
    if epilogue.activation is None:
        return row
    gate, linear = row[0::2], row[1::2]
    if epilogue.limit is not None:
        gate = torch.minimum(gate, torch.tensor(epilogue.limit, device=row.device))
        linear = linear.clamp(-epilogue.limit, epilogue.limit)
    return gate / (1 + torch.exp(-epilogue.alpha * gate)) * (linear + epilogue.offset)


def assert_rounded(y: torch.Tensor, wanted: torch.Tensor, *, sums: float = 1e-6) -> None:
    """Each value of y is the exact one, rounded once, but for float32 sums of a row's size."""
    assert y.shape == wanted.shape
    info = torch.finfo(y.dtype)
    room = wanted.abs() * ROUNDING[y.dtype] + sums * wanted.abs().amax(-1, keepdim=True)
    room += info.smallest_normal * info.eps / 2  # denormals: half a step
    wrong = ~((y.double() - wanted).abs() <= room)
    assert not wrong.any(), (
        f"{int(wrong.sum())} of {wrong.numel()} are wrong, the first at "
        f"{wrong.nonzero()[0].tolist()}: {y[wrong][0]} for {wanted[wrong][0]}"
    )


def relative_error(y: torch.Tensor, wanted: torch.Tensor) -> float:
    """Of the Frobenius norms."""
    return float((y.double() - wanted).norm() / wanted.norm())
