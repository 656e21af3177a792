"""Autotuning inside a session: filed apart, left out of totals, and listed."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from sample_kernels import add, told
from triton.runtime.autotuner import Autotuner

import protonlab
from protonlab import Session
from protonlab.capture import device
from protonlab.capture._launch_record import Launch
from protonlab.model.tuning import TuningTrial

TIMES = {32: 0.5, 64: 0.25, 128: None}


def bench(call: Callable[[], None], quantiles: Any = None) -> list[float]:
    """Launches twice; answers with the time in the table for the block size that was launched."""
    call()
    call()
    return [TIMES[SIZES[-1]] or math.inf] * 3


SIZES: list[int] = []


def remember(nargs: dict[str, Any]) -> None:
    SIZES.append(nargs["SIZE"])


def metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    return {"n": 1}


@triton.autotune(
    [triton.Config({"SIZE": size}, pre_hook=remember) for size in TIMES], key=["n"], do_bench=bench
)
@triton.jit(launch_metadata=metadata)
def tuned_kernel(x_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


def tune(n: int, **options: Any) -> Session:
    """Record a launch that tunes first, as its number is new."""
    x = torch.zeros(n, device=device())
    with Session(**options) as session:
        tuned_kernel[lambda meta: (triton.cdiv(n, meta["SIZE"]),)](x, n)
        add()
    return session


@pytest.mark.parametrize("context", ["shadow", "python"])
def test_what_tuning_launches_is_no_work(context: str) -> None:
    profile = tune({"shadow": 256, "python": 258}[context], context=context).profile
    kernels = profile.kernels.set_index("name")
    assert (kernels.loc["tuned_kernel", "count"], kernels.loc["tuned_kernel", "n"]) == (1, 1)
    frames = profile.frames
    tuning = frames[(frames["kind"] == "tuning") & (frames["name"] == "tuned_kernel")]
    assert tuning["count"].sum() == 6
    assert tuning["n"].isna().all()  # no metadata is evaluated while a kernel is tuned
    assert profile.info.launches == {"tuned_kernel": (1, 1), "add_kernel": (1, 1)}
    shown = profile.to_dataframe(["count"])
    assert not (shown["kind"] == "tuning").any()
    assert (profile.to_dataframe(["count"], overhead=True)["kind"] == "tuning").any()


def test_configurations_are_listed_and_saved(tmp_path: Path) -> None:
    profile = tune(257).profile
    table = profile.tuning
    assert table["tuner"].tolist() == ["triton"] * 3
    assert table["kernel"].tolist() == ["tuned_kernel"] * 3
    assert [config.split(",")[0] for config in table["config"]] == [
        "SIZE: 32", "SIZE: 64", "SIZE: 128",
    ]  # fmt: skip
    assert table["time_ms"].tolist()[:2] == [0.5, 0.25]
    assert math.isnan(table["time_ms"].tolist()[2])
    assert table["chosen"].tolist() == [False, True, False]
    profile.save(tmp_path / "tuned.hatchet")
    again = protonlab.load(tmp_path / "tuned.hatchet")
    assert again.info.tuning == profile.info.tuning
    assert (again.frames["kind"] == "tuning").sum() == (profile.frames["kind"] == "tuning").sum()


def test_without_tuning_the_table_is_empty() -> None:
    with Session() as session:
        add()
    assert session.profile.info.tuning == ()
    assert session.profile.tuning.empty


def test_foreign_file_does_not_know(project: Path) -> None:
    profile = protonlab.load(project / "tests/profiles/gpt_compiled_3.9.0.hatchet")
    assert profile.info.tuning is None
    assert profile.tuning.empty


def test_nothing_stays_wrapped() -> None:
    before = Autotuner._bench, list(sys.meta_path)
    with Session(), Session():
        assert Autotuner._bench is not before[0]
        told({"n": 1})
    assert (Autotuner._bench, sys.meta_path) == before
    assert not Launch.unrecorded


def test_trial_is_frozen() -> None:
    trial = TuningTrial("triton", "k", "SIZE: 1", None, False)
    with pytest.raises(AttributeError):
        trial.chosen = True  # type: ignore[misc]


def test_inductors_modules_are_wrapped_when_they_are_imported() -> None:
    code = """
import protonlab
from protonlab.capture import enable_interpreter
enable_interpreter()
with protonlab.Session():
    from torch._inductor.runtime import benchmarking, triton_heuristics
    places = benchmarking.InductorBenchmarker, triton_heuristics.CachingAutotuner
    wrapped = places[0].benchmark_gpu, places[1].bench
    assert all(hasattr(each, "__wrapped__") for each in wrapped), wrapped
assert places[0].benchmark_gpu is not wrapped[0]
assert places[1].bench is not wrapped[1]
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("done\n"), done.stderr
