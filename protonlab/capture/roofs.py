"""Measuring what a GPU can do at most: bandwidths of memory and rates of matrix products."""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from protonlab.capture import _surroundings
from protonlab.capture.clocks import driver_version, read_clocks
from protonlab.errors import CaptureError
from protonlab.model import ClockReading
from protonlab.model.roofs import Roof, Roofs, cache_path, cached_roofs

if TYPE_CHECKING:
    import torch

_SAMPLES = 25
_SAMPLE_MS = 4.0  # launches of one sample take about so long
_LARGEST = 2**30  # bytes of one tensor; far more than any cache holds
_EDGE = 8192  # of the square matrices


@dataclass(frozen=True)
class _Candidate:
    """One way to reach a roof.

    Parameters
    ----------
    how
        In words.
    run
        Launches it once.
    amount
        Bytes or FLOP of one launch.
    """

    how: str
    run: Callable[[], Any]
    amount: float


def measure_roofs(device: int | None = None, *, refresh: bool = False) -> Roofs:
    """Measure copy and read bandwidth and the rates of matmul, in bf16, fp8, tf32 and fp32.

    Each roof is the fastest of a few kernels, torch's and Triton's, on data larger than every
    cache: median of 25 samples of about 4 ms. It takes some ten seconds and up to 3 GiB of the
    GPU's memory, and other work on the GPU lowers the result. The roofs are kept in the user's
    cache folder for each GPU (``XDG_CACHE_HOME`` or ``~/.cache``), as long as driver, torch and
    Triton stay the same. `roofline` finds them there.

    Parameters
    ----------
    device
        Ordinal of the GPU as torch counts; by default the current one.
    refresh
        Measure again although the cache holds roofs.

    Returns
    -------
    Roofs
        In bytes/s and FLOP/s, with spread, clocks, date and versions.

    Raises
    ------
    CaptureError
        If torch finds no such GPU, or Triton runs kernels in its interpreter.

    Examples
    --------
    >>> roofs = protonlab.measure_roofs()  # doctest: +SKIP
    >>> protonlab.roofline(profile, roofs=roofs)  # doctest: +SKIP
    """
    import torch  # slow to import, and only a measurement needs it

    if not torch.cuda.is_available():
        raise CaptureError(
            "measure_roofs() needs a GPU, and torch finds none. roofline() takes the data sheet's "
            "roofs then; doctor() says what is missing"
        )
    if os.environ.get("TRITON_INTERPRET") == "1":
        raise CaptureError(
            "measure_roofs() launches Triton kernels, and TRITON_INTERPRET=1 has them interpreted "
            "on the CPU; start the process without it"
        )
    ordinal = torch.cuda.current_device() if device is None else device
    if not 0 <= ordinal < torch.cuda.device_count():
        raise CaptureError(
            f"device={device!r}, but torch finds GPUs 0 to {torch.cuda.device_count() - 1}"
        )
    properties = torch.cuda.get_device_properties(ordinal)
    uuid = str(getattr(properties, "uuid", "") or "")
    uuid = f"GPU-{uuid.removeprefix('GPU-')}" if uuid else properties.name
    versions = _versions()
    kept = None if refresh else cached_roofs(uuid)
    if kept is not None and dict(kept.versions) == versions:
        return kept
    with torch.cuda.device(ordinal):
        roofs, notes = _measured(ordinal)
    result = Roofs(
        properties.name,
        uuid,
        roofs=roofs,
        when=datetime.now().astimezone().isoformat(timespec="seconds"),
        versions=versions,
        notes=notes,
    )
    with suppress(OSError):  # a home that cannot be written to keeps nothing
        path = cache_path(uuid)
        path.parent.mkdir(parents=True, exist_ok=True)
        result.save(path)
    return result


def _versions() -> dict[str, str]:
    found = _surroundings.versions()
    versions = {name: found[name] for name in ("torch", "triton") if name in found}
    driver = driver_version()
    return {"driver": driver} | versions if driver else versions


def _measured(ordinal: int) -> tuple[tuple[Roof, ...], tuple[str, ...]]:
    """Measure one roof after the other; what fails is noted, and the others stand."""
    import torch

    units: dict[str, Literal["B/s", "FLOP/s"]] = {"copy": "B/s", "read": "B/s"}
    roofs, notes = [], []
    for name, candidates in (
        ("copy", _copies),
        ("read", _reads),
        ("bf16", functools.partial(_products, "bf16")),
        ("fp8", functools.partial(_products, "fp8")),
        ("tf32", functools.partial(_products, "tf32")),
        ("fp32", functools.partial(_products, "fp32")),
    ):
        try:
            best = None
            for candidate in candidates():
                rates, clock = _rates(candidate, ordinal)
                roof = Roof(
                    name,
                    statistics.median(rates),
                    units.get(name, "FLOP/s"),
                    min(rates),
                    max(rates),
                    len(rates),
                    candidate.how,
                    clock,
                )
                best = roof if best is None or roof.value > best.value else best
            if best is not None:
                roofs.append(best)
        except RuntimeError as error:  # out of memory, or a product that this GPU does not know
            reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else repr(error)
            notes.append(f"{name} could not be measured: {reason}")
        torch.cuda.empty_cache()
    return tuple(roofs), tuple(notes)


