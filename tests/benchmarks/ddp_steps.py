"""A data-parallel step on several GPUs with one rank slowed on purpose, recorded and searched.

``python tests/benchmarks/ddp_steps.py FOLDER [--ranks 2] [--slow 1]``

runs the same job three times under torchrun: without protonlab, then under ``protonlab run`` with
``data=tree`` and with ``data=trace``. FOLDER/tree and FOLDER/trace are the runs, and ddp_steps.json
beside them says what was found and what recording cost. Where there are fewer GPUs than ranks,
ranks share one and speak through gloo, whose collectives are no kernels: a straggler cannot be told
then. Without a GPU all of it runs on the interpreter (``TRITON_INTERPRET=1``), which shows that the
script works.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STEPS, WINDOW = 40, (12, 24)
_SLOW = 3  # times the work of the others, before the forward pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--slow", type=int, default=1, help="The rank that is slowed; -1: none.")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        train(asked.folder, asked.slow)
        return
    found = measured(asked.folder, ranks=asked.ranks, slow=asked.slow)
    (asked.folder / "ddp_steps.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def measured(folder: Path, *, ranks: int, slow: int) -> dict[str, Any]:
    """Run the job without and with recording, and say what was found."""
    import torch

    from protonlab import load_run

    folder.mkdir(parents=True, exist_ok=True)
    gpus = torch.cuda.device_count()
    found: dict[str, Any] = {
        "ranks": ranks,
        "slow_rank": slow,
        "backend": "nccl" if gpus >= ranks else "gloo",
        "gpus": gpus,
        "torch": torch.__version__,
        "steps": list(WINDOW),
        "alone": job(folder / "alone.json", ranks, slow),
    }
    for data in ("tree", "trace") if gpus else ("tree",):
        place = folder / data
        window = f"{WINDOW[0]}:{WINDOW[1]}"
        before = ["-c", "from protonlab.cli import main; main()", "run", "--data", data]
        before += ["--steps", window, "-o", str(place), "--", sys.executable]
        times = job(folder / f"{data}.json", ranks, slow, before)
        run = load_run(place)
        stragglers = run.stragglers()
        found[data] = {
            **times,
            "missing": list(run.missing),
            "warnings": list(run.warnings),
            "step_s": {rank: each.step_s for rank, each in run.manifests.items()},
            "overhead_s": {rank: each.overhead_s for rank, each in run.manifests.items()},
            "known": stragglers.known,
            "found": list(stragglers.ranks),
            "verdict": stragglers.verdict,
            "notes": list(stragglers.notes),
            "bytes": sum(file.stat().st_size for file in place.iterdir()),
            "versions": dict(run.manifests[0].versions),
            "gpu": [each.gpu_name for each in run.manifests.values()],
        }
    return found


def job(times: Path, ranks: int, slow: int, before: list[str] | None = None) -> dict[str, Any]:
    """Run the job once; what rank 0 measured of its own steps, and the seconds of all of it."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    script = [__file__, str(times), "--slow", str(slow), "--worker"]
    start = time.perf_counter()
    subprocess.run([sys.executable, *(before or []), *torchrun, *script], check=True)
    took = time.perf_counter() - start
    steps = json.loads(times.read_text())
    first, end = WINDOW
    return {
        "step_in_window_s": statistics.median(steps[first:end]),
        "step_behind_window_s": statistics.median(steps[end + 1 :]),
        "job_s": took,
    }


def train(times: Path, slow: int) -> None:
    """Train in one rank, with nothing of protonlab's; rank 0 writes how long each step took."""
    import torch
    import torch.distributed as dist
    import triton
    import triton.language as tl
    from torch.nn.parallel import DistributedDataParallel
    from triton.profiler import scope

    @triton.jit
    def _half(x_ptr, y_ptr, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, 0.5 * tl.load(x_ptr + at, at < n), at < n)

    class Half(torch.autograd.Function):
        """A Triton kernel forward and backward, where a thread of autograd's launches it."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return Half.launch(x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return Half.launch(gradient.contiguous())

        @staticmethod
        def launch(x: Any) -> Any:
            y = torch.empty_like(x)
            _half[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
            return y

    rank, local, ranks = (int(os.environ[n]) for n in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    on_gpu = torch.cuda.is_available()
    enough = torch.cuda.device_count() >= ranks
    place = f"cuda:{local if enough else 0}" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(place)
    dist.init_process_group("nccl" if on_gpu and enough else "gloo")
    width, rows, layers = (4096, 4096, 8) if on_gpu else (32, 8, 2)
    kind = torch.bfloat16 if on_gpu else torch.float32
    torch.manual_seed(rank)
    linears = [torch.nn.Linear(width, width, device=place, dtype=kind) for _ in range(layers)]
    model = DistributedDataParallel(torch.nn.Sequential(*linears))
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(rows, width, device=place, dtype=kind)
    took = []
    for _ in range(STEPS):
        start = time.perf_counter()
        with scope("train_step"):
            with scope("data"):
                for _ in range(_SLOW if rank == slow else 1):
                    extra = x
                    for linear in linears:
                        extra = extra @ linear.weight.detach()
            with scope("forward"):
                loss = Half.apply(model(x)).float().square().mean()
            with scope("backward"):
                loss.backward()
            with scope("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
        if on_gpu:
            torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    if rank == 0:
        times.write_text(json.dumps(took))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
