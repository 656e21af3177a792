"""Clocks through NVML: the right GPU, at little cost, and never a failure."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sample_kernels import add

import protonlab
from protonlab import Session
from protonlab.capture import clocks
from protonlab.display import summary
from protonlab.model import ClockReading


def test_readings_survive_saving(tmp_path: Path) -> None:
    with Session("clocks") as session:
        add()
    readings = (
        ClockReading("2026-01-01T00:00:00.000+00:00", "GPU-1", 1980, 3201, 412.3, 54, ()),
        ClockReading("2026-01-01T00:00:01.000+00:00", "GPU-1", None, None, None, 55, ("idle",)),
    )
    profile = session.profile
    profile = replace(profile, info=replace(profile.info, clocks=readings))
    profile.save(tmp_path / "clocks.hatchet")
    loaded = protonlab.load(tmp_path / "clocks.hatchet")
    assert loaded.info == profile.info
    assert loaded.info.clocks == readings


def test_without_a_gpu_in_use_there_is_no_reading() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with Session() as session:
        add()
    assert session.profile.info.clocks == ()
    assert session.profile.info.notes == ()
    assert clocks.Clocks().of([0]) == ()


def test_nvml_that_is_not_there_is_a_reason() -> None:
    problem = clocks.nvml_problem()
    if torch.cuda.is_available() and torch.version.hip is None:
        assert problem is None
    else:
        assert problem is not None
        assert problem.startswith("NVML cannot be used (")
        assert clocks.read_clocks(0) is None
        assert clocks.clock_problem(0) == problem


@pytest.mark.gpu
def test_session_reads_the_gpu_that_it_used() -> None:
    add()
    device = torch.cuda.current_device()
    problem = clocks.clock_problem(device)
    if problem:
        pytest.skip(problem)
    with Session() as session:
        add()
    first, last = session.profile.info.clocks
    uuid = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    assert (first.uuid, last.uuid) == (uuid, uuid)
    assert first.when <= last.when
    for reading in (first, last):
        assert reading.sm_mhz is not None, f"no SM clock in {reading}"
        assert 100 <= reading.sm_mhz <= 5000
        assert reading.memory_mhz is not None, f"no memory clock in {reading}"
        assert reading.memory_mhz > 100
        assert reading.power_w is not None, f"no power in {reading}"
        assert 5 < reading.power_w < 3000
        assert reading.temperature_c is not None, f"no temperature in {reading}"
        assert 5 < reading.temperature_c < 120
    moved = [note for note in session.profile.info.notes if note.startswith("The SM clock")]
    low, high = sorted((first.sm_mhz or 0, last.sm_mhz or 0))
    assert bool(moved) == (high > 1.03 * low), (first, last, moved)
    assert all(note in str(summary(session.profile)) for note in moved)


@pytest.mark.gpu
def test_a_gpu_that_ran_nothing_is_left_out() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    torch.ones(1, device="cuda:1")
    with Session() as session, torch.cuda.device(0):
        add()
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    assert {reading.uuid for reading in session.profile.info.clocks} == {uuid}


@pytest.mark.gpu
def test_a_reading_costs_little() -> None:
    add()
    device = torch.cuda.current_device()
    clocks.read_clocks(device)
    durations = []
    for _ in range(50):
        start = time.perf_counter()
        clocks.read_clocks(device)
        durations.append(time.perf_counter() - start)
    cost = statistics.median(durations)
    print(f"one reading of clocks, power and temperature: {1e6 * cost:.0f} µs")
    assert cost < 5e-3, f"a reading takes {1e3 * cost:.2f} ms; 5 ms is the most a cell can spare"
