"""No test of a room whose conftest takes this leaves a Proton session, a hook or a file behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from triton import knobs
from triton.profiler.flags import flags
from triton.profiler.hooks.hook import HookManager

from protonlab.capture import enable_interpreter

enable_interpreter()  # without a GPU: corrects the interpreter's arithmetic


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run in an empty folder and check that it is empty afterwards, with Proton as it was."""
    folder, scratch = tmp_path / "work", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    yield
    assert not any(HookManager.session_hooks.values())
    assert not HookManager.active_hooks
    assert not knobs.runtime.launch_enter_hook.calls
    assert not knobs.runtime.launch_exit_hook.calls
    assert flags.profiling_on is False
    assert list(folder.iterdir()) == []
    assert [path for path in scratch.iterdir() if path.name.startswith("protonlab-")] == []
