"""Roofs: which one counts, the data sheet's by hand, saving, the cache, and bad files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import protonlab
from protonlab import Device, ProfileFormatError, Roofs
from protonlab.model import ClockReading
from protonlab.model.roofs import Roof, cache_path, cached_roofs

CLOCK = ClockReading("2026-11-29T12:00:00+00:00", "GPU-1", 1980, 3201, 512.5, 40, ("power cap",))
MEASURED = Roofs(
    "NVIDIA H200",
    "GPU-1",
    roofs=(
        Roof("copy", 4.25e12, "B/s", 4.2e12, 4.28e12, 25, "torch copy_", CLOCK),
        Roof("read", 4.5e12, "B/s", 4.4e12, 4.52e12, 25, "Triton sum"),
        Roof("bf16", 790e12, "FLOP/s", 700e12, 800e12, 25, "torch matmul"),
        Roof("tf32", 400e12, "FLOP/s", 390e12, 410e12, 25, "torch matmul"),
        Roof("fp32", 52e12, "FLOP/s", 51e12, 53e12, 25, "torch matmul"),
    ),
    when="2026-11-29T12:00:00+00:00",
    versions={"driver": "580.1", "torch": "2.11.0"},
    notes=("fp8 could not be measured: no such thing",),
)


def test_highest_roof_counts() -> None:
    assert MEASURED.bandwidth is MEASURED["read"]
    assert MEASURED.matmul(16) is MEASURED["bf16"]
    assert MEASURED.matmul(32) is MEASURED["tf32"]  # what 32-bit operands may run at
    assert MEASURED.matmul(8) is None
    with pytest.raises(KeyError):
        MEASURED["fp8"]


def test_text_has_unit_spread_clock_date_and_versions() -> None:
    assert str(MEASURED).splitlines()[:3] == [
        "NVIDIA H200 · measured · 2026-11-29T12:00:00+00:00 · driver 580.1, torch 2.11.0",
        "  copy 4.25 TB/s (median of 25, 4.20 TB/s to 4.28 TB/s, SM at 1980 MHz; torch copy_)",
        "  read 4.50 TB/s (median of 25, 4.40 TB/s to 4.52 TB/s; Triton sum)",
    ]
    assert str(MEASURED).endswith("fp8 could not be measured: no such thing")


def test_data_sheet_by_hand() -> None:
    # An H100 PCIe: 114 SMs at 1755 MHz reach 1513 TFLOP/s at 8 bits; 2 x 640 bytes x 1.5 GHz.
    device = Device("CUDA", 0, "90", 114, 1755e3, 1.5e6, 5120)
    roofs = Roofs.of_data_sheet(device, "an H100")
    assert (roofs.gpu, roofs.source) == ("an H100", "data sheet")
    assert {roof.name: roof.value for roof in roofs.roofs} == pytest.approx(
        {"memory": 1.92e12, "fp8": 1513e12, "bf16": 756.5e12, "tf32": 378.25e12}
    )
    assert str(roofs["bf16"]) == "bf16 756 TFLOP/s"
    unknown = Roofs.of_data_sheet(Device("CUDA", 0, "75"))
    assert unknown.roofs == ()
    assert unknown.bandwidth is None
    assert unknown.notes == ("No data sheet's peaks are known for CUDA 0 (sm_75).",)


def test_saved_roofs_are_the_same(tmp_path: Path) -> None:
    MEASURED.save(tmp_path / "roofs.json")
    assert Roofs.load(tmp_path / "roofs.json") == MEASURED
    assert json.loads((tmp_path / "roofs.json").read_text())["roofs"][0]["unit"] == "B/s"


def test_cache_is_one_file_a_gpu_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached_roofs("GPU-1") is None
    path = cache_path("GPU-1")
    assert path == tmp_path / "protonlab" / "roofs" / "GPU-1.json"
    path.parent.mkdir(parents=True)
    MEASURED.save(path)
    assert cached_roofs("GPU-1") == MEASURED
    assert cached_roofs("GPU-2") is None
    assert cached_roofs("") is None
    assert cache_path("../../x").parent == path.parent  # a profile's text leads nowhere else
    path.write_text("cut off")
    assert cached_roofs("GPU-1") is None
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_path("GPU-1").is_relative_to(tmp_path / "home" / ".cache")


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "3", '{"protonlab_roofs": 99}', '{"protonlab_roofs": 1}',
        json.dumps({"protonlab_roofs": 1, "gpu": "x", "uuid": "", "source": "measured", "when": "",
                    "versions": {}, "notes": [], "roofs": [{"name": "copy", "value": -1.0,
                    "low": 1.0, "high": 1.0, "unit": "B/s", "count": 1,
                    "how": "", "clock": None}]}),
    ],
)  # fmt: skip
def test_file_that_holds_no_roofs_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "roofs.json"
    path.write_text(text)
    with pytest.raises(ProfileFormatError, match="no roofs that this protonlab saved") as caught:
        Roofs.load(path)
    assert str(caught.value).startswith(str(path))


def test_roofs_are_public_and_frozen() -> None:
    assert protonlab.Roofs is Roofs
    assert replace(MEASURED, gpu="x").gpu == "x"
