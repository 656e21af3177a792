"""What only a GPU shows: CUPTI, tensors as metrics, graphs, launches that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from sample_kernels import BLOCK, add, plain, told, told_kernel, triton_kernels

import protonlab
from protonlab import Session
from protonlab.capture import _proton

pytestmark = pytest.mark.gpu

TENSORS = _proton.require().records_device_tensors


def kernel(session: Session, name: str) -> dict[str, Any]:
    kernels = triton_kernels(session).set_index("name")
    found: dict[str, Any] = kernels.loc[name].to_dict()
    return found


def test_gpu_is_named() -> None:
    with Session() as session:
        add()
    info = session.profile.info
    assert info.backend == "cupti"
    assert info.gpu == torch.cuda.get_device_name()
    (device,) = session.profile.devices
    assert (device.device_type, device.device_id) == ("CUDA", torch.cuda.current_device())
    assert device.num_sms == torch.cuda.get_device_properties(0).multi_processor_count
    assert protonlab.device() == "cuda"


def test_every_launch_is_counted_and_timed() -> None:
    with Session(exclude="plain") as session:
        for _ in range(50):
            add()
            plain()
    added, other = kernel(session, "add_kernel [n=128]"), kernel(session, "plain_kernel")
    assert (added["count"], other["count"]) == (50, 50)
    assert (added["kernel"], added["hook"]) == ("add_kernel", "kept")
    assert (added["bytes"], added["n_tokens"]) == (50 * 12 * 128, 50 * 8)
    assert (other["kernel"], other["hook"]) == ("plain_kernel", "filtered")
    assert 0 < added["time_ns"] < 50e6
    assert 0 < other["time_ns"] < 50e6
    unseen = session.profile.kernels["hook"] == "unseen"
    assert unseen.any()  # torch's own kernels


def test_a_pause_loses_no_launch_before_it() -> None:
    """Launches that are still in flight when the pause begins are recorded all the same."""
    add()
    with Session() as session:
        for _ in range(200):
            add()
        with session.paused():
            add()
        for _ in range(100):
            add()
    assert kernel(session, "add_kernel [n=128]")["count"] == 300


def test_metadata_that_raises_disturbs_nothing() -> None:
    with pytest.warns(UserWarning, match="raised ValueError: bad"), Session() as session:
        x = told(ValueError("bad"), {"n": 1}, {"n": 2})
    assert x[0] == 3
    assert kernel(session, "told_kernel")["count"] == 3
    assert kernel(session, "told_kernel")["n"] == 3


def test_python_context_ends_in_the_kernel() -> None:
    with Session(context="python") as session:
        add()
    frames = session.profile.frames
    row = frames.index[frames["name"] == "add_kernel [n=128]"][0]
    above = []
    while (row := frames["parent_id"][row]) >= 0:
        above.append(frames["name"][row])
    assert any(f"{__file__}:" in name for name in above)


@pytest.mark.skipif(not TENSORS, reason="Triton before 3.7 records no tensors on the GPU")
def test_tensors_on_the_gpu() -> None:
    one = torch.tensor(3, device="cuda", dtype=torch.int32)
    vector = torch.tensor([0.5, 1.5], device="cuda", dtype=torch.bfloat16)
    with Session() as session:
        told(*[{"n": one, "v": vector, "m": 2}] * 2)
    found = kernel(session, "told_kernel")
    assert (found["n"], found["m"], found["count"]) == (6, 4, 2)
    rows = session.profile.frames
    assert rows.loc[rows["name"] == "told_kernel", "v"].iloc[0] == (1.0, 3.0)


def test_launch_that_fails_does_not_swallow_the_next_one() -> None:
    x = torch.zeros(BLOCK, device="cuda")
    add()
    with Session() as session:
        with pytest.raises(RuntimeError):
            told_kernel[(1, 2**20)](x, BLOCK)  # a grid beyond the hardware's limit
        add()
    found = kernel(session, "add_kernel [n=128]")
    assert (found["count"], found["n_tokens"]) == (1, 8)


def test_beside_protons_own_hook_metrics_are_counted_once() -> None:
    import triton.profiler as proton
    from triton.profiler.flags import flags

    user = proton.start("user", hook="triton")
    try:
        with Session() as session:
            add()
    finally:
        proton.finalize(user)
        flags.profiling_on = False
        Path("user.hatchet").unlink()
    assert kernel(session, "add_kernel [n=128]")["bytes"] == 12 * 128


def test_cupti_in_use() -> None:
    code = """
import torch, protonlab
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
    torch.ones(4, device="cuda") + 1
with protonlab.Session() as session:
    print((torch.ones(4, device="cuda") + 1).sum().item())
print(session.problem)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    total, problem = result.stdout.splitlines()[-2:]
    assert total == "8.0"
    assert problem.startswith("another profiler holds CUPTI")
