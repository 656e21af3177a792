"""Ranks on GPUs: a data-parallel step recorded under torchrun, and its straggler found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from packaging.version import Version

from protonlab import load_run

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "ddp_steps.py"
pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Two ranks, the second one slowed: on two GPUs with NCCL, or on one with gloo."""
    folder = tmp_path_factory.mktemp("ddp")
    subprocess.run([sys.executable, SCRIPT, folder], check=True, timeout=500)
    return folder, json.loads((folder / "ddp_steps.json").read_text())


@pytest.mark.parametrize("data", ["tree", "trace"])
def test_every_rank_is_there_with_its_gpu(recorded: Any, data: str) -> None:
    folder, found = recorded
    run = load_run(folder / data)
    assert (run.ranks, run.missing, run.warnings) == ((0, 1), (), ())
    uuids = {each.gpu_uuid for each in run.manifests.values()}
    assert None not in uuids
    assert len(uuids) == min(2, torch.cuda.device_count())
    for manifest in run.manifests.values():
        assert (manifest.first_step, manifest.steps) == (12, 12)
        assert manifest.clocks["sm_mhz"] > 0
        assert manifest.overhead_s is not None
        # Each step ends with a synchronisation, so what steps take is what rank 0 saw.
        assert manifest.step_s == pytest.approx(found[data]["step_in_window_s"], rel=0.1)


def test_launches_are_filed_by_step_whichever_thread_made_them(recorded: Any) -> None:
    run = load_run(recorded[0] / "tree")
    phases = Version(triton.__version__) >= Version("3.7")
    for profile in run.profiles.values():
        half = profile.kernels[profile.kernels["name"] == "_half"]
        assert int(half["count"].sum()) == 24  # forward, and backward in autograd's thread
        assert profile.info.repeats == (12 if phases else 0)
        assert any("Triton 3.7 or later" in note for note in profile.info.notes) is not phases
        for step in range(profile.info.repeats):
            kernels = profile.repeat(step).kernels
            assert int(kernels[kernels["name"] == "_half"]["count"].sum()) == 2


def test_slowed_rank_is_the_straggler(recorded: Any) -> None:
    found = recorded[1]
    if found["backend"] != "nccl":
        pytest.skip("two ranks share one GPU, so NCCL has none for each")
    assert found["trace"]["found"] == [1], found["trace"]["verdict"]
    assert found["trace"]["known"]
    assert found["tree"]["found"] in ([1], []), found["tree"]["verdict"]  # sums may not tell
