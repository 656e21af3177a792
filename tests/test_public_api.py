"""The names that people import, and what `import protonlab` may cost."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import protonlab

HEAVY = ["torch", "triton", "plotly", "IPython", "pandas", "numpy"]


@pytest.mark.parametrize("name", protonlab.__all__)
def test_name_reads_the_same_twice(name: str) -> None:
    # A submodule with the name of a function would replace it after the first access.
    assert getattr(protonlab, name) == getattr(protonlab, name)


def test_all_is_sorted_and_without_repeats() -> None:
    assert protonlab.__all__ == sorted(set(protonlab.__all__))


def test_dir_lists_the_public_names() -> None:
    assert dir(protonlab) == protonlab.__all__


def test_every_lazy_name_is_public() -> None:
    assert set(protonlab._HOME) <= set(protonlab.__all__)


def test_recorded_profiles_need_no_import_of_their_own() -> None:
    code = "import protonlab; print(protonlab.recorded.graph_exclude().info.gpu)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "NVIDIA H200\n"


def test_what_the_guides_call_by_its_module_is_there() -> None:
    code = "import protonlab; print(protonlab.experiment.elsewhere.__name__)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "elsewhere\n"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'protonlab' has no attribute 'flamme'"):
        protonlab.flamme  # noqa: B018


def test_version_is_the_one_in_pyproject(project: Path) -> None:
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
    assert protonlab.__version__ == declared


def test_import_loads_nothing_heavy() -> None:
    code = (
        f"import json, sys, protonlab; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []


def test_loading_the_extension_needs_no_tables_and_no_figures() -> None:
    code = (
        "import json, sys; from IPython.core.interactiveshell import InteractiveShell; "
        "InteractiveShell.instance().run_line_magic('load_ext', 'protonlab'); "
        "print(json.dumps([m for m in ('torch', 'plotly', 'pandas') if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout.splitlines()[-1]) == []


def test_import_takes_under_150_ms() -> None:
    # Of processor time, and the best of five: a busy machine can only make it slower.
    code = "from time import process_time as t; start = t(); import protonlab; print(t() - start)"
    seconds = [
        float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)
    ]
    assert 0 < min(seconds) < 0.150
