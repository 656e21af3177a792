"""The launch hook on a GPU: tensors, tuning, Proton's own sessions, streams and threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
import triton.profiler as proton
from sample_kernels import BLOCK, add, notes, plain, told, told_kernel, triton_kernels
from triton.profiler.flags import flags

from protonlab import LaunchHook, Profile, Session, load
from protonlab.capture import _proton

pytestmark = pytest.mark.gpu

TENSORS = _proton.require().records_device_tensors
DTYPES = [
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64),
]


def kernel(session: Session, name: str) -> dict[str, Any]:
    found: dict[str, Any] = triton_kernels(session).set_index("name").loc[name].to_dict()
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensor_of_one_value(dtype: torch.dtype) -> None:
    n = torch.tensor(3, device="cuda", dtype=dtype)
    with Session() as session:
        told({"n": n, "bytes": n, "flops16": n, "m": 2}, {"n": n, "bytes": n, "flops16": n, "m": 2})
    found = kernel(session, "told_kernel")
    assert [found[key] for key in ("n", "bytes", "flops16", "m")] == [6, 6, 6, 4], found
    assert notes(session) == []


@pytest.mark.filterwarnings("ignore:.*has no metric 'n'")
def test_nan_in_a_tensor_is_named() -> None:
    n = torch.tensor(float("nan"), device="cuda")
    with Session() as session:
        told({"n": n, "m": 2})
    (note,) = session.profile.info.notes
    assert "nan" in note.lower(), note
    assert kernel(session, "told_kernel")["m"] == 2


def test_tensor_is_taken_as_it_was_at_the_launch() -> None:
    n = torch.zeros((), device="cuda", dtype=torch.int64)
    with Session() as session:
        for _ in range(3):
            n += 1
            told({"n": n})
    assert kernel(session, "told_kernel")["n"] == 1 + 2 + 3


def test_tensor_before_a_pause() -> None:
    n = torch.tensor(3, device="cuda")
    with Session() as session:
        told({"n": n})
        with session.paused():
            told({"n": n})
        told({"n": n})
    assert kernel(session, "told_kernel")["n"] == 6


def test_tensor_metrics_wait_for_nothing() -> None:
    n = torch.tensor(3, device="cuda")
    told(launches=1)
    with Session() as session:
        torch.cuda.set_sync_debug_mode("error")
        try:
            told({"n": n}, {"n": n})
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert kernel(session, "told_kernel")["n"] == 6
    assert notes(session) == []


@pytest.mark.skipif(TENSORS, reason="Triton from 3.7 on records vectors")
def test_vector_on_the_gpu_is_named_where_it_cannot_be_recorded() -> None:
    v = torch.ones(2, device="cuda")
    with (
        pytest.warns(UserWarning, match="this Triton records no vectors") as caught,
        Session() as session,
    ):
        told({"v": v, "m": 2}, {"v": v, "m": 2})
    assert len(caught) == 1
    assert kernel(session, "told_kernel")["m"] == 4


@pytest.mark.skipif(not TENSORS, reason="proton.start takes hook objects from Triton 3.7 on")
def test_hook_in_a_session_of_protons() -> None:
    hook = LaunchHook(exclude="plain")
    user = proton.start("user", hook=hook)
    try:
        add()
        plain()
    finally:
        proton.finalize(user)
        flags.profiling_on = False
    profile: Profile = load("user.hatchet")
    Path("user.hatchet").unlink()
    kernels = profile.kernels.set_index("name")
    assert kernels.loc["add_kernel [n=128]", "n_tokens"] == 8, kernels
    assert kernels.loc["plain_kernel", "count"] == 1, kernels
    assert hook.seen.launches["plain_kernel"] == (1, 0)


def tune_metadata(grid: Any, metadata: Any, args: dict[str, Any]) -> dict[str, Any]:
    return {"n": 1}


@triton.autotune([triton.Config({"SIZE": size}) for size in (64, 128, 256)], key=["n"])
@triton.jit(launch_metadata=tune_metadata)
def tuned_kernel(x_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_autotuning_is_filed_apart(context: str) -> None:
    n = {"shadow": 1000, "python": 1001}[context]
    x = torch.zeros(n, device="cuda")
    with Session(context=context) as session:  # type: ignore[arg-type]
        tuned_kernel[lambda meta: (triton.cdiv(n, meta["SIZE"]),)](x, n)
    found = kernel(session, "tuned_kernel")
    assert (found["count"], found["n"]) == (1, 1), found
    frames = session.profile.frames
    tuning = frames[(frames["kind"] == "tuning") & (frames["name"] == "tuned_kernel")]
    assert tuning["count"].sum() > 3, frames[["name", "kind", "count"]]
    table = session.profile.tuning
    assert table["kernel"].tolist() == ["tuned_kernel"] * 3
    assert (table["time_ms"] > 0).all(), table
    assert table["chosen"].sum() == 1, table


def test_inductors_tuning_is_filed_apart() -> None:
    torch._dynamo.reset()
    x = torch.randn(4096, 1024, device="cuda")

    @torch.compile(mode="max-autotune-no-cudagraphs")
    def normalised(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x.sin(), (1024,))

    with Session() as session:
        normalised(x)
    kernels = session.profile.kernels
    mine = kernels[kernels["name"].str.startswith("triton_")]
    assert len(mine), kernels
    assert (mine["count"] == 1).all(), mine[["name", "count"]]
    assert kernels["count"].sum() < 20, kernels[["name", "count"]]  # no cache-clearing fills


def test_launches_from_threads_on_their_own_streams() -> None:
    told(launches=1)
    add()

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(50):
                add()

    with Session() as session:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = kernel(session, "add_kernel [n=128]")
    assert (found["count"], found["n_tokens"]) == (200, 8 * 200), found


def test_metadata_that_launches_and_copies() -> None:
    x = torch.zeros(BLOCK, device="cuda")
    with Session() as session:
        for _ in range(3):
            told(lambda: {"n": int(add(256).numel()) + int(x.numel())})
    found = kernel(session, "told_kernel")
    assert (found["count"], found["n"]) == (3, 3 * (256 + BLOCK)), found
    frames = session.profile.frames
    nested = frames[(frames["kind"] == "metadata") & (frames["name"] == "add_kernel")]
    assert nested["count"].sum() == 3, frames[["name", "kind", "count"]]
    assert told_kernel is not None
