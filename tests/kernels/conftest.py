"""Kernels run compiled on a GPU, and on the corrected interpreter without one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from protonlab.capture import enable_interpreter

enable_interpreter()  # without a GPU: corrects the interpreter's arithmetic


@pytest.fixture(scope="session")
def benchmark_module() -> Callable[[str], ModuleType]:
    """Give a module of the benchmarks, which are no package."""

    def load(name: str) -> ModuleType:
        place = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, name, module)  # dataclasses look there
            spec.loader.exec_module(module)
        return module

    return load