def _rates(candidate: _Candidate, ordinal: int) -> tuple[list[float], ClockReading | None]:
    """Bytes or FLOP a second of each sample, and the clocks under load."""
    import torch

    for _ in range(3):
        candidate.run()
    torch.cuda.synchronize()
    once = _elapsed_ms(candidate, 1)
    launches = max(1, round(_SAMPLE_MS / max(once, 1e-3)))
    _elapsed_ms(candidate, max(launches, round(50.0 / max(once, 1e-3))))  # clocks rise
    rates = [
        candidate.amount * launches / _elapsed_ms(candidate, launches) * 1e3
        for _ in range(_SAMPLES)
    ]
    for _ in range(launches):
        candidate.run()
    clock = read_clocks(ordinal)  # while the GPU is at work
    torch.cuda.synchronize()
    return rates, clock


def _elapsed_ms(candidate: _Candidate, launches: int) -> float:
    import torch

    event: Any = torch.cuda.Event
    start, end = event(enable_timing=True), event(enable_timing=True)
    start.record()
    for _ in range(launches):
        candidate.run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def _numbers() -> int:
    """How many int32 a tensor has: 1 GiB, or an eighth of what is free, in whole blocks."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    return max(2**20, min(_LARGEST, free // 8) // 4 // 2**16 * 2**16)


def _copies() -> Iterator[_Candidate]:
    import torch

    from protonlab.capture import _roof_kernels

    x = torch.randint(0, 2**20, (_numbers(),), dtype=torch.int32, device="cuda")
    y = torch.empty_like(x)
    amount = 2.0 * x.numel() * x.element_size()
    yield _Candidate("torch copy_", lambda: y.copy_(x), amount)
    for block, warps in _roof_kernels.SHAPES:
        run = functools.partial(_roof_kernels.copy, x, y, block, warps)
        yield _Candidate(f"Triton copy, blocks of {block}, {warps} warps", run, amount)


def _reads() -> Iterator[_Candidate]:
    import torch

    from protonlab.capture import _roof_kernels

    x = torch.randint(0, 2**20, (_numbers(),), dtype=torch.int32, device="cuda")
    out = torch.empty(x.numel() // 1024, dtype=torch.int32, device="cuda")
    amount = float(x.numel() * x.element_size())
    for block, warps in _roof_kernels.SHAPES:
        run = functools.partial(_roof_kernels.read, x, out, block, warps)
        yield _Candidate(f"Triton sum, blocks of {block}, {warps} warps", run, amount)


def _products(kind: str) -> Iterator[_Candidate]:
    """Square products of random numbers: zeros would draw less power and run faster."""
    import torch

    edge = _EDGE if torch.cuda.mem_get_info()[0] > 8 * 2**30 else _EDGE // 4
    for m, n, k in ((edge, edge, edge), (2 * edge, edge, edge // 2)):
        a = torch.randn((m, k), device="cuda")
        b = torch.randn((n, k), device="cuda")
        how = f"torch {kind} matmul, {m} x {n} x {k}"
        amount = 2.0 * m * n * k
        if kind == "fp8":
            yield _Candidate(how, _scaled(a, b), amount)
            continue
        dtype = torch.bfloat16 if kind == "bf16" else torch.float32
        a, b = a.to(dtype), b.to(dtype).t()
        out = torch.empty((m, n), dtype=dtype, device="cuda")
        with _precision("tf32" if kind == "tf32" else "ieee"):
            yield _Candidate(how, functools.partial(torch.matmul, a, b, out=out), amount)


def _scaled(a: torch.Tensor, b: torch.Tensor) -> Callable[[], Any]:
    import torch

    one = torch.ones((), device="cuda")
    left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
    return lambda: torch._scaled_mm(
        left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


@contextmanager
def _precision(wanted: str) -> Iterator[None]:
    """Let float32 products run in TF32 or in full, and put the user's choice back."""
    import torch

    settings: Any = torch.backends.cuda.matmul
    before = settings.fp32_precision
    settings.fp32_precision = wanted
    try:
        yield
    finally:
        settings.fp32_precision = before
