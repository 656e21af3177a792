"""When a rank's process begins to record: what is imported, and when CUDA starts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from protonlab.errors import ProtonLabError
from protonlab.runs._rank import Rank
from protonlab.runs._rank_options import RankOptions
from protonlab.runs._rank_process import ImportWatch, RankProcess

NAME = "protonlab_test_module"


@pytest.fixture
def importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Import a small module with a watch on it."""
    (tmp_path / f"{NAME}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(told: Callable[[Any], None]) -> ModuleType:
        watch = ImportWatch({NAME: told})
        monkeypatch.setattr(sys, "meta_path", [watch, *sys.meta_path])
        sys.modules.pop(NAME, None)
        return importlib.import_module(NAME)

    return load


def test_import_is_told_once_and_when_it_is_whole(importing: Any) -> None:
    values: list[int] = []
    module = importing(lambda module: values.append(module.value))
    importlib.reload(module)
    assert values == [1]


def test_import_succeeds_whatever_watching_it_does(
    importing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(module: Any) -> None:
        raise ProtonLabError("data=trace needs a GPU")

    assert importing(broken).value == 1
    told = capsys.readouterr().err
    assert told == "protonlab: this process is not recorded: data=trace needs a GPU\n"


class Cuda:
    """What of ``torch.cuda`` a rank waits for."""

    def __init__(self) -> None:
        self.initialized, self.calls = False, 0

    def is_initialized(self) -> bool:
        return self.initialized

    def _lazy_init(self) -> None:
        self.calls += 1
        self.initialized = True


class Recorder:
    """A session that only counts."""

    def __init__(self, *, with_process: bool, error: Exception | None = None) -> None:
        self.steps = SimpleNamespace(starts_with_process=with_process)
        self.starts, self._error = 0, error

    def start(self) -> None:
        self.starts += 1
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize("with_process", [True, False])
def test_recording_begins_with_cuda_unless_a_later_step_is_asked_for(with_process: bool) -> None:
    process, cuda = RankProcess(Rank(), RankOptions()), Cuda()
    session = Recorder(with_process=with_process)
    process._session = session  # type: ignore[assignment]
    process._watch_cuda(SimpleNamespace(cuda=cuda))
    assert session.starts == 0
    cuda._lazy_init()
    cuda._lazy_init()
    assert (session.starts, cuda.calls) == (int(with_process), 2)
    assert cuda._lazy_init.__func__ is Cuda._lazy_init  # type: ignore[attr-defined]


def test_cuda_starts_whatever_recording_does(capsys: pytest.CaptureFixture[str]) -> None:
    process, cuda = RankProcess(Rank(3, 4, 1), RankOptions()), Cuda()
    process._session = Recorder(  # type: ignore[assignment]
        with_process=True, error=ValueError("a library is missing")
    )
    process._watch_cuda(SimpleNamespace(cuda=cuda))
    cuda._lazy_init()
    assert cuda.initialized
    told = capsys.readouterr().err
    assert told == "protonlab: rank 3 is not recorded: ValueError: a library is missing\n"
