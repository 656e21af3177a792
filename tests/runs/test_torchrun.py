"""Four ranks under torchrun, on the interpreter, one of them killed: the run that is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from protonlab import load_run
from protonlab.capture import _proton

SCRIPT = Path(__file__).with_name("train.py")


def test_ranks_that_are_left_are_read_when_one_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run1"
    entry = "from protonlab.cli import main; main()"
    words = ["run", "-o", str(folder), "--steps", "6:20", "--include", "_sc.*", "--keep-host", "--"]
    job = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    script = [str(SCRIPT), "40", "--fail", "kill", "2", "15"]
    done = subprocess.Popen(
        [sys.executable, "-c", entry, *words, sys.executable, *job, *script],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        errors = done.communicate(timeout=400)[1]
    except subprocess.TimeoutExpired:
        done.terminate()  # which reaches torchrun, and so its ranks
        raise
    assert done.returncode == 1, errors  # torchrun's
    assert not [line for line in errors.splitlines() if line.startswith("protonlab:")]
    assert "0 of 4 ranks complete, 3 as far as they came" in errors
    assert "rank 2 did not end recording: killed" in errors
    assert f"Next: protonlab view {folder}" in errors
    run = load_run(folder)
    assert (run.ranks, run.missing) == ((0, 1, 3), (2,))
    names = sorted(each.name for each in folder.iterdir())
    assert names == [
        *("rank-00000.hatchet", "rank-00000.json", "rank-00001.hatchet", "rank-00001.json"),
        *("rank-00002.json", "rank-00003.hatchet", "rank-00003.json"),
    ]
    assert any("Rank 2 began to record" in warning for warning in run.warnings)
    for rank, profile in run.profiles.items():
        manifest = run.manifests[rank]
        assert (manifest.local_rank, manifest.world_size) == (rank, 4)
        assert manifest.steps in (8, 9)  # of 6 to 14; the end may come while the last one ends
        assert (manifest.first_step, manifest.include) == (6, "_sc.*")
        assert manifest.host
        assert manifest.overhead_s is not None
        assert int(profile.kernels["count"].sum()) == manifest.steps
        assert profile.info.repeats == manifest.steps
        assert [*profile.frames["name"]] == ["ROOT", "forward", "_scale"]


pytestmark = pytest.mark.skipif(
    not _proton.require().has_phases, reason="steps are told apart from Triton 3.7 on"
)
