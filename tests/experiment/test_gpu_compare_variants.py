"""compare_variants on a GPU: beside Triton's own timer, in graphs and bursts, when it fails."""

from __future__ import annotations

import _thread
import statistics
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
import triton
from variant_kernels import scale, scale_kernel

from protonlab import CaptureError, ProtonLabError, VariantComparison, compare_variants
from protonlab.capture import _proton, clocks
from protonlab.experiment import Measurement, elsewhere

pytestmark = pytest.mark.gpu

READS_LIVE = _proton.require().has_phases
TIMER = "Proton, one scope a sample" if READS_LIVE else "CUDA events"
LARGE, SMALL = 2**27, 2**21  # floats: 1 GiB moved, far more than L2; 16 MiB, which L2 holds


def scaler(n: int, block: int = 4096) -> Callable[[], torch.Tensor]:
    """A call that reads and writes `n` floats."""
    x = torch.arange(n, device="cuda", dtype=torch.float32)
    out = torch.empty_like(x)

    def call() -> torch.Tensor:
        scale_kernel[(triton.cdiv(n, block),)](x, out, n, 2.0, SIZE=block)
        return out[:1024]

    return call


@pytest.fixture(autouse=True)
def memory_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    torch.cuda.empty_cache()
    before, failed = torch.cuda.memory_reserved(), request.session.testsfailed
    yield
    if request.session.testsfailed > failed:  # then the traceback holds tensors
        return
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < before + 2**28


def test_sustained_medians_are_those_of_do_bench_cudagraph() -> None:
    variants = {"blocks of 1024": scaler(LARGE, 1024), "blocks of 4096": scaler(LARGE, 4096)}
    found = compare_variants(variants, budget_s=4, metric="time/ms")
    bench = triton.testing.do_bench_cudagraph
    for name, call, median in zip(variants, variants.values(), found.medians, strict=True):
        theirs = statistics.median(bench(call, rep=60, return_mode="median") for _ in range(5))
        assert median == pytest.approx(theirs, rel=0.02), (name, found)
    assert found.protocol["timer"] == TIMER, found.protocol["timer_reason"]
    assert found.protocol["graph_calls"] is not None
    assert found.outputs_equal is True


def test_rate_and_clocks_are_those_of_a_copy() -> None:
    call = scaler(LARGE)
    found = compare_variants({"one": call, "two": call}, budget_s=3)
    assert found.metric.name == "gbyte/s"
    first, second = found.medians
    assert first == pytest.approx(second, rel=0.01), found
    assert found.values[0][0] == pytest.approx(8 * LARGE / found.times_ns[0][0])
    assert found.ratio.estimate == pytest.approx(1, abs=0.005), found
    for column in ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"):
        assert found.pairs[column].gt(0).all(), column
    assert found.info.gpu == torch.cuda.get_device_name()
    assert found.info.versions["driver"]
    if READS_LIVE:
        assert 0.9 < found.protocol["busy"][0] <= 1.01, found


