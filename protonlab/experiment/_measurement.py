"""A measurement of two variants that goes on in short steps."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import nullcontext, suppress
from typing import Any, Literal, Self

from protonlab.capture._platform import has_gpu, interpreting
from protonlab.errors import CaptureError, MetricError, ProtonLabError
from protonlab.experiment._amounts import Amounts, amounts_of, kernels_of_call
from protonlab.experiment._arguments import ProtocolName, check_arguments
from protonlab.experiment._bench import Bench
from protonlab.experiment._cuda_bench import CudaBench
from protonlab.experiment._host_bench import HostBench
from protonlab.experiment._machine import info_here
from protonlab.experiment._maker import Maker, Variants
from protonlab.experiment._outputs import compared
from protonlab.experiment._paired_run import PairedRun
from protonlab.experiment._placement import scattered
from protonlab.experiment._trial import here, outputs_of, profiled
from protonlab.experiment._variants import explained, named_setup, release_memory
from protonlab.experiment._words import of_busy, of_work, protocol_in_words
from protonlab.model import Metric, Profile, ProfileInfo, VariantComparison
from protonlab.model.frames import FloatArray, MetricColumn

State = Literal["not started", "looking", "warming up", "measuring", "done"]
# Two measurements at a time would disturb each other.
_ONE_STEP_AT_A_TIME = threading.RLock()


class Measurement:
    """Measures two variants step by step; `compare_variants` is a loop over it.

    A context manager: `close` frees the GPU on every way out. Steps of several measurements never
    overlap, whatever their threads.

    Parameters
    ----------
    variants, setup, budget_s, metric, protocol, seed
        Those of `compare_variants`.

    Attributes
    ----------
    state
        What the next step does.

    Raises
    ------
    ProtonLabError
        If an argument is not legal.

    Examples
    --------
    >>> with Measurement({"overlap": f, "serial": g}) as measurement:  # doctest: +SKIP
    ...     while not measurement.done:
    ...         measurement.step()
    ...         print(measurement.comparison.verdict)
    """

    def __init__(
        self,
        variants: Variants | Callable[[], Variants],
        *,
        setup: Callable[[], Any] | None = None,
        budget_s: float = 10,
        metric: str | None = None,
        protocol: ProtocolName = "sustained",
        seed: int = 0,
    ) -> None:
        self._maker = Maker(variants)
        check_arguments(setup, budget_s, metric, protocol, seed)
        setup = setup and named_setup(setup)
        self._setup, self._budget, self._wanted = setup, float(budget_s), metric
        self._kind, self._seed = protocol, int(seed)
        self.state: State = "not started"
        self._on_gpu = has_gpu() and not interpreting()
        self._place = here() if self._on_gpu else nullcontext()
        self._bench: Bench = (CudaBench if self._on_gpu else HostBench)(setup, protocol)
        self._run = PairedRun(
            self._bench, seed=self._seed, budget_s=self._budget, has_power_limiter=self._on_gpu
        )
        self._slices: Generator[State, None, None] | None = self._go()
        self._stop_reason = ""
        self._outputs: tuple[bool | None, str] = None, ""
        self._profiles: tuple[Profile, Profile] | None = None
        self._amounts: tuple[Amounts, Amounts] | None = None
        self._proton_problem = ""
        self._info = ProfileInfo()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to measure."""
        return self.state == "done"

    @property
    def stop_reason(self) -> str:
        """Why it ended; empty while it goes on."""
        return self._run.stop_reason or self._stop_reason

    def step(self) -> None:
        """Go on for a moment: look at a variant, warm up, measure two pairs, or make things anew.

        Two pairs take 50 ms of the GPU, or 90 ms behind things made anew, or one call a sample
        where that is longer. The first
        steps compile and tune, if that was not done before.

        Raises
        ------
        ProtonLabError
            If a variant fails or cannot be measured so; all is then closed.
        """
        if self.done:
            return
        with _ONE_STEP_AT_A_TIME, self._place:
            try:
                if self._slices is None or next(self._slices, "end") == "end":
                    self.close()
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    self._stop_reason = "it was interrupted"
                else:
                    self._stop_reason = f"it failed: {type(error).__name__}"
                self.close()
                if isinstance(error, RuntimeError):  # torch's, of what no variant did by itself
                    raise explained(error) from error
                raise

    def close(self) -> None:
        """Stop, end Proton's session and free graphs and buffers; may be called again.

        Called from another thread, it waits for the step that runs.
        """
        with _ONE_STEP_AT_A_TIME:
            if not self.done and not self.stop_reason:
                self._stop_reason = "it was closed"
            self.state = "done"
            if self._slices is None:
                return
            self._slices.close()
            self._bench.close()
            if self._on_gpu:
                release_memory()
            # Python 3.12 lets a closed generator keep its frame, and so this one its variants.
            self._slices = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _go(self) -> Generator[State, None, None]:
        """Do the whole measurement, in slices."""
        self.state = "looking"
        with scattered() if self._on_gpu else nullcontext():
            variants = self._maker.make()
        outputs = []
        for variant in variants:
            outputs.append(outputs_of(variant, self._setup))
            yield self.state
        self._outputs = compared(self._maker.names, outputs[0], outputs[1])
        del outputs
        profiles = []
        try:
            for variant in variants:
                profiles.append(profiled(variant, self._setup))
                yield self.state
            self._profiles = profiles[0], profiles[1]
        except CaptureError as error:
            self._proton_problem = str(error)
        self._amounts = self._choose_metric()
        known = self._profiles[0].info if self._profiles else ProfileInfo()
        self._info = info_here(" against ".join(self._maker.names), known)
        kernels = (0, 0)
        if self._profiles is not None:
            kernels = kernels_of_call(profiles[0]), kernels_of_call(profiles[1])
        self._bench.open(variants, kernels)
        del variants, variant  # the bench alone holds them, until they are made anew
        self.state = "warming up"
        for _ in self._run.warm_up():
            yield self.state
        self.state = "measuring"
        renew = functools.partial(self._bench.renew, self._maker.make)
        for _ in self._run.measure(renew if self._made_anew else None):
            yield self.state

    @property
    def _made_anew(self) -> tuple[str, ...]:
        """What each round of pairs makes anew, in words."""
        return (*(("variants",) if self._maker.makes_anew else ()), *self._bench.makes_anew)

    def _choose_metric(self) -> tuple[Amounts, Amounts] | None:
        """Find what a call of each does; None where nothing but its time is known."""
        wanted = self._wanted
        if self._profiles is None:
            if wanted is not None and not wanted.startswith("time"):
                raise CaptureError(
                    f"metric={wanted!r} needs what Proton records of launch metadata, but "
                    f"{self._proton_problem}. metric='time/us' needs no Proton"
                )
            return None
        if wanted is None:
            with suppress(MetricError):
                first, second = self._both("gbyte/s")
                if first.by(second) == 1:
                    return first, second
            wanted = "time/us"
        return self._both(wanted)

    def _both(self, name: str) -> tuple[Amounts, Amounts]:
        assert self._profiles is not None
        first, second = (
            amounts_of(profile, name, variant)
            for profile, variant in zip(self._profiles, self._maker.names, strict=True)
        )
        return first, second

    @property
    def comparison(self) -> VariantComparison:
        """What is known by now, pairs or not.

        Raises
        ------
        ProtonLabError
            Before the variants were looked at, and where that failed.
        """
        if not self._info.when:
            raise ProtonLabError(
                f"there is no comparison yet: the measurement is {self.state}; take steps until "
                "its state is 'warming up'"
            )
        metric = self._amounts[0].metric if self._amounts else _time_metric(self._wanted)
        table = self._run.pairs.table((self._values(0, metric), self._values(1, metric)))
        return VariantComparison(
            self._maker.names,
            metric,
            table,
            protocol=self._protocol(),
            info=self._info,
            outputs_equal=self._outputs[0],
            outputs=self._outputs[1],
            notes=tuple(self._notes()),
            profiles=self._profiles,
        )

    def _values(self, which: int, metric: Metric) -> Callable[[FloatArray], FloatArray]:
        if self._amounts is not None:
            return self._amounts[which].values
        return lambda times: times * metric.factor

    def _protocol(self) -> Mapping[str, Any]:
        run, bench = self._run, dict(self._bench.protocol())
        clock, by_proton = bench.pop("clock"), run.pairs.by_proton and bool(len(run.pairs))
        reason = self._proton_problem or self._bench.timing_problem()
        protocol: dict[str, Any] = {
            "protocol": self._kind,
            "budget_s": self._budget,
            "seed": self._seed,
            "warmup_s": round(run.warmup.took_s, 4),
            "warmup_is_stable": run.warmup.is_stable,
            **bench,
            "made_anew": list(self._made_anew),
            "timer": "Proton, one scope a sample" if by_proton else clock,
            "timer_reason": "" if by_proton or not len(run.pairs) else reason or "",
            "busy": run.pairs.busy,
            "stop_reason": self.stop_reason,
        }
        return protocol | {"in_words": protocol_in_words(protocol, on_gpu=self._on_gpu)}

    def _notes(self) -> Iterator[str]:
        yield from self._bench.notes()
        run = self._run
        if self.state in ("measuring", "done") and len(run.pairs) and not run.warmup.is_stable:
            yield (
                f"The warm-up of {run.warmup.took_s:.2f} s ended before times were stable; give a "
                "larger budget_s."
            )
        if self._amounts is not None and self._amounts[0].metric.unit != "s":
            first, second = self._amounts
            yield from of_work(self._maker.names, first.by(second), first.metric.name)
        if self._on_gpu and run.pairs.busy is not None:
            yield from of_busy(self._maker.names, run.pairs.busy, self._kind)


def _time_metric(wanted: str | None) -> Metric:
    return Metric.parse(wanted or "time/us", [MetricColumn.from_raw("time (ns)")])
