"""Sweeping epilogue overlap over tokens, K and kernels: `sweep_epilogue`."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import torch

from protonlab.epilogue._bandwidth import in_gbyte_s, rounded
from protonlab.epilogue._choices import KS, TOKENS, UPSTREAM_UP_TO
from protonlab.epilogue._gpu import gpu_problem, has_upstream
from protonlab.epilogue._problem import EpilogueWeights
from protonlab.errors import CaptureError, ProtonLabError
from protonlab.experiment import compare_compiled, compare_variants
from protonlab.experiment._arguments import check_arguments
from protonlab.model import ProfileInfo, VariantComparison
from protonlab.model.compiled import CompiledComparison
from protonlab.model.epilogue_sweep import INTERRUPTED, EpilogueCase, EpilogueSweep

_COPY_BYTES, _COPIES, _COPY_SAMPLES = 2**30, 4, 9
_MATMULS = r".*matmul"


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

    Raises
    ------
    CaptureError
        If there is no Hopper GPU.
    ProtonLabError
        If an argument is not legal.

    Examples
    --------
    >>> sweep = protonlab.sweep_epilogue(budget_s=1)  # doctest: +SKIP
    >>> sweep.save("sweep.parquet")  # doctest: +SKIP
    """
    check_arguments(None, budget_s, None, protocol, seed)
    if within_s is not None and not within_s > 0:
        raise ProtonLabError(f"within_s={within_s}; give seconds for all of it, more than 0")
    problem = gpu_problem()
    if problem:
        raise CaptureError(
            f"{problem}; protonlab.recorded.epilogue_sweep() was measured on an H200"
        )
    wanted = tuple(epilogue_cases() if cases is None else cases)
    run = _Run(budget_s, protocol, seed)
    began = time.monotonic()
    weights: EpilogueWeights | None = None
    copy: float | None = None
    number, stop_reason = 0, "every case was tried"
    try:
        copy = copy_gbyte_s()
        for number, case in enumerate(wanted, 1):
            if within_s is not None and time.monotonic() - began > within_s - 1.5 * budget_s:
                run.left_out += [f"{left}: no time left." for left in wanted[number - 1 :]]
                stop_reason = f"within_s={within_s:g} was nearly over"
                break
            if on_case is not None:
                on_case(case, number, len(wanted))
            shape = (case.experts, case.n, case.k)
            if weights is None or weights.shape != shape:
                if weights is not None:
                    weights.close()
                weights = EpilogueWeights(*shape)
            run.measure(weights, case)
    except KeyboardInterrupt:
        missing = [left for left in wanted[max(number - 1, 0) :] if left not in run.comparisons]
        run.left_out += [f"{left}: interrupted." for left in missing]
        stop_reason = INTERRUPTED
    finally:
        if weights is not None:
            weights.close()
    info = next((each.info for each in run.comparisons.values()), ProfileInfo())
    about = {"budget_s": budget_s, "within_s": within_s, "protocol": protocol, "seed": seed}
    took = {"took_s": round(time.monotonic() - began, 1), "stop_reason": stop_reason}
    return EpilogueSweep(
        run.comparisons, run.compiled, info, copy, {**about, **took}, tuple(run.left_out)
    )


class _Run:
    """Measures one case after the other and keeps what came out."""

    def __init__(self, budget_s: float, protocol: Literal["sustained", "burst"], seed: int) -> None:
        self._budget_s, self._protocol, self._seed = budget_s, protocol, seed
        self.comparisons: dict[EpilogueCase, VariantComparison] = {}
        self.compiled: dict[EpilogueCase, CompiledComparison] = {}
        self.left_out: list[str] = []

    def measure(self, weights: EpilogueWeights, case: EpilogueCase) -> None:
        """Measure a case; a failure is a sentence in `left_out`."""
        try:
            for _ in weights.make(case.kernel):
                pass
            calls = weights.calls(case, seed=self._seed)
            self._look_at_code(case, calls.variants)
            found = compare_variants(
                calls.variants,
                budget_s=self._budget_s,
                metric=calls.metric,
                protocol=self._protocol,
                seed=self._seed,
            )
            self.comparisons[case] = rounded(in_gbyte_s(found, calls.n_bytes))
        except ProtonLabError as error:
            self.left_out.append(f"{case}: {error}.")
        except Exception as error:  # upstream's own checks, a compiler's failure
            reason = (str(error).strip().splitlines() or [""])[0][:200]
            self.left_out.append(f"{case}: {type(error).__name__}: {reason}.")

    def _look_at_code(self, case: EpilogueCase, calls: Mapping[str, Callable[[], object]]) -> None:
        compared = compiled_of(calls)
        if isinstance(compared, str):
            self.left_out.append(f"{case}: the compiled kernels were not compared: {compared}.")
            return
        # The texts are large, and many sizes run the same two kernels.
        bare = compared.without_ptx()
        is_known = any(each.without_ptx() == bare for each in self.compiled.values())
        self.compiled[case] = bare if is_known else compared.without_debug()


def compiled_of(calls: Mapping[str, Callable[[], object]]) -> CompiledComparison | str:
    """Compare the compiled matmuls of two callables; the reason as text where that fails."""
    try:
        return compare_compiled(calls, kernel=_MATMULS)
    except ProtonLabError as error:
        return str(error)


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
