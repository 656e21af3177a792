"""Samples on a GPU: graphs replayed back to back, or launches with an empty L2."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch

from protonlab.capture.clocks import clock_problem, read_clocks
from protonlab.capture.samples import Samples
from protonlab.experiment._arguments import ProtocolName
from protonlab.experiment._bench import Block
from protonlab.experiment._graphs import calls_in_graphs, captured
from protonlab.experiment._l2 import L2
from protonlab.experiment._placement import scattered
from protonlab.experiment._variants import Variant
from protonlab.experiment._words import UNEQUAL_CALLS, of_burst, of_launches, of_sustained

# A block is to take 50 ms of the GPU's time at most: four samples, each behind calls of its own
# variant that are not timed, and more of them where the GPU may have rested.
_SAMPLE_NS, _LEAD_NS, _FIRST_LEAD_NS = 9e6, 1.5e6, 6e6
# Between blocks the GPU goes on with the same work, or it would cool down and clock up. Not while
# times are read: Proton gives them only once nothing runs.
_PAUSE_S, _LONGEST_PAUSE_S, _MARGIN = 0.005, 0.05, 1.25
# A burst stays below the GPU's power cap: little work, then rest.
_BURST_NS, _REST_S = 5e6, 0.05
_FEWEST_IN_BURST, _MOST_IN_BURST = 3, 40
_WARM_NS = 10e6
# Making anew leaves the GPU idle, and a power limiter takes a tenth of a second to be back at its
# clock: runs of both, more where it was idle for longer, then calls of the variant that is next.
_WARM_AGAIN, _MOST_WARM_AGAIN, _LEAD_ANEW_NS = 3, 10, 40e6


class CudaBench:
    """Runs samples of two variants on torch's current GPU and stream.

    Parameters
    ----------
    setup
        Called before each sample, untimed.
    protocol
        ``"sustained"``: replays of a CUDA graph back to back, at the clock that the power cap
        leaves. ``"burst"``: plain launches, few and rested, each with an empty L2.
    """

    def __init__(self, setup: Callable[[], Any] | None, protocol: ProtocolName) -> None:
        self._setup, self._kind = setup, protocol
        self._variants: tuple[Variant, ...] = ()
        self._device = torch.cuda.current_device()
        self._samples = Samples()
        self._number = 0
        self._kernels = (0, 0)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self._units = [1, 1]  # calls in a replay
        self._runs = [1, 1]  # replays, or plain calls, in a sample
        self._times = [1e6, 1e6]
        self._notes: dict[str, None] = {}
        self._l2: L2 | None = None
        self._has_graphs = False
        self._pause_s = _PAUSE_S  # between a block that was read and the next one's start
        self._was_read: float | None = None

    def open(self, variants: tuple[Variant, Variant], kernels: tuple[int, int]) -> None:
        """Start Proton, then capture: it has to see captures from the start."""
        self._variants, self._kernels = variants, kernels
        if 0 not in kernels:
            self._samples.start()
        self._times = [self._estimate(variant) for variant in self._variants]
        problem = clock_problem(self._device)
        if problem:
            self._notes[f"Clocks, power and temperature are unknown: {problem}."] = None
        if self._kind == "burst":
            self._l2 = L2(self._device)
            return
        self._has_graphs = True
        self.settle((self._times[0], self._times[1]))

    def _capture(self) -> None:
        """Capture both; the graphs before them are kept till then, so that these lie elsewhere."""
        graphs: dict[int, torch.cuda.CUDAGraph] = {}
        for which, variant in enumerate(self._variants):
            with self._samples.without_metadata():
                graph = captured(variant.call, self._units[which])
            if isinstance(graph, str):
                self._notes[
                    f"{variant.name} could not be captured in a CUDA graph ({graph}); plain "
                    "launches stand in, for both variants alike."
                ] = None
                graphs.clear()
                self._units = [1, 1]
                break
            graphs[which] = graph
        self._graphs, self._has_graphs = graphs, bool(graphs)

    @property
    def makes_anew(self) -> tuple[str, ...]:
        """CUDA graphs, where there are some: what calls allocate lies elsewhere in each."""
        return ("graphs",) if self._has_graphs else ()

    def renew(self, make: Callable[[], tuple[Variant, Variant]]) -> None:
        """Go on with what `make` gives, in graphs of its own, and warm up again for a moment."""
        start = time.perf_counter()
        with scattered():
            variants = make()
            for variant in variants:  # a first call may make more than later ones
                self._set_up()
                variant()
            self._variants = variants
            if self._has_graphs:
                self._capture()
        self._warm_again(time.perf_counter() - start)

    def _warm_again(self, idle_s: float = 0.0) -> None:
        if self._kind == "sustained":
            runs = round(idle_s * 1e9 / (2 * _WARM_NS))
            for _ in range(max(_WARM_AGAIN, min(_MOST_WARM_AGAIN, runs))):
                self.warm()
        self._was_read = None  # what it took is no pause between blocks

    def _estimate(self, variant: Variant) -> float:
        """Time of a call in ns, roughly."""
        start, end = _event(), _event()
        self._set_up()
        variant()
        start.record()
        for _ in range(3):
            variant()
        end.record()
        end.synchronize()
        return max(1.0, float(start.elapsed_time(end)) * 1e6 / 3)

    def settle(self, times_ns: tuple[float, float]) -> None:
        """Choose the calls of a graph, and capture where these are others; then of a sample."""
        self._times = list(times_ns)
        units = calls_in_graphs(times_ns) if self._has_graphs else self._units
        if units != self._units or (self._has_graphs and not self._graphs):
            self._units = units
            self._capture()
            self._warm_again()
        for which, time_ns in enumerate(times_ns):
            if self._kind == "burst":
                wanted = round(_BURST_NS / time_ns)
                self._runs[which] = max(_FEWEST_IN_BURST, min(_MOST_IN_BURST, wanted))
            else:
                self._runs[which] = self._lasting(which, _SAMPLE_NS)

    def _lasting(self, which: int, duration_ns: float) -> int:
        """How many runs last about so long."""
        return max(1, round(duration_ns / (self._times[which] * self._units[which])))

    def warm(self) -> tuple[float, float]:
        """Run both once for 10 ms."""
        marks = []
        for which in (0, 1):
            runs = self._lasting(which, _WARM_NS)
            self._set_up()
            marks.append((_event(), _event(), runs * self._units[which]))
            marks[-1][0].record()
            for _ in range(runs):
                self._run(which)
            marks[-1][1].record()
        first, second = (
            start.elapsed_time(end) * 1e6 / calls
            for start, end, calls in marks
            if end.synchronize() is None
        )
        return first, second

    def block(self, order: str) -> Block:
        """Measure four samples; in the sustained protocol the GPU never waits within them."""
        marks, clocks, numbers = [], [], []
        lead_ns = _LEAD_ANEW_NS
        if self._was_read is not None:
            lead_ns = _FIRST_LEAD_NS
            self._pause_s = min(time.perf_counter() - self._was_read, _LONGEST_PAUSE_S)
        for place, letter in enumerate(order):
            which = "AB".index(letter)
            with self._sample() as number:
                numbers.append((number, which))
                if self._kind == "burst":
                    marks.append(self._burst(number, which))
                else:
                    marks.append(self._sustained(number, which, _LEAD_NS if place else lead_ns))
            if place % 2:
                marks[-2][-1][1].synchronize()  # now the second sample of the pair runs
                clocks.append(read_clocks(self._device))
        torch.cuda.synchronize()
        calls = self._launches()
        elapsed = tuple(
            sum(start.elapsed_time(end) for start, end in pairs) * 1e6 / calls[which]
            for pairs, (_, which) in zip(marks, numbers, strict=True)
        )
        found = self._samples.read(
            {number: calls[which] * self._kernels[which] for number, which in numbers}
        )
        if self._samples.odd is not None:
            number, shown, expected = self._samples.odd
            name = self._variants[dict(numbers)[number]].name
            self._notes[of_launches(name, shown, expected)] = None
        if self._kind == "sustained":
            self._fill_pause(numbers[-1][1])
        kernels = tuple(found[number].time_ns / calls[which] for number, which in numbers if found)
        return Block(order, kernels, elapsed, tuple(clocks))

    @contextmanager
    def _sample(self) -> Iterator[int]:
        number, self._number = self._number, self._number + 1
        if self._kind == "burst":
            torch.cuda.synchronize()
            time.sleep(_REST_S)
        self._set_up()
        yield number

    def _sustained(self, number: int, which: int, lead_ns: float) -> list[tuple[Any, Any]]:
        """Run a sample behind a while of the same work; events around it."""
        for _ in range(self._lasting(which, lead_ns)):
            self._run(which)
        start, end = _event(), _event()
        with self._samples.timed(number):
            start.record()
            for _ in range(self._runs[which]):
                self._run(which)
            end.record()
        return [(start, end)]

    def _fill_pause(self, which: int) -> None:
        """Give the GPU work until the next block comes; nobody waits for it."""
        self._was_read = time.perf_counter()
        for _ in range(self._lasting(which, _MARGIN * self._pause_s * 1e9)):
            self._run(which)

    def _burst(self, number: int, which: int) -> list[tuple[Any, Any]]:
        """Run a sample whose calls find an empty L2; events around each."""
        assert self._l2 is not None
        marks = []
        for _ in range(self._runs[which]):
            self._l2.empty()
            start, end = _event(), _event()
            with self._samples.timed(number):
                start.record()
                self._run(which)
                end.record()
            marks.append((start, end))
        return marks

    def _run(self, which: int) -> None:
        graph = self._graphs.get(which)
        if graph is None:
            self._variants[which]()
        else:
            graph.replay()

    def _set_up(self) -> None:
        if self._setup is not None:
            self._setup()

    def _launches(self) -> tuple[int, int]:
        return self._runs[0] * self._units[0], self._runs[1] * self._units[1]

    def protocol(self) -> Mapping[str, Any]:
        """Tell what is done in a sample."""
        launches = self._launches()
        graph_calls = list(self._units) if self._has_graphs else None
        flush_bytes = self._l2.n_bytes if self._l2 else 0
        words = of_sustained(launches, graph_calls)
        if self._kind == "burst":
            words = of_burst(launches, flush_bytes, _REST_S)
        return {
            "launches": list(launches),
            "graph_calls": graph_calls,
            "flush_bytes": flush_bytes,
            "clock": "CUDA events",
            "in_words": words,
        }

    def timing_problem(self) -> str | None:
        """Tell why Proton's times cannot be had."""
        return UNEQUAL_CALLS if 0 in self._kernels else self._samples.problem

    def notes(self) -> tuple[str, ...]:
        """Tell what a reader should know."""
        return tuple(self._notes)

    def close(self) -> None:
        """End Proton's session and free graphs and buffers."""
        with suppress(RuntimeError):  # of a kernel that failed, which was told before
            torch.cuda.synchronize()
        self._samples.stop()
        self._graphs.clear()
        self._variants = ()
        if self._l2 is not None:
            self._l2.free()


def _event() -> Any:
    event: Any = torch.cuda.Event
    return event(enable_timing=True)
