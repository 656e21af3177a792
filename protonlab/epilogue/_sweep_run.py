"""A sweep while it goes on: what was measured, what failed, and what is still missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protonlab.epilogue._bandwidth import in_gbyte_s, rounded
from protonlab.epilogue._problem import EpilogueWeights
from protonlab.errors import ProtonLabError
from protonlab.experiment import compare_compiled, compare_variants
from protonlab.model import ProfileInfo, VariantComparison
from protonlab.model.compiled import CompiledComparison
from protonlab.model.epilogue_sweep import UNFINISHED, EpilogueCase, EpilogueSweep

_MATMULS = r".*matmul"


class SweepRun:
    """Measures one case after the other and keeps what came out.

    Parameters
    ----------
    cases
        What is asked for.
    about
        How it is measured: ``budget_s``, ``protocol``, ``seed``, ``within_s``.
    earlier
        A sweep that goes on; what it could not measure is tried again.

    Attributes
    ----------
    comparisons
        What was measured.
    copy_gbyte_s
        Bandwidth of a copy; None if it was not measured yet.
    """

    def __init__(
        self,
        cases: Sequence[EpilogueCase],
        about: Mapping[str, Any],
        earlier: EpilogueSweep | None = None,
    ) -> None:
        earlier = earlier or EpilogueSweep({})
        self._cases, self._about = cases, about
        self.comparisons: dict[EpilogueCase, VariantComparison] = dict(earlier.comparisons)
        self._compiled: dict[EpilogueCase, CompiledComparison] = dict(earlier.compiled)
        self.copy_gbyte_s = earlier.copy_gbyte_s
        again = tuple(f"{case}: " for case in cases if case not in self.comparisons)
        self._left_out = [each for each in earlier.left_out if not each.startswith(again)]
        self._failed: set[EpilogueCase] = set()
        self._took_before: float = earlier.protocol.get("took_s", 0.0)
        self._began = time.monotonic()
        self._stopped = UNFINISHED, "not measured yet"
        self._weights: EpilogueWeights | None = None

    @property
    def took_s(self) -> float:
        """Seconds since it began, or went on."""
        return time.monotonic() - self._began

    def measure(self, case: EpilogueCase) -> None:
        """Measure a case; a failure is a sentence in the sweep's ``left_out``."""
        try:
            weights = self._weights_of(case)
            for _ in weights.make(case.kernel):
                pass
            calls = weights.calls(case, seed=self._about["seed"])
            self._look_at_code(case, calls.make())
            found = compare_variants(
                calls.make,
                budget_s=self._about["budget_s"],
                metric=calls.metric,
                protocol=self._about["protocol"],
                seed=self._about["seed"],
            )
            self.comparisons[case] = rounded(in_gbyte_s(found, calls.n_bytes))
        except ProtonLabError as error:
            self._fail(case, str(error))
        except Exception as error:  # upstream's own checks, a compiler's failure
            reason = (str(error).strip().splitlines() or [""])[0][:200]
            self._fail(case, f"{type(error).__name__}: {reason}")

    def stop(self, reason: str, why_missing: str) -> None:
        """Say why no more cases follow, and what that makes of each one that is missing."""
        self._stopped = reason, why_missing

    def sweep(self) -> EpilogueSweep:
        """Return what there is by now, in the order in which it was asked for."""
        known, (reason, why) = self.comparisons, self._stopped
        tried = known.keys() | self._failed
        missing = (case for case in self._cases if case not in tried)
        took = round(self._took_before + self.took_s, 1)
        return EpilogueSweep(
            {case: known[case] for case in (*self._cases, *known) if case in known},
            dict(self._compiled),
            next((each.info for each in known.values()), ProfileInfo()),
            self.copy_gbyte_s,
            {**self._about, "took_s": took, "stop_reason": reason},
            (*self._left_out, *(f"{case}: {why}." for case in missing)),
        )

    def close(self) -> None:
        """Give the GPU's memory back."""
        if self._weights is not None:
            self._weights.close()
            self._weights = None

    def _weights_of(self, case: EpilogueCase) -> EpilogueWeights:
        shape = (case.experts, case.n, case.k)
        if self._weights is None or self._weights.shape != shape:
            self.close()
            self._weights = EpilogueWeights(*shape)
        return self._weights

    def _fail(self, case: EpilogueCase, reason: str) -> None:
        self._failed.add(case)
        self._left_out.append(f"{case}: {reason}.")

    def _look_at_code(self, case: EpilogueCase, calls: Mapping[str, Callable[[], object]]) -> None:
        compared = compiled_of(calls)
        if isinstance(compared, str):
            self._left_out.append(f"{case}: the compiled kernels were not compared: {compared}.")
            return
        # The texts are large, and many sizes run the same two kernels.
        bare = compared.without_ptx()
        is_known = any(each.without_ptx() == bare for each in self._compiled.values())
        self._compiled[case] = bare if is_known else compared.without_debug()


def compiled_of(calls: Mapping[str, Callable[[], object]]) -> CompiledComparison | str:
    """Compare the compiled matmuls of two callables; the reason as text where that fails."""
    try:
        return compare_compiled(calls, kernel=_MATMULS)
    except ProtonLabError as error:
        return str(error)
