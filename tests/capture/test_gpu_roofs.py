"""Roofs measured on the GPU at hand: below its data sheet, in the right order, cached."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch

import protonlab
from protonlab import CaptureError, Roofs
from protonlab.model.roofs import cache_path

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))


@pytest.fixture(scope="module")
def measured(home: Path) -> Roofs:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        return protonlab.measure_roofs()


def test_every_roof_is_there_with_samples_clock_and_versions(measured: Roofs) -> None:
    print(measured)
    assert measured.gpu == torch.cuda.get_device_name()
    assert measured.uuid.startswith("GPU-")
    assert measured.source == "measured"
    assert {"copy", "read", "bf16", "tf32", "fp32"} <= {roof.name for roof in measured.roofs}
    if torch.cuda.get_device_capability() >= (9, 0):
        assert measured.notes == ()
        assert measured["fp8"].value > measured["bf16"].value
    for roof in measured.roofs:
        assert roof.count == 25
        assert 0 < roof.low <= roof.value <= roof.high
        assert roof.value > 0.5 * roof.high, roof
        assert roof.how
    assert any(roof.clock is not None and roof.clock.sm_mhz for roof in measured.roofs)
    assert {"driver", "torch", "triton"} <= set(measured.versions)
    assert measured.when.startswith("20")


def test_roofs_lie_below_the_data_sheet_and_in_order(measured: Roofs) -> None:
    with protonlab.Session() as session:
        torch.ones(4, device="cuda").sum().item()
    (device,) = session.profile.devices
    sheet = Roofs.of_data_sheet(device)
    if sheet.bandwidth is not None:
        for name in ("copy", "read"):
            assert 0.5 < measured[name].value / sheet.bandwidth.value < 1.0, measured[name]
    peak = sheet.matmul(16)
    if peak is not None:
        assert 0.4 < measured["bf16"].value / peak.value < 1.02, measured["bf16"]
    assert measured["bf16"].value > measured["tf32"].value > measured["fp32"].value


def test_second_call_reads_the_cache_until_something_changes(measured: Roofs) -> None:
    start = time.perf_counter()
    assert protonlab.measure_roofs() == measured
    assert time.perf_counter() - start < 1
    path = cache_path(measured.uuid)
    stored = path.read_text()
    path.write_text(stored.replace(torch.__version__, "0.0.1"))
    again = protonlab.measure_roofs()
    assert again.versions == measured.versions
    assert again.when >= measured.when
    assert Roofs.load(path) == again


def test_user_settings_and_memory_are_left_as_they_were(measured: Roofs) -> None:
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    try:
        settings.fp32_precision = "tf32"
        torch.cuda.empty_cache()
        used = torch.cuda.memory_allocated()
        protonlab.measure_roofs(refresh=True)
        assert settings.fp32_precision == "tf32"
        assert torch.cuda.memory_allocated() == used
    finally:
        settings.fp32_precision = before


def test_kernel_of_known_bytes_lies_under_its_roof(measured: Roofs) -> None:
    """A copy of 256 MiB by torch, told to a roofline, is memory-bound and possible."""
    assert measured.bandwidth is not None
    x = torch.zeros(2**26, device="cuda")
    y = torch.empty_like(x)
    times = []
    event: Any = torch.cuda.Event
    for _ in range(20):
        start, end = event(enable_timing=True), event(enable_timing=True)
        start.record()
        y.copy_(x)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    assert 0.5 < 2 * 2**28 / min(times) / measured.bandwidth.high < 1.05


def test_gpu_that_is_not_there() -> None:
    with pytest.raises(CaptureError, match=r"device=99, but torch finds GPUs 0 to"):
        protonlab.measure_roofs(99)