def test_a_difference_of_a_tenth_is_found_in_little_time() -> None:
    variants = {"all": scaler(LARGE), "nine tenths": scaler(LARGE * 9 // 160 * 16)}
    found = compare_variants(variants, budget_s=2, metric="time/us")
    assert found.ratio.estimate == pytest.approx(0.9, abs=0.02), found
    assert found.verdict.startswith("nine tenths is 1"), found.verdict


def test_burst_empties_l2_and_sustained_does_not() -> None:
    call = scaler(SMALL)
    sustained = compare_variants({"one": call, "two": call}, budget_s=2)
    burst = compare_variants({"one": call, "two": call}, budget_s=3, protocol="burst")
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    assert burst.protocol["flush_bytes"] == 2 * l2
    assert sustained.protocol["flush_bytes"] == 0
    if READS_LIVE:
        assert burst.protocol["timer"] == TIMER, burst.protocol["timer_reason"]
        assert burst.medians[0] < 0.9 * sustained.medians[0], (burst, sustained)


def test_what_cannot_be_captured_is_launched_plainly_and_said_so() -> None:
    def synchronising() -> torch.Tensor:
        out = scale(n=2**20)
        torch.cuda.synchronize()
        return out

    found = compare_variants({"plain": partial(scale, n=2**20), "odd": synchronising}, budget_s=1)
    assert found.protocol["graph_calls"] is None
    assert "launched back to back" in found.protocol["in_words"]
    (note,) = (each for each in found.warnings if "could not be captured" in each)
    assert note.startswith("odd could not be captured in a CUDA graph (")
    assert len(found) >= 2
    again = compare_variants({"one": scaler(LARGE), "two": scaler(LARGE)}, budget_s=1)
    assert again.protocol["graph_calls"] is not None  # the GPU captures as before
    assert torch.rand(8, device="cuda").max() > 0  # and draws random numbers


def test_graphs_and_variants_are_made_anew_in_rounds() -> None:
    places = set()
    made: list[weakref.ref[torch.Tensor]] = []
    most = 0

    def make() -> dict[str, Callable[[], torch.Tensor]]:
        nonlocal most
        x = elsewhere(torch.ones(SMALL, device="cuda"))
        places.add(x.data_ptr())
        made.append(weakref.ref(x))
        most = max(most, sum(each() is not None for each in made))
        return {name: lambda: x * 2 for name in ("one", "two")}

    found = compare_variants(make, budget_s=2)
    assert found.protocol["made_anew"] == ["variants", "graphs"]
    assert found.protocol["timer"] == TIMER, found.protocol["timer_reason"]
    assert found.protocol["graph_calls"] is not None
    assert found.rounds is not None
    assert 3 <= found.rounds <= len(places)
    assert most == 2  # those before, which keep their place till then
    assert found.ratio.estimate == pytest.approx(1, abs=0.05), found
    first, second = found.protocol["graph_calls"]
    assert first == second > 5  # 0.5 ms of the GPU's time, not of the host's
    given = compare_variants({"one": scaler(SMALL), "two": scaler(SMALL)}, budget_s=2)
    assert given.protocol["made_anew"] == ["graphs"]
    assert given.rounds is not None
    assert "inputs stayed in one place" in repr(given)


def test_out_of_memory_is_reported_and_given_back() -> None:
    def greedy() -> Any:
        scale()
        return [torch.empty(2**30, dtype=torch.uint8, device="cuda") for _ in range(2**20)]

    before = torch.cuda.memory_allocated()
    with pytest.raises(CaptureError, match="variant 'greedy' ran out of the GPU's memory"):
        compare_variants({"modest": scale, "greedy": greedy})
    assert torch.cuda.memory_allocated() < before + 2**20
    assert compare_variants({"one": scale, "two": scale}, budget_s=0.5).outputs_equal is True


def test_out_of_memory_later_is_reported_and_given_back() -> None:
    kept: list[torch.Tensor] = []

    def hoarder() -> torch.Tensor:
        if len(kept) < 8:
            kept.append(torch.empty(0, device="cuda"))
            return scale()
        hoard = [torch.empty(2**30, dtype=torch.uint8, device="cuda") for _ in range(2**20)]
        return hoard[0]

    before = torch.cuda.memory_allocated()
    with pytest.raises(ProtonLabError, match="ran out of the GPU's memory"):
        compare_variants({"modest": scale, "hoarder": hoarder}, protocol="burst", budget_s=5)
    assert torch.cuda.memory_allocated() < before + 2**20


@pytest.mark.parametrize("protocol", ["sustained", "burst"])
def test_interrupt_leaves_the_gpu_as_it_was(protocol: Any) -> None:
    call = scaler(LARGE)
    compare_variants({"one": call, "two": call}, budget_s=0.5)

    def compare_for_ever() -> None:
        while True:
            compare_variants({"one": call, "two": call}, protocol=protocol)

    timer = threading.Timer(2.0, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compare_for_ever()
    timer.join()
    assert time.monotonic() - start < 10
    again = compare_variants({"one": call, "two": call}, budget_s=1)
    assert again.protocol["timer"] == TIMER


def test_steps_are_short() -> None:
    call = scaler(LARGE)
    with Measurement({"one": call, "two": call}, budget_s=60) as measurement:
        while measurement.state != "measuring":
            measurement.step()
        took = []
        for _ in range(10):
            start = time.perf_counter()
            measurement.step()
            took.append(time.perf_counter() - start)
    assert max(took) < 0.15, took
    assert statistics.median(took) < 0.1, took


def test_two_measurements_at_once_do_not_mix() -> None:
    calls = scaler(LARGE), scaler(LARGE // 2)
    found: dict[int, VariantComparison] = {}

    def run(which: int) -> None:
        found[which] = compare_variants({"one": calls[which], "two": calls[which]}, budget_s=2)

    threads = [threading.Thread(target=run, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[which].protocol["timer"] for which in range(2)] == [TIMER] * 2
    times = [float(found[which].times_ns[0].mean()) for which in range(2)]
    assert times[0] == pytest.approx(2 * times[1], rel=0.1)


def test_without_nvml_the_clocks_are_unknown_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks._handle.cache_clear()
    monkeypatch.setattr(clocks, "_start", lambda: "NVML cannot be used (missing)")
    try:
        found = compare_variants({"one": scale, "two": scale}, budget_s=0.5)
    finally:
        monkeypatch.undo()
        clocks._handle.cache_clear()
    assert found.pairs["sm_clock_mhz"].isna().all()
    assert any("Clocks, power and temperature are unknown: NVML" in each for each in found.warnings)
    assert "driver" not in found.info.versions


def test_torch_kernels_are_timed_too() -> None:
    x = torch.randn(4096, 4096, device="cuda")
    found = compare_variants({"one": lambda: x @ x, "two": lambda: (x @ x) @ x}, budget_s=2)
    assert found.metric.name == "time/us"
    assert found.ratio.estimate == pytest.approx(2, rel=0.1)
    assert found.outputs_equal is False
