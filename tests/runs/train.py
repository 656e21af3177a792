"""A data-parallel step with a Triton kernel, as a script that knows nothing of protonlab.

``python -m torch.distributed.run --nproc-per-node 4 train.py STEPS [--fail WHAT RANK STEP]``
"""

import argparse
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
import triton
import triton.language as tl
import triton.profiler as proton


@triton.jit
def _scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2.0 * tl.load(x_ptr + at, at < n), at < n)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--fail", nargs=3, metavar=("WHAT", "RANK", "STEP"), default=("", -1, -1))
    asked = parser.parse_args()
    what, failing, at = asked.fail[0], int(asked.fail[1]), int(asked.fail[2])
    alone = "RANK" not in os.environ
    if not alone:
        dist.init_process_group("gloo")
    rank = 0 if alone else dist.get_rank()
    weight = torch.nn.Parameter(torch.ones(64))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for step in range(asked.steps):
        if (rank, step) == (failing, at):
            fail(what)
        with proton.scope("forward"):
            y = torch.empty(64)
            _scale[(1,)](weight.detach(), y, 64, BLOCK=64)
        weight.grad = y.clone()
        if not alone:
            dist.all_reduce(weight.grad)
        optimizer.step()
    print("rank", rank, "sum", round(float(weight.detach().sum()), 3), flush=True)
    if not alone:
        dist.destroy_process_group()


def fail(what: str) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError("the loss is nan")
    if what == "exit":
        sys.exit(3)
    if what == "hang":
        time.sleep(600)
    raise AssertionError(what)


if __name__ == "__main__":
    main()
