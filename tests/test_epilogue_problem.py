"""The matmul behind the toggle: on the interpreter for real, and on a GPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from protonlab.epilogue import (
    EpilogueCase,
    EpilogueWeights,
    _sweep_run,
    copy_gbyte_s,
    epilogue_cases,
    gpu_problem,
    has_upstream,
    sweep_epilogue,
)
from protonlab.epilogue._problem import giving_memory_back
from protonlab.epilogue._sweep_run import SweepRun
from protonlab.errors import CaptureError, MissingDependencyError
from protonlab.model.compiled import LOOPS, SPECIALIZED
from protonlab.views import pairs

on_interpreter = pytest.mark.skipif(
    torch.cuda.is_available(), reason="kernels are not interpreted here"
)
SMALL = EpilogueCase("ours", 2, 4, 128, 256)
SETTINGS = {"budget_s": 0.3, "protocol": "sustained", "seed": 0}


@on_interpreter
def test_small_case_is_measured_on_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sweep_run, "EpilogueWeights", partial(EpilogueWeights, device="cpu"))
    run = SweepRun((SMALL,), SETTINGS)
    run.measure(SMALL)
    comparison = run.comparisons[SMALL]
    assert comparison.names == ("overlap", "serial")
    assert comparison.outputs_equal
    assert comparison.metric.name == "gbyte/s"
    # Four experts of 128 x 256 at 17/32 bytes, where three to four have rows; 8 rows of x and y.
    assert run._weights is not None
    calls = run._weights.calls(SMALL)
    moved = comparison.pairs["value_a"] * comparison.pairs["time_ns_a"]
    assert moved.to_numpy() == pytest.approx(calls.n_bytes, rel=1e-2)
    assert any("say nothing about a GPU" in warning for warning in comparison.warnings)
    assert "nothing is compiled" in run.sweep().left_out[0]
    assert "gbyte/s" in repr(pairs(comparison))
    run.close()


@on_interpreter
def test_weights_are_made_in_steps_and_once() -> None:
    weights = EpilogueWeights(20, 128, 128, device="cpu")
    assert list(weights.make("ours")) == [0.8 * 8 / 20, 0.8 * 16 / 20, 0.8, 1.0]
    assert list(weights.make("ours")) == [1.0]


@pytest.mark.skipif(has_upstream(), reason="upstream's kernels are installed")
def test_upstream_that_is_not_installed() -> None:
    with pytest.raises(MissingDependencyError, match="needs the package triton_kernels"):
        list(EpilogueWeights(1, 128, 128, device="cpu").make("upstream"))
    case = EpilogueCase("upstream", 1, 1, 128, 128)
    run = SweepRun((case,), SETTINGS)
    run.measure(case)
    (left_out,) = run.sweep().left_out
    assert "needs the package triton_kernels" in left_out
    assert run.comparisons == {}


def test_out_of_memory_is_told_with_what_wanted_it() -> None:
    with (
        pytest.raises(CaptureError, match="does not hold weights of 8 experts"),
        giving_memory_back("weights of 8 experts"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_named() -> None:
    problem = gpu_problem()
    assert problem is not None
    assert "torch finds no GPU" in problem or "not installed" in problem


@pytest.mark.gpu
def test_copy_is_plausible() -> None:
    assert 100 < copy_gbyte_s() < 20_000


@pytest.mark.gpu
@pytest.mark.skipif(gpu_problem() is not None, reason="needs a Hopper GPU")
def test_sweep_of_a_few_cases(tmp_path: Path) -> None:
    cases = epilogue_cases((1, 4), ks=(256, 512), kernels=("ours",), experts=16, n=1024)
    seen = []
    sweep = sweep_epilogue(
        cases, budget_s=1.0, on_case=lambda case, number, of: seen.append((case, number, of))
    )
    assert [case for case, *_ in seen] == list(cases)
    assert sweep.left_out == ()
    assert sweep.cases == cases
    assert sweep.to_dataframe()["outputs_equal"].all()
    assert (sweep.to_dataframe()["pairs"] >= 2).all()
    assert sweep.info.gpu.startswith("NVIDIA")
    compiled = sweep.compiled_of(cases[0])
    assert compiled is not None
    assert compiled.a.fact(LOOPS, SPECIALIZED) == compiled.b.fact(LOOPS, SPECIALIZED) == 0
    assert list(compiled.differences["what"]).count("FLATTEN_LOOPS") == 1
    sweep.save(tmp_path / "sweep.json.gz")


@pytest.mark.gpu
@pytest.mark.skipif(gpu_problem() is not None, reason="needs a Hopper GPU")
def test_sweep_stops_in_time_and_names_the_rest() -> None:
    cases = epilogue_cases((1, 2, 4), ks=(256,), kernels=("ours",), experts=8, n=512)
    sweep = sweep_epilogue(cases, budget_s=1.0, within_s=1.6)
    assert len(sweep.cases) < 3
    assert len(sweep.left_out) == 3 - len(sweep.cases)
    assert sweep.left_out[-1].endswith("no time left.")


@pytest.mark.gpu
@pytest.mark.skipif(gpu_problem() is not None, reason="needs a Hopper GPU")
def test_weights_that_cannot_fit_are_refused_before_they_are_made() -> None:
    with pytest.raises(CaptureError, match="take fewer experts"):
        list(EpilogueWeights(1024, 32768, 32768).make("ours"))
