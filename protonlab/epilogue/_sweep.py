"""Sweeping epilogue overlap over tokens, K and kernels: `sweep_epilogue`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from protonlab.epilogue._choices import KS, TOKENS, UPSTREAM_UP_TO
from protonlab.epilogue._gpu import gpu_problem, has_upstream
from protonlab.epilogue._kept import check_place, kept_sweep
from protonlab.epilogue._sweep_run import SweepRun
from protonlab.errors import CaptureError, ProtonLabError
from protonlab.experiment._arguments import check_arguments
from protonlab.model.epilogue_sweep import INTERRUPTED, EpilogueCase, EpilogueSweep

_COPY_BYTES, _COPIES, _COPY_SAMPLES = 2**30, 4, 9


def epilogue_cases(
    tokens: Sequence[int] = TOKENS,
    *,
    ks: Sequence[int] = KS,
    kernels: Sequence[str] | None = None,
    experts: int = 128,
    n: int = 5760,
) -> tuple[EpilogueCase, ...]:
    """List the cases of a sweep, those that share weights behind each other.

    Parameters
    ----------
    tokens
        Tokens per expert.
    ks
        Columns of the weights. A long and a short one: overlap pays for short ones.
    kernels
        By default ``"ours"``, and ``"upstream"`` where ``triton_kernels`` is installed. Upstream's
        has no more than 64 tokens: beyond, its persistent kernel takes several times as long.
    experts, n
        The rest of the shape.

    Raises
    ------
    ProtonLabError
        If a kernel or number is not legal.
    """
    chosen = kernels if kernels is not None else ("ours", "upstream")[: 1 + has_upstream()]
    return tuple(
        EpilogueCase(kernel, each, experts, n, k)
        for k, kernel, each in itertools.product(ks, chosen, tokens)
        if kernel != "upstream" or each <= UPSTREAM_UP_TO
    )


def sweep_epilogue(
    cases: Iterable[EpilogueCase] | None = None,
    *,
    budget_s: float = 2.0,
    within_s: float | None = None,
    protocol: Literal["sustained", "burst"] = "sustained",
    seed: int = 0,
    on_case: Callable[[EpilogueCase, int, int], None] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> EpilogueSweep:
    """Measure epilogue overlap, on against off, over many shapes; each as `compare_variants` does.

    What cannot be measured is named in the result's ``left_out``, and the rest goes on. What an
    interrupt or `within_s` left no time for is named there, too: an interrupt is not raised, and
    the result's ``was_interrupted`` tells of it.

    Parameters
    ----------
    cases
        What to measure; by default `epilogue_cases()`.
    budget_s
        Seconds for each case, behind compiling.
    within_s
        Seconds for all of it, weights and compiling included; None for no bound.
    protocol, seed
        Of `compare_variants`.
    on_case
        Called before each case with the case, its number from 1, and how many there are.
    path
        Where to save behind each case, so that nothing measured is lost (`EpilogueSweep.save`). A
        sweep that lies there and lacks some of the cases goes on: only those are measured.

    Raises
    ------
    CaptureError
        If there is no Hopper GPU.
    ProtonLabError
        If an argument is not legal, or what lies at `path` cannot go on: it holds all cases, or was
        measured in another way or on another machine. It is left as it is.
    OSError
        If the file cannot be written; it is as it was behind the case before.

    Examples
    --------
    >>> sweep = protonlab.sweep_epilogue(budget_s=1, path="sweep.json.gz")  # doctest: +SKIP
    """
    check_arguments(None, budget_s, None, protocol, seed)
    if within_s is not None and not within_s > 0:
        raise ProtonLabError(f"within_s={within_s}; give seconds for all of it, more than 0")
    target = None if path is None else Path(path)
    if target is not None:
        check_place(target)
    problem = gpu_problem()
    if problem:
        raise CaptureError(
            f"{problem}; protonlab.recorded.epilogue_sweep() was measured on an H200"
        )
    wanted = tuple(epilogue_cases() if cases is None else cases)
    settings: dict[str, Any] = {
        "budget_s": float(budget_s),
        "protocol": protocol,
        "seed": int(seed),
    }
    earlier = None if target is None else kept_sweep(target, wanted, settings)
    run = SweepRun(wanted, {**settings, "within_s": within_s}, earlier)
    try:
        if run.copy_gbyte_s is None:
            run.copy_gbyte_s = copy_gbyte_s()
        for number, case in enumerate(wanted, 1):
            if case in run.comparisons:
                continue
            if within_s is not None and run.took_s > within_s - 1.5 * budget_s:
                run.stop(f"within_s={within_s:g} was nearly over", "no time left")
                break
            if on_case is not None:
                on_case(case, number, len(wanted))
            run.measure(case)
            _save(run, target)
        else:
            run.stop("every case was tried", "")
    except KeyboardInterrupt:
        run.stop(INTERRUPTED, "interrupted")
    finally:
        run.close()
    return _save(run, target)


def _save(run: SweepRun, target: Path | None) -> EpilogueSweep:
    """Save what there is, which may be nothing: then an older file stays."""
    sweep = run.sweep()
    if target is not None and sweep.comparisons:
        sweep.save(target)
    return sweep


def copy_gbyte_s() -> float:
    """Measure a device-to-device copy: bytes read and written each second, in GB/s, the median."""
    size = min(_COPY_BYTES, torch.cuda.mem_get_info()[0] // 4)
    source = torch.empty(size, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    rates: list[float] = []
    for _ in range(_COPY_SAMPLES):
        event: Any = torch.cuda.Event
        start, end = event(enable_timing=True), event(enable_timing=True)
        start.record()
        for _ in range(_COPIES):
            target.copy_(source)
        end.record()
        end.synchronize()
        rates.append(2 * size * _COPIES / start.elapsed_time(end) / 1e6)
    return sorted(rates)[_COPY_SAMPLES // 2]
