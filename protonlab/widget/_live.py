"""The GPU of this process as a source: it measures while a person watches."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any, TypeVar

from protonlab.epilogue import (
    TOKENS,
    EpilogueCalls,
    EpilogueWeights,
    compiled_of,
    copy_gbyte_s,
    gpu_problem,
    has_upstream,
    in_gbyte_s,
)
from protonlab.errors import CaptureError
from protonlab.experiment import Measurement
from protonlab.model.epilogue_sweep import KERNELS, EpilogueCase
from protonlab.widget._source import BEAT_S, Moment

_SHOWN_S = 0.2  # between two pictures
_Result = TypeVar("_Result")


class Live:
    """The GPU of this process.

    All that touches it happens in one thread of its own, one short step at a time; between steps
    the kernel's own thread decides whether to go on, so a cell that runs there holds it up.

    Parameters
    ----------
    budget_s
        Seconds to measure a case.
    """

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="protonlab")
        self._weights: EpilogueWeights | None = None
        self._measurement: Measurement | None = None
        self._is_closed = False
        self._copy: float | None = None
        self.label = "measured now, on this GPU"

    def choices(self, case: EpilogueCase) -> Mapping[str, Sequence[Any]]:
        """Return the kernels that there are, and the tokens of the published sweep."""
        return {"tokens": TOKENS, "kernel": KERNELS if has_upstream() else KERNELS[:1]}

    def settled(self, case: EpilogueCase) -> tuple[EpilogueCase, str]:
        """Return the case, but with our kernel where upstream's is not installed."""
        if case.kernel in self.choices(case)["kernel"]:
            return case, ""
        needs = "Upstream's kernel needs triton_kernels, which is missing here: ours is chosen."
        return dataclasses.replace(case, kernel=KERNELS[0]), needs

    def at_once(self, case: EpilogueCase) -> Moment:
        """Return what to do, since it has to be measured: press Start, where this GPU can."""
        return Moment(_problem() or "press Start to measure")

    async def run(self, case: EpilogueCase) -> AsyncGenerator[Moment, None]:
        """Make weights, compile, then measure in pairs.

        Raises
        ------
        ProtonLabError
            If there is no Hopper GPU, or a variant fails.
        """
        problem = _problem()
        if problem:
            raise CaptureError(problem)
        calls = None
        async with aclosing(self._prepared(case)) as steps:
            async for moment, found in steps:
                calls = found or calls
                yield moment
        assert calls is not None
        async with aclosing(self.measured(calls)) as moments:
            async for moment in moments:
                yield moment

    async def _prepared(self, case: EpilogueCase) -> AsyncGenerator[tuple[Moment, Any], None]:
        shape = (case.experts, case.n, case.k)
        if self._weights is None or self._weights.shape != shape:
            if self._weights is not None:
                await self._do(self._weights.close)
            self._weights = EpilogueWeights(*shape)
        made = self._weights.make(case.kernel)
        share: float | None = 0.0
        while share is not None:
            yield Moment(f"making weights: {100 * share:.0f} %"), None
            share = await self._do(lambda: next(made, None))
        weights = self._weights
        if self._copy is None:
            self._copy = await self._do(copy_gbyte_s)
        calls = await self._do(lambda: weights.calls(case))
        async for compared in self._beating(lambda: compiled_of(calls.make())):
            if compared is None:
                yield Moment("compiling both settings"), None
            elif isinstance(compared, str):
                yield Moment(f"the compiled kernels were not compared: {compared}"), calls
            else:
                yield Moment("compiled", compiled=compared, copy_gbyte_s=self._copy), calls

    async def measured(self, calls: EpilogueCalls) -> AsyncGenerator[Moment, None]:
        """Measure a case in pairs until the budget is spent or the answer is clear."""
        measurement = Measurement(calls.make, budget_s=self._budget_s, metric=calls.metric)
        self._measurement, shown = measurement, 0.0
        try:
            while not measurement.done:
                async for _ in self._beating(measurement.step):
                    yield Moment(measurement.state)
                if measurement.state not in ("measuring", "done"):
                    continue
                if measurement.done or time.monotonic() > shown + _SHOWN_S:
                    comparison = in_gbyte_s(measurement.comparison, calls.n_bytes)
                    message = f"measuring: {len(comparison)} pairs"
                    if measurement.done:
                        message = f"{len(comparison)} pairs, {measurement.stop_reason}"
                    shown = time.monotonic()
                    yield Moment(message, comparison, copy_gbyte_s=self._copy)
        finally:
            if not self._is_closed:  # else `close` has seen to it
                await asyncio.shield(self._do(measurement.close))

    def release(self) -> None:
        """Give the GPU's memory back, once the step that runs is over."""
        for held in (self._measurement, self._weights):
            if held is not None:
                self._worker.submit(held.close)
        self._measurement = self._weights = None

    def close(self) -> None:
        """Give everything back, once the step that runs is over."""
        self._is_closed = True
        self.release()
        self._worker.shutdown(wait=False)  # what was submitted is done all the same

    async def _do(self, work: Callable[[], _Result]) -> _Result:
        """Do something in the thread of the GPU."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def _beating(self, work: Callable[[], _Result]) -> AsyncGenerator[_Result | None, None]:
        """Do something; yield None every 50 ms until it is done, then what it returned."""
        future = asyncio.get_running_loop().run_in_executor(self._worker, work)
        while True:
            done, _ = await asyncio.wait({future}, timeout=BEAT_S)
            if done:
                break
            yield None
        yield future.result()


def _problem() -> str:
    problem = gpu_problem()
    return f"{problem}; choose the replay to see what an H200 measured" if problem else ""
