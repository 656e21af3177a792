"""Where Proton cannot record, the body runs and one sentence says why, with the next step."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import triton.profiler as proton
from sample_kernels import add
from triton.profiler.flags import flags

from protonlab import CaptureError, Session
from protonlab.capture import _proton


def test_cell_that_finalizes_everything() -> None:
    with Session() as session:
        add()
        proton.finalize()
    assert session.problem is not None
    assert "finalized while it was being recorded" in session.problem
    with pytest.raises(CaptureError, match="has no profile: the session was finalized"):
        session.profile  # noqa: B018
    for file in Path().glob("proton*"):
        file.unlink()


def test_profiling_switched_off_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    with Session() as session:
        out = add()
    assert out[1] == 2
    assert session.problem is not None
    assert session.problem.startswith("profiling is switched off by TRITON_PROTON_DISABLE; unset")
    with pytest.raises(CaptureError, match="session 'proton' has no profile: profiling is switch"):
        session.profile  # noqa: B018


def test_under_the_proton_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "command_line", True)
    with Session() as session:
        add()
    assert session.problem is not None
    assert "runs under the proton command" in session.problem


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("0 active drivers ([]). There should only be one.", "for a script set TRITON_INTERPRET=1"),
        ("[PROTON] Failed to execute cuptiSubscribe with error 39", "another profiler holds CUPTI"),
        ("Failed to execute cuptiSubscribe with error 35", "CUPTI gave no permission"),
        ("Failed to execute cuptiSubscribe with error 2", "CUPTI cannot be used on this platform"),
        ("Failed to execute cuptiSubscribe with error 25", "Proton could not record: Failed to"),
        ("", "Proton could not record: RuntimeError"),
    ],
)
def test_failure_to_start_is_one_sentence_with_the_next_step(
    message: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*args: Any, **kwargs: Any) -> int:
        os.environ["TRITON_CUPTI_LIB_PATH"] = "/set/by/proton"
        flags.profiling_on = True
        raise RuntimeError(message)

    monkeypatch.delenv(
        "TRITON_CUPTI_LIB_PATH", raising=False
    )  # a session of the user's own sets it
    libproton = _proton.require().libproton
    monkeypatch.setattr(libproton, "start", start)
    monkeypatch.setattr(_proton.require().profiler, "start", start)
    with Session() as session:
        out = add()
    assert out[1] == 2
    assert session.problem is not None
    assert session.problem.startswith(sentence) or sentence in session.problem
    assert "\n" not in session.problem
    assert "TRITON_CUPTI_LIB_PATH" not in os.environ


WITHOUT_TRITON = """
import sys
{setup}
import protonlab
with protonlab.Session() as session:
    print("the body ran")
print(session.problem)
try:
    protonlab.LaunchHook
except protonlab.MissingDependencyError as error:
    print(type(error).__name__)
"""


def run(setup: str) -> list[str]:
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRITON.format(setup=setup)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return result.stdout.splitlines()


def test_without_triton() -> None:
    ran, problem, kind = run("sys.modules['triton'] = None")
    assert ran == "the body ran"
    assert problem.startswith("recording needs Triton, which is not installed: pip install")
    assert kind == "MissingDependencyError"


def test_triton_too_old() -> None:
    setup = "import triton; triton.__version__ = '3.2.0'; sys.modules['triton.profiler'] = None"
    ran, problem, kind = run(setup)
    assert ran == "the body ran"
    assert problem.startswith("recording needs Triton 3.6 or later with its profiler; this is 3.2")
    assert kind == "MissingDependencyError"


def test_no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with Session() as session:
        out = add()
    assert out[1] == 2
    assert session.problem is not None
    assert session.problem.startswith("Proton needs a temporary folder and there is none")


def test_pausing_a_finalized_session_is_no_error() -> None:
    with Session() as session:
        proton.finalize()
        with session.paused():
            add()
    assert session.problem is not None
    assert "finalized while it was being recorded" in session.problem
    for file in Path().glob("proton*"):
        file.unlink()
