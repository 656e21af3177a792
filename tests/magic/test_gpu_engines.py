"""``%%proton ranks=all`` on GPUs: each engine has one where there are enough, and NCCL is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from protonlab.model import Run
from protonlab.model.collectives import is_collective

if TYPE_CHECKING:
    from conftest import Notebook

pytestmark = pytest.mark.gpu

SETUP = """
rank = get_ipython().kernel.engine_id
torch.cuda.set_device(rank % torch.cuda.device_count())
x = torch.ones(16, device="cuda")
"""
GROUP = """
import os
import torch.distributed as dist
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
dist.init_process_group("nccl", rank=rank, world_size=2)
g = torch.ones(1 << 22, device="cuda")
dist.all_reduce(g)
torch.cuda.synchronize()
"""


@pytest.fixture
def many(notebook: Notebook, engines: Any) -> Notebook:
    notebook.shell.user_ns["rc"] = engines
    engines[:].execute(SETUP, block=True)
    return notebook


def devices_of(run: Run) -> list[list[int]]:
    return [[device.device_id for device in profile.devices] for profile in run.profiles.values()]


def test_each_engine_records_its_own_gpu(many: Notebook, engines: Any) -> None:
    engines[:].execute("gpus = torch.cuda.device_count()", block=True)
    gpus = engines[:].pull("gpus", block=True)[0]
    ran = many.run("%%proton run1 ranks=all include=_p_.* repeat=3 warmup=1\nboth()\ndouble()")
    assert ran.result.success, ran.out + ran.err
    run1 = many["run1"]
    for profile in run1.profiles.values():
        assert profile.info.backend == "cupti"
        assert profile.info.gpu.startswith("NVIDIA")
        assert profile.info.launches == {"_p_double": (6, 6), "clear": (3, 0)}
        assert profile.repeats.number == 3
    assert devices_of(run1) == [[0], [1 % gpus]]
    uuids = [str(run1.manifests[rank].gpu_uuid) for rank in (0, 1)]
    assert all(each.startswith("GPU-") for each in uuids)
    assert len(set(uuids)) == min(gpus, 2)
    assert [manifest.clocks["uuid"] for manifest in run1.manifests.values()] == uuids


def test_traces_of_engines_are_kept_by_rank(many: Notebook) -> None:
    ran = many.run("%%proton run1 ranks=all data=trace\nboth()\ntorch.cuda.synchronize()")
    assert ran.result.success, ran.out + ran.err
    assert sorted(many["run1"].traces) == [0, 1]
    for trace in many["run1"].traces.values():
        assert {"p_double", "clear"} <= {*trace.kernels["name"]}


def test_collectives_between_engines_are_seen(many: Notebook, engines: Any) -> None:
    engines[:].execute("gpus = torch.cuda.device_count()", block=True)
    if engines[:].pull("gpus", block=True)[0] < 2:
        pytest.skip("needs two GPUs: NCCL takes one for each rank")
    engines[:].execute(GROUP, block=True)
    ran = many.run(
        "%%proton run1 ranks=all\n"
        "for _ in range(20):\n"
        "    if rank == 1:\n        torch.cuda._sleep(20_000_000)\n"
        "    dist.all_reduce(g)\n"
        "torch.cuda.synchronize()"
    )
    engines[:].execute("dist.destroy_process_group()", block=True)
    assert ran.result.success, ran.out + ran.err
    waited = []
    for profile in many["run1"].profiles.values():
        kernels = profile.kernels[profile.kernels["name"].map(is_collective)]
        assert kernels["count"].sum() == 20
        waited.append(kernels["time_ns"].sum())
    assert waited[0] > 2 * waited[1]  # rank 0 waits for rank 1; once, at the start, the other way
