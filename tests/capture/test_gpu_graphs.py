"""CUDA graphs on a GPU: what breaks a capture, what survives it, and replays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from sample_kernels import BLOCK, add, answers, notes, told, told_kernel, triton_kernels

from protonlab import Session
from protonlab.capture import _proton

pytestmark = pytest.mark.gpu

TENSORS = _proton.require().records_device_tensors
needs_tensors = pytest.mark.skipif(not TENSORS, reason="Triton before 3.7 records none in a graph")


def capture(x: torch.Tensor, answer: Any) -> torch.cuda.CUDAGraph:
    """Capture one launch of `told_kernel`."""
    graph = torch.cuda.CUDAGraph()
    answers.queue[:] = [answer]
    with torch.cuda.graph(graph):
        told_kernel[(1,)](x, BLOCK)
    return graph


def replayed(answer: Callable[[], Any], **options: Any) -> tuple[torch.Tensor, Session]:
    """Capture inside a session and replay three times."""
    x = torch.zeros(BLOCK, device="cuda")
    told(launches=1)
    with Session(**options) as session:
        graph = capture(x, answer)
        for _ in range(3):
            graph.replay()
    assert session.problem is None
    return x, session


def above(session: Session, name: str) -> set[str]:
    """Names of all frames above the kernels of a name."""
    frames = session.profile.frames
    rows = frames.index[(frames["name"] == name) & (frames["kind"] == "kernel")]
    found = set()
    for row in rows:
        while (row := int(frames["parent_id"][row])) >= 0:
            found.add(str(frames["name"][row]))
    return found


def test_excluded_kernel_whose_metadata_synchronises() -> None:
    flag = torch.ones((), device="cuda")
    x, session = replayed(lambda: {"n": flag.item()}, exclude="told")
    assert x[0] == 3
    kernel = triton_kernels(session).set_index("name").loc["told_kernel"]
    assert (kernel["hook"], kernel["count"]) == ("filtered", 3), kernel
    assert notes(session) == []
    if TENSORS:
        assert "<captured_at>" in above(session, "told_kernel")


@needs_tensors
@pytest.mark.parametrize("kind", ["int", "tensor"])
def test_metrics_of_a_captured_launch_are_those_of_each_replay(kind: str) -> None:
    n = torch.tensor(5, device="cuda") if kind == "tensor" else 5
    x, session = replayed(lambda: {"n": n})
    assert x[0] == 3
    kernel = triton_kernels(session).set_index("name").loc["told_kernel"]
    assert (kernel["count"], kernel["n"]) == (3, 15), kernel
    assert notes(session) == []


@pytest.mark.skipif(TENSORS, reason="Triton from 3.7 on records tensors in a graph capture")
def test_tensor_in_a_capture_is_named_where_it_cannot_be_recorded() -> None:
    n = torch.tensor(5, device="cuda")
    with pytest.warns(UserWarning, match="which this Triton cannot record in a graph capture"):
        x, session = replayed(lambda: {"n": n})
    assert x[0] == 3
    assert "n" not in session.profile.kernels or session.profile.kernels["n"].isna().all()


def test_tensor_on_the_cpu_in_a_capture() -> None:
    x, session = replayed(lambda: {"n": torch.tensor(5)})
    assert x[0] == 3
    assert session.problem is None


def test_graph_older_than_the_session_is_said_so() -> None:
    x = torch.zeros(BLOCK, device="cuda")
    told(launches=1)
    graph = capture(x, {})
    with Session() as session:
        add()
        graph.replay()
        graph.replay()
    assert x[0] == 2
    (note,) = session.profile.info.notes
    assert note.startswith("2 replays of a CUDA graph that was captured before the session"), note


BROKEN = """
import sys, warnings
sys.path.insert(0, {tests!r})
import torch
from protonlab import Session
from sample_kernels import BLOCK, answers, told, told_kernel
warnings.simplefilter("ignore")
told(launches=1)
x = torch.zeros(BLOCK, device="cuda")
flag = torch.ones((), device="cuda")
answers.queue[:] = [lambda: {{"n": flag.item()}}]
session = Session()
try:
    with session, torch.cuda.graph(torch.cuda.CUDAGraph()):
        told_kernel[(1,)](x, BLOCK)
except Exception as error:
    print("failed:", type(error).__name__)
print("note:", *session.profile.info.notes)
"""


def test_broken_capture_is_explained() -> None:
    code = BROKEN.format(tests=str(Path(__file__).parent))
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "failed: " in done.stdout, (done.stdout, done.stderr)
    assert "the launch metadata of told_kernel raised" in done.stdout, (done.stdout, done.stderr)
    assert "while a CUDA graph was being captured" in done.stdout, (done.stdout, done.stderr)
    assert "record with exclude=told_kernel" in done.stdout, (done.stdout, done.stderr)


def test_metadata_sees_no_capture_on_another_stream() -> None:
    side = torch.cuda.Stream()
    told(launches=1)
    with torch.cuda.stream(side), Session() as session:
        told({"n": 1}, {"n": 2})
    kernels: pd.DataFrame = triton_kernels(session).set_index("name")
    assert kernels.loc["told_kernel", "n"] == 3
