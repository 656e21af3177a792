"""`doctor` as people meet it: whole machines, machines that lack something, a trial that dies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton

import protonlab
from protonlab.capture import _checks, _proton, diagnosis
from protonlab.capture._checks import Check
from protonlab.capture._trial import PREFIX, findings_in
from protonlab.capture.diagnosis import Diagnosis

NAMES = [
    "GPU",
    "torch",
    "Triton",
    "interpreter",
    "CUPTI",
    "recording",
    "Proton",
    "other profilers",
    "clocks",
    "front end",
    "packages",
]


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    return protonlab.doctor()


def check(diagnosis: Diagnosis, name: str) -> Check:
    (one,) = [check for check in diagnosis.checks if check.name == name]
    return one


def diagnose_in(folder: Path) -> str:
    """What `doctor` prints in a fresh process that finds modules in a folder first."""
    paths = os.pathsep.join(filter(None, [str(folder), *sys.path]))
    result = subprocess.run(
        [sys.executable, "-c", "import protonlab; d = protonlab.doctor(); print(d, d.can_record)"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    return re.sub(r"\s+", " ", result.stdout)


def test_here_a_session_records(found: Diagnosis) -> None:
    assert [check.name for check in found.checks] == NAMES
    assert found.can_record
    assert check(found, "recording").state == "ok"
    assert check(found, "torch").finding.startswith(torch.__version__)
    assert check(found, "Triton") == Check("Triton", "ok", triton.__version__)
    assert check(found, "CUPTI").state == "ok"
    assert "Triton's own, backends/nvidia/lib/cupti" in check(found, "CUPTI").finding
    assert found.title.startswith(f"protonlab {protonlab.__version__}, Python 3.")


def test_features_are_those_of_this_triton(found: Diagnosis) -> None:
    features = check(found, "Proton")
    whole = _proton.require().has_phases
    assert features.state == ("ok" if whole else "warning")
    listed = "hook objects, tensors as metrics, vectors as metrics, data in memory, msgpack, phases"
    assert features.finding == (listed if whole else f"without {listed}")


def test_without_a_gpu_each_missing_thing_has_a_next_step(found: Diagnosis) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert check(found, "GPU").state == "missing"
    assert "interpreter" in check(found, "GPU").next_step
    assert check(found, "interpreter").finding.startswith("on")
    assert "(interpreter, CPU, " in check(found, "recording").finding
    assert check(found, "clocks").state == "warning"
    for one in found.checks:
        assert one.state == "ok" or one.next_step, one


@pytest.mark.gpu
def test_on_a_gpu_everything_is_there(found: Diagnosis) -> None:
    gpu = check(found, "GPU")
    assert gpu.state == "ok", found
    assert torch.cuda.get_device_name(0) in gpu.finding, found
    assert re.search(r"driver \d+\.\d+.*, which runs CUDA up to \d+\.\d", gpu.finding), found
    assert "(cupti, " in check(found, "recording").finding, found
    assert check(found, "interpreter").finding == "off: kernels run on the GPU", found
    assert re.match(r"NVML reads them in \d+ µs: SM \d+ MHz", check(found, "clocks").finding), found


def test_text_fits_a_terminal_and_holds_every_word(found: Diagnosis) -> None:
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    text = re.sub(r"\s+", " ", str(found))
    for one in found.checks:
        assert f"{one.state} {one.name} {one.finding.split()[0]}" in text
    assert repr(found) == str(found)


def test_html_is_escaped() -> None:
    nasty = "<script>alert(1)</script>"
    shown = Diagnosis("a & b", (Check("x<y", "warning", nasty, nasty),))._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "x&lt;y" in shown
    assert "a &amp; b" in shown


def test_nothing_private_is_told(found: Diagnosis) -> None:
    assert str(Path.home()) not in str(found)
    assert str(Path(triton.__file__).parent) not in str(found)
    assert os.uname().nodename not in str(found)


def test_running_session_is_not_disturbed() -> None:
    from sample_kernels import add

    with protonlab.Session() as session:
        add()
        assert protonlab.doctor().can_record
        add()
    kernels = session.profile.kernels
    assert kernels.loc[kernels["name"] == "add_kernel [n=128]", "count"].iloc[0] == 2


def test_without_triton(tmp_path: Path) -> None:
    (tmp_path / "triton.py").write_text("raise ImportError('no triton today')")
    text = diagnose_in(tmp_path)
    assert "missing Triton recording needs Triton, which is not installed → pip install '" in text
    assert re.search(r"missing recording .*which is not installed", text)
    assert text.endswith(" False ")


def test_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')")
    text = diagnose_in(tmp_path)
    assert re.search(r"missing torch torch does not load: .*no torch today", text)
    assert "→ pip install torch" in text


def test_profiling_switched_off_and_cupti_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two things that have nothing to do with each other, in the one trial of this test."""
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    monkeypatch.setenv("TRITON_CUPTI_LIB_PATH", str(tmp_path / "empty"))
    found = protonlab.doctor()
    recording, cupti = check(found, "recording"), check(found, "CUPTI")
    assert recording.state == "missing"
    assert recording.finding == "profiling is switched off by TRITON_PROTON_DISABLE"
    assert recording.next_step.startswith("unset")
    assert not found.can_record
    assert cupti.state == "warning"
    assert re.fullmatch(r"no libcupti\.so in .* \(TRITON_CUPTI_LIB_PATH\)", cupti.finding)
    assert cupti.next_step.startswith("unset TRITON_CUPTI_LIB_PATH")


def test_nsight_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _checks.other_profilers().state == "ok"
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "42")
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/home/me/secret.so")
    seen = _checks.other_profilers()
    assert seen.state == "warning"
    assert seen.finding == "Nsight is at work (CUDA_INJECTION64_PATH, NSYS_PROFILING_SESSION_ID)"


TORCH_PROFILER = """
import torch
from protonlab.capture import _checks
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    print(_checks.other_profilers().finding)
print(_checks.other_profilers().state)
"""


def test_torch_profiler_is_seen_while_it_records() -> None:
    """In a process of its own: afterwards CUPTI is taken there."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run(
        [sys.executable, "-c", TORCH_PROFILER],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert result.stdout.splitlines() == ["torch.profiler is recording", "ok"]


def test_trial_that_crashes_or_hangs_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sitecustomize of the trial's own process, as a broken driver would have it."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    (site / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 11)")
    crashed = diagnosis.doctor()
    assert check(crashed, "recording").finding == "the trial ended by signal SIGSEGV"
    assert check(crashed, "Triton").finding == "the trial ended before it"
    assert not crashed.can_record
    (site / "sitecustomize.py").write_text("import time; time.sleep(60)")
    hung = diagnosis.doctor(timeout_s=1)
    assert check(hung, "recording").finding == "the trial did not end within 1 s"
    assert not hung.can_record


def test_findings_before_a_crash_are_kept() -> None:
    output = f'torch says hello\n{PREFIX}torch {{"version": "2.11.0"}}\nSegmentation fault\n'
    assert findings_in(output) == {"torch": {"version": "2.11.0"}}
